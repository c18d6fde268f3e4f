package approval

import (
	"context"

	"github.com/gatesworn/gatesworn/internal/gitobj"
)

// GitTree is a Tree over one tree object of a repository, read in process.
type GitTree struct {
	repo    *gitobj.Repo
	entries []Entry
}

// NewGitTree lists a tree object. Every object it reads is hashed again; the
// error is one of gitobj's.
func NewGitTree(ctx context.Context, repo *gitobj.Repo, tree gitobj.OID) (*GitTree, error) {
	list, err := repo.List(ctx, tree)
	if err != nil {
		return nil, err
	}
	t := &GitTree{repo: repo, entries: make([]Entry, len(list))}
	for i, e := range list {
		t.entries[i] = Entry{Path: e.Path, Mode: e.Mode.String(), OID: e.OID.String()}
	}
	return t, nil
}

// Entries returns the listing, sorted by path.
func (t *GitTree) Entries() []Entry { return t.entries }

// Blob reads a blob of at most MaxBoundFile bytes.
func (t *GitTree) Blob(e Entry) ([]byte, error) {
	oid, err := gitobj.ParseOID(e.OID)
	if err != nil {
		return nil, err
	}
	return t.repo.Blob(oid, MaxBoundFile)
}

// LocalTree lists what git tracks or does not ignore in the work tree, as it
// stands on disk: what INPUTS matches where nothing is signed. excludes is the
// content of the user's core.excludesFile, nil if there is none.
func LocalTree(ctx context.Context, repo *gitobj.Repo, excludes []byte) (*WorkTree, error) {
	tracked, err := repo.Tracked()
	if err != nil {
		return nil, err
	}
	files, err := repo.WorkFiles(ctx, gitobj.NewPathSet(tracked), gitobj.WorkOptions{Tracked: true, Excludes: excludes})
	if err != nil {
		return nil, err
	}
	paths := make([]string, len(files))
	for i, f := range files {
		paths[i] = f.Path
	}
	return NewWorkTree(repo.Top(), paths)
}
