package action

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/ghreport"
)

// BlobSource returns a blob by its name if it has it and verified that its bytes
// hash to that name. nil has none.
type BlobSource func(sha string) ([]byte, bool)

// apiTree is a commit's tree, read over the API. It implements approval.Tree. Root
// files are always read over the API; what is only compared, approvals and ledgers,
// is taken from the checkout where it has the very same blob.
type apiTree struct {
	entries []approval.Entry
	fetch   func(sha string) ([]byte, error)
	local   BlobSource

	mu   sync.Mutex
	read map[string][]byte
}

func newAPITree(listing []ghreport.TreeEntry, fetch func(string) ([]byte, error), local BlobSource) *apiTree {
	t := &apiTree{fetch: fetch, local: local, read: map[string][]byte{}}
	for _, e := range listing {
		if e.Type != "tree" {
			t.entries = append(t.entries, approval.Entry{Path: e.Path, Mode: e.Mode, OID: e.SHA})
		}
	}
	slices.SortFunc(t.entries, func(a, b approval.Entry) int { return strings.Compare(a.Path, b.Path) })
	return t
}

// Entries implements approval.Tree.
func (t *apiTree) Entries() []approval.Entry { return t.entries }

// Blob implements approval.Tree. A blob is read once.
func (t *apiTree) Blob(e approval.Entry) ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if data, ok := t.read[e.OID]; ok {
		return data, nil
	}
	if t.local != nil && !root(e.Path) {
		if data, ok := t.local(e.OID); ok {
			t.read[e.OID] = data
			return data, nil
		}
	}
	data, err := t.fetch(e.OID)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s over the API: %v", e.Path, err)
	}
	t.read[e.OID] = data
	return data, nil
}

func root(path string) bool {
	return path == approval.PolicyPath || path == approval.SignersPath || path == approval.RevokedPath
}
