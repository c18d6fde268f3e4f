package receipt

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gatesworn/gatesworn/internal/safefile"
)

// Limits of the folder: those written longest ago go first.
const (
	MaxReceipts  = 10_000
	MaxManifests = 16
	MaxManifest  = 8 << 20 // bytes; the files of a larger tree are not named
)

const (
	manifestSuffix = ".files"
	manifestSchema = "gatesworn.receipt-files/v1"
)

// manifest lists the files of a tree, so that Explain can name those that changed.
// It is advice: no decision looks at it.
type manifest struct {
	Schema string            `json:"schema"`
	Files  map[string]string `json:"files"` // mode and the digest's first 16 digits, by path
}

func (f *file) short() string { return fmt.Sprintf("%s %x", f.mode, f.sum[:8]) }

// writeManifest returns the manifest's name, "" if the tree is too large for one.
func (b *Book) writeManifest() (string, error) {
	name := b.whole[:40]
	path := filepath.Join(b.dir, name+manifestSuffix)
	if _, err := os.Lstat(path); err == nil {
		now := b.now()
		_ = os.Chtimes(path, now, now) // only its turn to be evicted
		return name, nil
	}
	m := manifest{Schema: manifestSchema, Files: make(map[string]string, len(b.snap.files))}
	for i := range b.snap.files {
		m.Files[b.snap.files[i].path] = b.snap.files[i].short()
	}
	data, err := json.Marshal(m)
	if err != nil || len(data) > MaxManifest {
		return "", err
	}
	return name, safefile.Replace(path, data, 0o600)
}

// readManifest returns nil for whatever is wrong with one.
func (b *Book) readManifest(name string) map[string]string {
	if len(name) != 40 || strings.Trim(name, "0123456789abcdef") != "" {
		return nil
	}
	f, err := safefile.Read(filepath.Join(b.dir, name+manifestSuffix), MaxManifest)
	if err != nil {
		return nil
	}
	var m manifest
	if json.Unmarshal(f.Data, &m) != nil || m.Schema != manifestSchema {
		return nil
	}
	return m.Files
}

// evict keeps the folder bounded.
func (b *Book) evict() error {
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		return fmt.Errorf("list receipts: %w", err)
	}
	return errors.Join(
		b.evictOldest(entries, suffix, MaxReceipts), b.evictOldest(entries, manifestSuffix, MaxManifests),
	)
}

func (b *Book) evictOldest(entries []os.DirEntry, suffix string, limit int) error {
	type aged struct {
		name string
		at   time.Time
	}
	entries = slices.DeleteFunc(slices.Clone(entries), func(e os.DirEntry) bool { return !strings.HasSuffix(e.Name(), suffix) })
	if len(entries) <= limit {
		return nil
	}
	var all []aged
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			all = append(all, aged{e.Name(), info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b aged) int { return cmp.Or(a.at.Compare(b.at), strings.Compare(a.name, b.name)) })
	for _, a := range all[:max(0, len(all)-limit)] {
		if err := os.Remove(filepath.Join(b.dir, a.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove an old receipt: %w", err)
		}
	}
	return nil
}
