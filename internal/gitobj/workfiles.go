package gitobj

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// WorkFile is a file found in the work tree.
type WorkFile struct {
	Path string // slash separated, relative to the top
	// Mode is ModeFile for every regular file, executable or not, ModeLink, or
	// ModeSubmodule for a folder that is a repository of its own (not descended).
	Mode    Mode
	Tracked bool // among the paths the caller named
	Ignored bool // git ignores it
}

// PathSet is a set of paths with the folders they lie in. The zero value is empty.
type PathSet struct {
	files map[string]Mode
	dirs  map[string]bool // "a/b/"
}

// NewPathSet collects the entries of a Walk or of Tracked.
func NewPathSet(entries []Entry) PathSet {
	s := PathSet{files: make(map[string]Mode, len(entries)), dirs: map[string]bool{}}
	for _, e := range entries {
		s.files[e.Path] = e.Mode
		for dir := e.Path; ; {
			i := strings.LastIndexByte(dir, '/')
			if i < 0 || s.dirs[dir[:i+1]] {
				break
			}
			s.dirs[dir[:i+1]] = true
			dir = dir[:i]
		}
	}
	return s
}

// Has reports that path is in the set.
func (s PathSet) Has(path string) bool { _, ok := s.files[path]; return ok }

// WorkOptions says what WorkFiles lists. The zero value lists what is untracked and not ignored.
type WorkOptions struct {
	Tracked  bool   // list tracked files, too
	Ignored  bool   // list ignored files, too, whole ignored folders included
	Excludes []byte // content of the user's core.excludesFile, if there is one
}

// WorkFiles lists the files of the work tree, in the byte order of their paths
// folder by folder. tracked decides what counts as tracked: the entries of a tree,
// or those of Tracked. Ignore files are read as gitignore(5) says, except that
// those that are links are not read. FIFOs, sockets and devices are left out, as
// git does. A folder that cannot be read is an error. Bare: ErrUnsupported.
func (r *Repo) WorkFiles(ctx context.Context, tracked PathSet, opts WorkOptions) ([]WorkFile, error) {
	if r.top == "" {
		return nil, fmt.Errorf("bare repository %w: no work tree", ErrUnsupported)
	}
	base, err := r.baseIgnores(opts.Excludes)
	if err != nil {
		return nil, err
	}
	w := workWalker{top: r.top, tracked: tracked, opts: opts}
	err = w.walk(ctx, "", base, false, 0)
	return w.out, err
}

type workWalker struct {
	top     string
	tracked PathSet
	opts    WorkOptions
	out     []WorkFile
	seen    int
}

// walk lists the folder dir ("" or "a/b/"); ignored says that it lies in an ignored folder.
func (w *workWalker) walk(ctx context.Context, dir string, stack ignoreStack, ignored bool, depth int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if depth > maxTreeNest {
		return fmt.Errorf("folder %.200q %w: %d deep", dir, ErrLimit, maxTreeNest)
	}
	entries, err := os.ReadDir(filepath.Join(w.top, filepath.FromSlash(dir)))
	if err != nil {
		return err
	}
	if !ignored {
		if stack, err = w.push(stack, dir, entries); err != nil {
			return err
		}
	}
	for _, e := range entries {
		if e.Name() == ".git" {
			continue
		}
		if w.seen++; w.seen > MaxEntries {
			return fmt.Errorf("work tree %w: %d files", ErrLimit, MaxEntries)
		}
		path := dir + e.Name()
		if e.IsDir() {
			err = w.folder(ctx, path, stack, ignored, depth)
		} else {
			w.file(path, e.Type(), stack, ignored)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// push adds the folder's own ignore file.
func (w *workWalker) push(stack ignoreStack, dir string, entries []os.DirEntry) (ignoreStack, error) {
	for _, e := range entries {
		if e.Name() != ".gitignore" || !e.Type().IsRegular() {
			continue
		}
		data, err := readRegular(filepath.Join(w.top, filepath.FromSlash(dir), ".gitignore"), maxRules)
		if err != nil {
			return nil, err
		}
		return append(stack[:len(stack):len(stack)], parseIgnore(dir, data)), nil
	}
	return stack, nil
}

func (w *workWalker) folder(ctx context.Context, path string, stack ignoreStack, ignored bool, depth int) error {
	if mode, ok := w.tracked.files[path]; ok && mode == ModeSubmodule {
		if w.opts.Tracked {
			w.out = append(w.out, WorkFile{Path: path, Mode: ModeSubmodule, Tracked: true})
		}
		return nil
	}
	holds := w.tracked.dirs[path+"/"]
	ignored = ignored || stack.ignored(path, true)
	if ignored && !holds && !w.opts.Ignored {
		return nil
	}
	if !holds {
		if _, err := os.Lstat(filepath.Join(w.top, filepath.FromSlash(path), ".git")); err == nil {
			w.out = append(w.out, WorkFile{Path: path, Mode: ModeSubmodule, Ignored: ignored})
			return nil
		}
	}
	return w.walk(ctx, path+"/", stack, ignored, depth+1)
}

func (w *workWalker) file(path string, kind fs.FileMode, stack ignoreStack, ignored bool) {
	f := WorkFile{Path: path, Mode: ModeFile, Tracked: w.tracked.Has(path)}
	switch {
	case kind&fs.ModeSymlink != 0:
		f.Mode = ModeLink
	case !kind.IsRegular():
		return
	}
	if !f.Tracked {
		f.Ignored = ignored || stack.ignored(path, false)
	}
	if f.Tracked && !w.opts.Tracked || f.Ignored && !w.opts.Ignored {
		return
	}
	w.out = append(w.out, f)
}
