package receipt

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/gatesworn/gatesworn/internal/gitobj"
)

// tick is more than the coarsest clock of a file system in use (FAT: 2 s).
const tick = 2 * time.Second

// MaxFiles bounds how many files of a tree are looked at, as gitobj does.
const MaxFiles = gitobj.MaxEntries

// Tree says which files a whole-tree receipt depends on.
type Tree struct {
	Top  string       // absolute path, links resolved
	Git  *gitobj.Repo // nil outside git
	Skip []string     // prefixes of paths that belong to no tree, such as our own reports
	// Ledgers are the judged ledgers by their path, as they were parsed.
	Ledgers map[string]*ledger.Document
}

// file is one file of a snapshot.
type file struct {
	path  string
	mode  gitobj.Mode
	sum   [sha256.Size]byte
	stamp stamp
	doubt bool // it could not be read, or changed meanwhile
}

// snapshot is every file of a tree at one time, sorted by path.
type snapshot struct {
	at    time.Time
	files []file
}

// take reads every file. A file that is in doubt is marked; the error says that
// the tree could not be listed.
func (t *Tree) take(ctx context.Context, now time.Time) (*snapshot, error) {
	files, err := t.list(ctx)
	if err != nil {
		return nil, err
	}
	s := &snapshot{at: now, files: files}
	t.each(ctx, s.files, func(f *file, buf []byte) { t.read(f, buf) })
	return s, ctx.Err()
}

// changes returns the paths whose files are not what s holds.
func (t *Tree) changes(ctx context.Context, s *snapshot) (map[string]bool, error) {
	now, err := t.list(ctx)
	if err != nil {
		return nil, err
	}
	changed := map[string]bool{}
	was := make(map[string]*file, len(s.files))
	for i := range s.files {
		was[s.files[i].path] = &s.files[i]
	}
	var mu sync.Mutex
	t.each(ctx, now, func(f *file, buf []byte) {
		old := was[f.path]
		if old != nil && t.same(old, f, s.at, buf) {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		changed[f.path] = true
	})
	for i := range now {
		delete(was, now[i].path)
	}
	for path := range was {
		changed[path] = true
	}
	return changed, ctx.Err()
}

// same compares a file with what it was. Ledgers are written by the run itself:
// their content decides. Everything else must not have been touched at all, so
// that a change that was undone meanwhile counts as one.
func (t *Tree) same(old, f *file, at time.Time, buf []byte) bool {
	if old.doubt {
		return false
	}
	if _, ok := t.Ledgers[f.path]; !ok && f.mode.Regular() {
		info, err := os.Lstat(t.abs(f.path))
		if err != nil || stampOf(info) != old.stamp {
			return false
		}
		if old.stamp.settled(at) {
			return true
		}
	}
	t.read(f, buf)
	return !f.doubt && f.mode == old.mode && f.sum == old.sum
}

// each calls fn for every file from a few goroutines, each with a buffer.
func (t *Tree) each(ctx context.Context, files []file, fn func(*file, []byte)) {
	next := make(chan *file, 256)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			buf := make([]byte, 128<<10)
			for f := range next {
				fn(f, buf)
			}
		})
	}
	for i := range files {
		if ctx.Err() != nil {
			break
		}
		next <- &files[i]
	}
	close(next)
	wg.Wait()
}

func (t *Tree) abs(path string) string { return filepath.Join(t.Top, filepath.FromSlash(path)) }

// list names the files, sorted.
func (t *Tree) list(ctx context.Context) ([]file, error) {
	var files []file
	if t.Git == nil {
		if err := t.walk(ctx, "", &files); err != nil {
			return nil, err
		}
	} else if err := t.listGit(ctx, &files); err != nil {
		return nil, err
	}
	files = slices.DeleteFunc(files, func(f file) bool {
		return slices.ContainsFunc(t.Skip, func(prefix string) bool { return strings.HasPrefix(f.path, prefix) })
	})
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	return files, nil
}

// listGit names what HEAD or the index tracks and what git does not ignore. A
// repository within the repository counts with everything in it.
func (t *Tree) listGit(ctx context.Context, files *[]file) error {
	tracked, err := t.Git.Tracked()
	if err != nil {
		return err
	}
	head, err := t.head(ctx)
	if err != nil {
		return err
	}
	found, err := t.Git.WorkFiles(ctx, gitobj.NewPathSet(append(tracked, head...)), gitobj.WorkOptions{Tracked: true})
	if err != nil {
		return err
	}
	for _, f := range found {
		if f.Mode == gitobj.ModeSubmodule {
			if err := t.walk(ctx, f.Path, files); err != nil {
				return err
			}
			continue
		}
		*files = append(*files, file{path: f.Path, mode: f.Mode})
	}
	return nil
}

// head lists HEAD's tree: a file that was only just taken out of the index is an
// input as long as it is there. An unborn branch has none.
func (t *Tree) head(ctx context.Context) ([]gitobj.Entry, error) {
	head, err := t.Git.Head()
	if errors.Is(err, gitobj.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	commit, err := t.Git.Peel(head.OID)
	if err != nil {
		return nil, err
	}
	return t.Git.List(ctx, commit.Tree)
}

// walk names every file and link beneath a folder except .git. It follows no link.
func (t *Tree) walk(ctx context.Context, dir string, files *[]file) error {
	return filepath.WalkDir(t.abs(dir), func(p string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if d.Name() == ".git" && p != t.Top {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		mode := gitobj.ModeFile
		if d.Type()&fs.ModeSymlink != 0 {
			mode = gitobj.ModeLink
		} else if !d.Type().IsRegular() {
			return nil
		}
		rel, err := filepath.Rel(t.Top, p)
		if err != nil {
			return err
		}
		if *files = append(*files, file{path: filepath.ToSlash(rel), mode: mode}); len(*files) > MaxFiles {
			return fmt.Errorf("more than %d files beneath %q", MaxFiles, t.Top)
		}
		return nil
	})
}

// read fills in mode, stamp and digest, or marks the file as in doubt.
func (t *Tree) read(f *file, buf []byte) {
	f.doubt = true
	path := t.abs(f.path)
	before, err := os.Lstat(path)
	if err != nil {
		return
	}
	f.stamp = stampOf(before)
	switch {
	case before.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		f.mode, f.sum, f.doubt = gitobj.ModeLink, sha256.Sum256([]byte(target)), err != nil
		return
	case !before.Mode().IsRegular():
		return
	case before.Mode().Perm()&0o100 != 0:
		f.mode = gitobj.ModeExec
	default:
		f.mode = gitobj.ModeFile
	}
	if f.sum, err = t.digest(f.path, path, buf); err != nil {
		return
	}
	after, err := os.Lstat(path)
	f.doubt = err != nil || stampOf(after) != f.stamp
}

func (t *Tree) digest(name, path string, buf []byte) (sum [sha256.Size]byte, err error) {
	if doc, ok := t.Ledgers[name]; ok {
		return ledgerDigest(name, path, doc)
	}
	in, err := os.Open(path)
	if err != nil {
		return sum, err
	}
	defer in.Close()
	h := sha256.New()
	if _, err := io.CopyBuffer(h, struct{ io.Reader }{in}, buf); err != nil {
		return sum, err
	}
	h.Sum(sum[:0])
	return sum, nil
}
