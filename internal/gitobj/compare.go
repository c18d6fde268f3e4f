package gitobj

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// Kind says how a path of the work tree differs from the tree. The zero value,
// Unreadable, is a difference.
type Kind int

// Kinds of difference.
const (
	Unreadable  Kind = iota // could not be compared: Err says why
	Modified                // other bytes, or a link to elsewhere
	Missing                 // nothing is there
	ModeChanged             // the same bytes, but (no longer) executable
	Replaced                // a link, folder or special file stands there, or on the way there
	Moved                   // a submodule that is at another commit
)

// String is a word for the kind: "modified".
func (k Kind) String() string {
	names := []string{"unreadable", "modified", "missing", "mode changed", "replaced", "at another commit"}
	if k < 0 || int(k) >= len(names) {
		return "unreadable"
	}
	return names[k]
}

// Difference is one path whose work tree file is not what the tree holds.
type Difference struct {
	Path string
	Kind Kind
	Want Entry // what the tree holds
	Err  error // with Unreadable
}

// Comparison is the result of Compare.
type Comparison struct {
	Files       int // compared, submodules' files included
	Hashed      int // of them, whose bytes were read
	Differences []Difference
}

// CompareOptions tunes Compare. The zero value reads every file.
type CompareOptions struct {
	// StatCache skips reading files whose stat data are those the index notes for
	// the very blob. Whoever can write the git directory can then hide a change:
	// use it to tell a person something fast, not to decide that a tree is clean.
	// It is ignored where there are no full stat data (other than on Linux).
	StatCache bool
	// Only, if set, says which paths are compared.
	Only func(path string) bool
}

// maxSubmodules is how deep submodules in submodules are compared.
const maxSubmodules = 8

// Compare compares the entries of a Walk with the work tree: mode and bytes of
// each file, without filters or line-end conversion and without running anything.
// The index has no say: assume-unchanged, skip-worktree, sparse check-outs and
// core.fileMode hide nothing. A submodule is compared with the commit its entry
// names and then file by file; one that is not checked out (an empty folder) is
// no difference. Differences are sorted by path. On Windows modes are not compared.
func (r *Repo) Compare(ctx context.Context, entries []Entry, opts CompareOptions) (Comparison, error) {
	return r.compare(ctx, entries, opts, 0)
}

func (r *Repo) compare(ctx context.Context, entries []Entry, opts CompareOptions, depth int) (Comparison, error) {
	if r.top == "" {
		return Comparison{}, fmt.Errorf("bare repository %w: no work tree", ErrUnsupported)
	}
	c := comparer{r: r, dirs: map[string]Kind{}, depth: depth, opts: opts}
	if opts.StatCache {
		c.readHints()
	}
	jobs := make(chan Entry, 256)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() { c.work(ctx, jobs) })
	}
	for _, e := range entries {
		if ctx.Err() != nil {
			break
		}
		if opts.Only != nil && !opts.Only(e.Path) {
			continue
		}
		// Folders first: a file reached through a link is not the tree's file.
		if k := c.folder(e.Path); k != Modified {
			c.add(Difference{Path: e.Path, Kind: k, Want: e})
			continue
		}
		jobs <- e
	}
	close(jobs)
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return Comparison{}, err
	}
	slices.SortFunc(c.out.Differences, func(a, b Difference) int { return strings.Compare(a.Path, b.Path) })
	return c.out, nil
}

type comparer struct {
	r       *Repo
	depth   int
	opts    CompareOptions
	dirs    map[string]Kind // Modified stands for a real folder
	hints   map[string]indexEntry
	written time.Time // of the index

	mu  sync.Mutex
	out Comparison
}

func (c *comparer) add(d Difference) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.Files++
	c.out.Differences = append(c.out.Differences, d)
}

// readHints takes what the index offers; an index that cannot be read offers nothing.
func (c *comparer) readHints() {
	fi, err := os.Lstat(filepath.Join(c.r.gitDir, "index"))
	if err != nil {
		return
	}
	entries, err := c.r.index()
	if err != nil {
		return
	}
	c.written = fi.ModTime()
	c.hints = make(map[string]indexEntry, len(entries))
	for _, e := range entries {
		c.hints[e.path] = e
	}
}

// folder checks the folders above path, Modified meaning that all are real ones.
func (c *comparer) folder(path string) Kind {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return Modified
	}
	dir := path[:i]
	if k, ok := c.dirs[dir]; ok {
		return k
	}
	k := c.folder(dir)
	if k == Modified {
		k = c.stat(dir)
	}
	c.dirs[dir] = k
	return k
}

func (c *comparer) stat(dir string) Kind {
	local, err := filepath.Localize(dir)
	if err != nil {
		return Unreadable
	}
	err = realDir(filepath.Join(c.r.top, local))
	switch {
	case err == nil:
		return Modified
	case absent(err):
		return Missing
	case errors.Is(err, ErrLink), errors.Is(err, errFile):
		return Replaced
	}
	return Unreadable
}

