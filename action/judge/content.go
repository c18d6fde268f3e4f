package judge

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/internal/gitobj"
)

// maxEarlier is how many commits Earlier looks back.
const maxEarlier = 200

// Content is a file of the judged commit.
func (p *PullRequest) Content(path string) ([]byte, bool) {
	e := entryAt(p.judged, path)
	if e.Mode != approval.ModeFile && e.Mode != approval.ModeExecutable {
		return nil, false
	}
	data, err := p.judged.Blob(e)
	return data, err == nil
}

// Earlier finds the content with that digest (lower-case hex) that a file had: at
// the trust ref, or in the last commits before the judged one, first parents only.
// It is for showing a difference, and decides nothing.
func (p *PullRequest) Earlier(path, sha256 string) ([]byte, bool) {
	if sha256 == "" {
		return nil, true
	}
	match := func(data []byte) bool { return strings.TrimPrefix(approval.Digest(data), "sha256:") == sha256 }
	if e := entryAt(p.trust, path); e.Path != "" {
		if data, err := p.trust.Blob(e); err == nil && match(data) {
			return data, true
		}
	}
	oid, err := gitobj.ParseOID(p.Commit)
	var last gitobj.OID
	for range maxEarlier {
		if err != nil {
			return nil, false
		}
		commit, err := p.work.Git.Commit(oid)
		if err != nil {
			return nil, false
		}
		if e, err := p.work.Git.Lookup(commit.Tree, path); err == nil && e.Mode.Regular() && e.OID != last {
			last = e.OID
			if data, err := p.work.Git.Blob(e.OID, approval.MaxBoundFile); err == nil && match(data) {
				return data, true
			}
		}
		if len(commit.Parents) == 0 {
			return nil, false
		}
		oid = commit.Parents[0]
	}
	return nil, false
}

// Uncommitted lists approvals in the work tree that the judged commit does not hold.
func (p *PullRequest) Uncommitted() ([]string, error) {
	found, err := os.ReadDir(filepath.Join(p.work.Top, filepath.FromSlash(approval.ApprovalsPath)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var loose []string
	for _, f := range found {
		path := approval.ApprovalsPath + f.Name()
		if entryAt(p.judged, path).Path == "" && (strings.HasSuffix(path, ".approval") || strings.HasSuffix(path, ".sig")) {
			loose = append(loose, path)
		}
	}
	return loose, nil
}
