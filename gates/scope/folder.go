package scope

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// folder opens root/rel without following a link below root; with create, what is
// missing is made. What was looked at must be what was opened.
func folder(root, rel string, create bool) (*os.Root, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("cannot open folder: %w", err)
	}
	at := ""
	for _, part := range strings.Split(rel, "/") {
		at = strings.TrimPrefix(at+"/"+part, "/")
		next, err := enter(dir, part, create)
		_ = dir.Close()
		if errors.Is(err, errUnsafe) {
			return nil, &UnsafeError{Path: at}
		}
		if err != nil {
			return nil, fmt.Errorf("cannot open folder %s: %w", at, err)
		}
		dir = next
	}
	return dir, nil
}

var errUnsafe = errors.New("not a real folder")

func enter(dir *os.Root, name string, create bool) (*os.Root, error) {
	seen, err := dir.Lstat(name)
	if create && errors.Is(err, fs.ErrNotExist) {
		if err := dir.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		seen, err = dir.Lstat(name)
	}
	if err != nil {
		return nil, err
	}
	if !seen.IsDir() {
		return nil, errUnsafe
	}
	next, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	opened, err := next.Stat(".")
	if err != nil || !os.SameFile(seen, opened) {
		_ = next.Close()
		return nil, errors.Join(errUnsafe, err)
	}
	return next, nil
}

// canonical returns target, an absolute path, with the links of its existing folders resolved; the
// last component is never followed (unlazy names locks by it).
func canonical(target string) (string, error) {
	dir, suffix := filepath.Dir(target), filepath.Base(target)
	for {
		real, err := filepath.EvalSymlinks(dir)
		if err == nil {
			return filepath.Join(real, suffix), nil
		}
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return "", fmt.Errorf("cannot resolve %s: %w", target, err)
		}
		dir, suffix = filepath.Dir(dir), filepath.Join(filepath.Base(dir), suffix)
	}
}