func (c *comparer) work(ctx context.Context, jobs <-chan Entry) {
	h := fileHasher{format: c.r.format, buf: make([]byte, 64<<10)}
	var mine Comparison
	for e := range jobs {
		if ctx.Err() != nil {
			continue // drain
		}
		var diffs []Difference
		if e.Mode == ModeSubmodule {
			sub := c.submodule(ctx, e)
			mine.Files, mine.Hashed = mine.Files+sub.Files, mine.Hashed+sub.Hashed
			diffs = sub.Differences
		} else {
			kind, err := c.file(e, &h)
			mine.Files++
			if kind != same {
				diffs = []Difference{{Path: e.Path, Kind: kind, Want: e, Err: err}}
			}
		}
		mine.Differences = append(mine.Differences, diffs...)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.Files += mine.Files
	c.out.Hashed += mine.Hashed + h.files
	c.out.Differences = append(c.out.Differences, mine.Differences...)
}

// same is the absence of a difference; it never leaves this file.
const same Kind = -1

// file compares a file or link.
func (c *comparer) file(e Entry, h *fileHasher) (Kind, error) {
	local, err := filepath.Localize(e.Path)
	if err != nil {
		return Unreadable, fmt.Errorf("path %q %w on this system", e.Path, ErrName)
	}
	path := filepath.Join(c.r.top, local)
	fi, err := os.Lstat(path)
	switch {
	case err != nil && absent(err):
		return Missing, nil
	case err != nil:
		return Unreadable, err
	case e.Mode == ModeLink && fi.Mode()&os.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil {
			return Unreadable, err
		}
		return sameIf(c.r.HashBlob([]byte(filepath.ToSlash(target))) == e.OID), nil
	case !fi.Mode().IsRegular() || e.Mode == ModeLink && modesMatter:
		return Replaced, nil
	}
	if !c.hinted(e, fi) {
		oid, err := h.hash(path)
		if err != nil {
			return Unreadable, err
		}
		if oid != e.OID {
			return Modified, nil
		}
	}
	if modesMatter && executable(fi.Mode()) != (e.Mode == ModeExec) {
		return ModeChanged, nil
	}
	return same, nil
}

func sameIf(equal bool) Kind {
	if equal {
		return same
	}
	return Modified
}

func (c *comparer) hinted(e Entry, fi os.FileInfo) bool {
	hint, ok := c.hints[e.Path]
	if !ok || hint.oid != e.OID {
		return false
	}
	now, ok := statOf(fi)
	return ok && hint.fresh(now, c.written)
}

// submodule compares a checked-out submodule with the commit that e names.
func (c *comparer) submodule(ctx context.Context, e Entry) Comparison {
	bad := func(k Kind, err error) Comparison {
		return Comparison{Files: 1, Differences: []Difference{{Path: e.Path, Kind: k, Want: e, Err: err}}}
	}
	local, err := filepath.Localize(e.Path)
	if err != nil {
		return bad(Unreadable, fmt.Errorf("path %q %w on this system", e.Path, ErrName))
	}
	top := filepath.Join(c.r.top, local)
	k := c.stat(e.Path)
	if k != Modified {
		return bad(k, nil)
	}
	inside, err := os.ReadDir(top)
	if err != nil {
		return bad(Unreadable, err)
	}
	if len(inside) == 0 {
		return Comparison{Files: 1} // not checked out
	}
	if c.depth >= maxSubmodules {
		return bad(Unreadable, fmt.Errorf("submodule %w: %d deep", ErrLimit, maxSubmodules))
	}
	if _, err := os.Lstat(filepath.Join(top, ".git")); err != nil {
		return bad(Replaced, nil)
	}
	sub, kind, err := c.checkedOut(ctx, top, e.OID)
	if err != nil || kind != same {
		return bad(kind, err)
	}
	for i := range sub.Differences {
		sub.Differences[i].Path = e.Path + "/" + sub.Differences[i].Path
	}
	sub.Files++
	return sub
}

func (c *comparer) checkedOut(ctx context.Context, top string, want OID) (Comparison, Kind, error) {
	r, err := Open(top)
	if err != nil {
		return Comparison{}, Unreadable, err
	}
	defer r.Close()
	head, err := r.Head()
	if err != nil {
		return Comparison{}, Unreadable, err
	}
	if head.OID != want {
		return Comparison{}, Moved, nil
	}
	commit, err := r.Commit(head.OID)
	if err != nil {
		return Comparison{}, Unreadable, err
	}
	entries, err := r.List(ctx, commit.Tree)
	if err != nil {
		return Comparison{}, Unreadable, err
	}
	opts := c.opts
	opts.Only = nil
	out, err := r.compare(ctx, entries, opts, c.depth+1)
	if err != nil {
		return Comparison{}, Unreadable, err
	}
	return out, same, nil
}

// fileHasher hashes files as blobs; it belongs to one goroutine.
type fileHasher struct {
	format Format
	buf    []byte
	files  int
}

// hash is the name of the blob a file would be. A file that changes its size
// while it is read gets the zero OID, which is no blob's.
func (h *fileHasher) hash(path string) (OID, error) {
	f, fi, err := openRegular(path)
	if err != nil {
		return OID{}, err
	}
	defer f.Close()
	h.files++
	sum := h.format.hasher()
	sum.Write(header(nil, "blob", fi.Size()))
	var n int64
	for {
		k, err := f.Read(h.buf)
		sum.Write(h.buf[:k])
		n += int64(k)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return OID{}, err
		}
		if n > fi.Size() {
			return OID{}, nil
		}
	}
	oid, ok := h.format.sum(sum)
	if n != fi.Size() || !ok {
		return OID{}, nil
	}
	return oid, nil
}
