package safefile

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// place is a name in a folder that is held open, so that nobody can swap the
// folder between two looks at it.
type place struct {
	root *os.Root
	name string
}

func (p place) close() { _ = p.root.Close() }

// openPlace follows links on the way to the folder: the caller vouches for the path.
func openPlace(path string) (place, error) {
	path = filepath.Clean(path)
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return place{}, err
	}
	return place{root, filepath.Base(path)}, nil
}

// openBeneath walks from root to the folder of rel and follows no link on the
// way. Only root itself may be reached through one.
func openBeneath(root, rel string) (place, error) {
	rel = filepath.Clean(filepath.FromSlash(rel))
	if !filepath.IsLocal(rel) {
		return place{}, ErrOutside
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return place{}, err
	}
	parts := strings.Split(rel, string(filepath.Separator))
	for _, part := range parts[:len(parts)-1] {
		next, err := descend(dir, part)
		_ = dir.Close()
		if err != nil {
			return place{}, err
		}
		dir = next
	}
	return place{dir, parts[len(parts)-1]}, nil
}

// descend opens a folder in dir. What was looked at must be what was opened:
// os.Root would follow a link that somebody puts there in between.
func descend(dir *os.Root, name string) (*os.Root, error) {
	seen, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	switch {
	case seen.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0:
		return nil, ErrLink
	case !seen.IsDir():
		return nil, ErrNotDir
	}
	next, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	opened, err := next.Stat(".")
	if err == nil && !os.SameFile(seen, opened) {
		err = ErrChanged
	}
	if err != nil {
		_ = next.Close()
		return nil, err
	}
	return next, nil
}

// target says what stands at the place: nil for nothing, an error for what must
// not be replaced.
func (p place) target() (fs.FileInfo, error) {
	info, err := p.root.Lstat(p.name)
	if isAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := kind(info.Mode()); err != nil {
		return nil, err
	}
	if linkCount(p, info) > 1 {
		return nil, ErrHardLink
	}
	return info, nil
}
