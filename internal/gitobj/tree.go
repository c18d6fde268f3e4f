package gitobj

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Mode is a tree entry's mode as git writes it.
type Mode uint32

// The modes a tree can hold.
const (
	ModeTree      Mode = 0o040000
	ModeFile      Mode = 0o100644
	ModeExec      Mode = 0o100755
	ModeLink      Mode = 0o120000
	ModeSubmodule Mode = 0o160000
)

// String is the mode in six octal digits: "100644".
func (m Mode) String() string { return fmt.Sprintf("%06o", uint32(m)) }

// Regular reports a file with bytes of its own.
func (m Mode) Regular() bool { return m == ModeFile || m == ModeExec }

// Entry is a path in a tree. In the result of Tree, Path is one name.
type Entry struct {
	Path string // slash separated; any bytes but NUL, so not always UTF-8
	Mode Mode
	OID  OID
}

// Tree lists one tree object. Names that no checkout could hold safely (empty,
// ".", "..", ".git" in any case, with a slash), repeated or unsorted names and
// unknown modes are an ErrCorrupt.
func (r *Repo) Tree(oid OID) ([]Entry, error) {
	list, err := r.tree(oid)
	return slices.Clone(list), err
}

// tree is Tree whose result is shared.
func (r *Repo) tree(oid OID) ([]Entry, error) {
	if list, ok := r.trees.get(oid); ok {
		return list, nil
	}
	kind, data, err := r.object(oid, MaxMeta)
	if err != nil {
		return nil, err
	}
	if kind != "tree" {
		return nil, fmt.Errorf("object %s %w: a %s, no tree", oid, ErrNotFound, kind)
	}
	list, err := parseTree(data, r.format)
	if err != nil {
		return nil, fmt.Errorf("tree %s: %w", oid, err)
	}
	r.trees.put(oid, list)
	return list, nil
}

// treeCache keeps parsed trees: the same few are asked for again and again, and
// a tree of trees that repeat each other must not cost an inflation each.
type treeCache struct {
	mu      sync.Mutex
	entries int
	lists   map[OID][]Entry
}

// maxCachedEntries is about 10 MiB.
const maxCachedEntries = 100_000

func (c *treeCache) get(oid OID) ([]Entry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list, ok := c.lists[oid]
	return list, ok
}

func (c *treeCache) put(oid OID, list []Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(list) + 1
	if n > maxCachedEntries/4 {
		return
	}
	if c.lists == nil || c.entries+n > maxCachedEntries {
		c.lists, c.entries = map[OID][]Entry{}, 0
	}
	if _, ok := c.lists[oid]; !ok {
		c.lists[oid], c.entries = list, c.entries+n
	}
}

func parseTree(data []byte, f Format) ([]Entry, error) {
	list := make([]Entry, 0, min(len(data)/30, 1024))
	for len(data) > 0 {
		nul := bytes.IndexByte(data, 0)
		if nul < 0 || len(data) < nul+1+int(f) {
			return nil, corrupt("entry %d", len(list))
		}
		mode, name, ok := strings.Cut(string(data[:nul]), " ")
		e := Entry{Path: name, OID: rawOID(data[nul+1 : nul+1+int(f)])}
		data = data[nul+1+int(f):]
		if e.Mode = parseMode(mode); !ok || e.Mode == 0 {
			return nil, corrupt("entry %.200q: mode %.20q", name, mode)
		}
		if !safeName(name) {
			return nil, fmt.Errorf("entry %.200q: %w: a name git does not check out", name, ErrCorrupt)
		}
		if len(list) > 0 && !inOrder(list[len(list)-1], e) || e.Mode == ModeTree && fileBefore(list, name) {
			return nil, fmt.Errorf("entry %.200q: %w: repeated or out of order", name, ErrCorrupt)
		}
		list = append(list, e)
	}
	return list, nil
}

// inOrder compares as git does: a folder's name ends in a slash.
func inOrder(a, b Entry) bool {
	n := min(len(a.Path), len(b.Path))
	if a.Path[:n] != b.Path[:n] {
		return a.Path[:n] < b.Path[:n]
	}
	next := func(e Entry) byte {
		if len(e.Path) > n {
			return e.Path[n]
		}
		if e.Mode == ModeTree {
			return '/'
		}
		return 0
	}
	return next(a) < next(b) // equal only for one name twice: no name holds a slash
}

