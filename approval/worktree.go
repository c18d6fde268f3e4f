package approval

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"

	"github.com/gatesworn/gatesworn/internal/gitobj"
	"github.com/gatesworn/gatesworn/internal/safefile"
)

// MaxWalk is how many entries ListFolder lists before it gives up.
const MaxWalk = 200_000

// WorkTree is a Tree over files on disk, for approvals that nobody signed.
type WorkTree struct {
	root    string
	entries []Entry
}

// NewWorkTree lists the paths, slash separated and relative to the absolute root, as they
// stand on disk now. The caller says which: what git tracks or does not ignore,
// or ListFolder outside git. Paths that are gone are left out; folders, which
// stand for submodules in git's list, count as such.
func NewWorkTree(root string, paths []string) (*WorkTree, error) {
	w := &WorkTree{root: root, entries: make([]Entry, 0, len(paths))}
	for _, p := range paths {
		info, err := os.Lstat(filepath.Join(root, filepath.FromSlash(p)))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look at %q: %w", p, err)
		}
		e := Entry{Path: p, Mode: gitMode(info.Mode())}
		if e.Mode == ModeSubmodule {
			// Without a commit the entry has no id, and Bind refuses to bind it.
			e.OID, _ = checkedOut(root, p)
		}
		w.entries = append(w.entries, e)
	}
	sort.Slice(w.entries, func(i, j int) bool { return w.entries[i].Path < w.entries[j].Path })
	return w, nil
}

// ListFolder returns every regular file and link beneath root except .git,
// slash separated. It follows no link.
func ListFolder(root string) ([]string, error) {
	var paths []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == ".git" && p != root {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() && d.Type()&fs.ModeSymlink == 0 {
			return nil
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		if paths = append(paths, filepath.ToSlash(rel)); len(paths) > MaxWalk {
			return fmt.Errorf("more than %d files beneath %q", MaxWalk, root)
		}
		return nil
	})
	return paths, err
}

func gitMode(m fs.FileMode) string {
	switch {
	case m&fs.ModeSymlink != 0:
		return ModeLink
	case m.IsDir():
		return ModeSubmodule
	case !m.IsRegular():
		return "" // a socket, a FIFO: no mode of git's, refused where it matches
	case m.Perm()&0o100 != 0:
		return ModeExecutable
	}
	return ModeFile
}

// Entries returns the listing, sorted by path.
func (w *WorkTree) Entries() []Entry { return w.entries }

// Blob reads a file, through no link.
func (w *WorkTree) Blob(e Entry) ([]byte, error) {
	f, err := safefile.ReadBeneath(w.root, e.Path, MaxBoundFile)
	return f.Data, err
}

// Unchanged compares the bound files with the work tree at the absolute root and returns an
// error naming the first that differs in content or in being executable, is
// gone, or is reached through a link. It is called right before a process starts
// and again after it ended. Where the platform has no executable bit (Windows)
// only content counts.
func Unchanged(root string, inputs []BoundFile) error {
	for _, b := range inputs {
		if b.Mode == ModeSubmodule {
			if err := sameCommit(root, b); err != nil {
				return err
			}
			continue
		}
		f, err := safefile.ReadBeneath(root, b.Path, MaxBoundFile)
		if err != nil {
			return fmt.Errorf("%s, which INPUTS binds: %w", b.Path, err)
		}
		if hexDigest(f.Data) != b.SHA256 {
			return fmt.Errorf("%s differs from what was approved", b.Path)
		}
		if executableBits && gitMode(f.Mode) != b.Mode {
			return fmt.Errorf("%s has mode %s, not %s as approved", b.Path, gitMode(f.Mode), b.Mode)
		}
	}
	return nil
}

func sameCommit(root string, b BoundFile) error {
	commit, err := checkedOut(root, b.Path)
	if err != nil {
		return err
	}
	if hexDigest([]byte(commit)) != b.SHA256 {
		return fmt.Errorf("submodule %s is at another commit than was approved", b.Path)
	}
	return nil
}

// checkedOut reads the commit that a submodule has checked out, without starting
// git. What is in the submodule's files is not looked at: INPUTS of a submodule
// binds its commit.
func checkedOut(root, path string) (string, error) {
	repo, err := gitobj.Open(filepath.Join(root, filepath.FromSlash(path)))
	if err != nil {
		return "", fmt.Errorf("submodule %s is not checked out: %w", path, err)
	}
	defer func() { _ = repo.Close() }()
	if repo.Top() == "" {
		return "", fmt.Errorf("submodule %s is not checked out", path)
	}
	head, err := repo.Head()
	if err != nil {
		return "", fmt.Errorf("submodule %s: %w", path, err)
	}
	return head.OID.String(), nil
}