// fileBefore reports that a file has the folder's name. It sorts before the
// folder, perhaps with names between that begin with it, such as "a" "a.b" "a/".
func fileBefore(list []Entry, name string) bool {
	for i := len(list) - 1; i >= 0 && strings.HasPrefix(list[i].Path, name); i-- {
		if list[i].Path == name {
			return true
		}
	}
	return false
}

// parseMode accepts the modes git writes today and two old spellings of them: a
// leading zero, and 100664.
func parseMode(s string) Mode {
	switch strings.TrimPrefix(s, "0") {
	case "40000":
		return ModeTree
	case "100644", "100664":
		return ModeFile
	case "100755":
		return ModeExec
	case "120000":
		return ModeLink
	case "160000":
		return ModeSubmodule
	}
	return 0
}

func safeName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.EqualFold(name, ".git") &&
		!strings.Contains(name, "/") && len(name) <= MaxPath
}

// Walk calls fn for every entry beneath tree that is no tree itself, in the byte
// order of full paths. An error of fn ends it. It visits at most MaxEntries
// entries, 256 folders deep, paths of at most MaxPath bytes; more is an ErrLimit.
func (r *Repo) Walk(ctx context.Context, tree OID, fn func(Entry) error) error {
	w := walker{r: r, fn: fn}
	return w.walk(ctx, tree, "", 0)
}

// List is the entries of a Walk, and therefore sorted by path.
func (r *Repo) List(ctx context.Context, tree OID) ([]Entry, error) {
	var out []Entry
	err := r.Walk(ctx, tree, func(e Entry) error { out = append(out, e); return nil })
	return out, err
}

type walker struct {
	r    *Repo
	fn   func(Entry) error
	seen int
}

func (w *walker) walk(ctx context.Context, tree OID, prefix string, depth int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if depth > maxTreeNest {
		return fmt.Errorf("tree at %.200q %w: %d folders deep", prefix, ErrLimit, maxTreeNest)
	}
	list, err := w.r.tree(tree)
	if err != nil {
		return err
	}
	for _, e := range list {
		if w.seen++; w.seen > MaxEntries {
			return fmt.Errorf("tree %w: %d entries", ErrLimit, MaxEntries)
		}
		e.Path = prefix + e.Path
		if len(e.Path) > MaxPath {
			return fmt.Errorf("path %.80q… %w: %d bytes", e.Path, ErrLimit, MaxPath)
		}
		if e.Mode == ModeTree {
			err = w.walk(ctx, e.OID, e.Path+"/", depth+1)
		} else {
			err = w.fn(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Lookup finds the entry at a slash-separated path beneath tree; the last
// component may be of any mode. Nothing there is an ErrNotFound; a path through
// something that is no tree is one, too, and the message names it.
func (r *Repo) Lookup(tree OID, path string) (Entry, error) {
	parts := strings.Split(path, "/")
	at := Entry{Mode: ModeTree, OID: tree}
	for i, part := range parts {
		if at.Mode != ModeTree {
			return Entry{}, fmt.Errorf("path %q %w: %q has mode %s", path, ErrNotFound, at.Path, at.Mode)
		}
		list, err := r.tree(at.OID)
		if err != nil {
			return Entry{}, err
		}
		found := false
		for _, e := range list {
			if e.Path == part {
				at, found = e, true
				break
			}
		}
		if !found {
			return Entry{}, fmt.Errorf("path %q %w", path, ErrNotFound)
		}
		at.Path = strings.Join(parts[:i+1], "/")
	}
	return at, nil
}

// Blob reads a blob of at most max bytes; a larger one is an ErrLimit.
func (r *Repo) Blob(oid OID, max int64) ([]byte, error) {
	kind, data, err := r.object(oid, min(max, MaxBlob))
	if err != nil {
		return nil, err
	}
	if kind != "blob" {
		return nil, fmt.Errorf("object %s %w: a %s, no blob", oid, ErrNotFound, kind)
	}
	return bytes.Clone(data), nil // data may be cached
}
