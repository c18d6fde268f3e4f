package gitobj

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// openRegular opens the regular file at path without following a link in the
// last component and without blocking on a FIFO.
func openRegular(path string) (*os.File, fs.FileInfo, error) {
	li, err := os.Lstat(path)
	if err != nil {
		return nil, nil, err
	}
	if !li.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s %w", path, ErrLink)
	}
	f, err := openNoFollow(path)
	if err != nil {
		return nil, nil, err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = fmt.Errorf("%s %w", path, ErrLink)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, fi, nil
}

// readRegular reads a whole regular file of at most max bytes.
func readRegular(path string, max int64) ([]byte, error) {
	f, fi, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if fi.Size() > max {
		return nil, fmt.Errorf("%s %w (%d bytes)", path, ErrLimit, max)
	}
	// The size is a hint only: the file may grow while it is read.
	data, err := io.ReadAll(io.LimitReader(f, max+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > max {
		return nil, fmt.Errorf("%s %w (%d bytes)", path, ErrLimit, max)
	}
	return data, nil
}

// realDir reports an error unless path is a directory and no link.
func realDir(path string) error {
	fi, err := os.Lstat(path)
	if err != nil {
		return err
	}
	switch {
	case fi.Mode().IsRegular():
		return fmt.Errorf("%s %w", path, errFile)
	case !fi.IsDir():
		return fmt.Errorf("%s %w", path, ErrLink)
	}
	return nil
}

// errFile says that a plain file stands where a folder should be.
var errFile = fmt.Errorf("is a file where a folder should be: git directory %w", ErrCorrupt)

// readBeneath is readRegular of dir/rel where no component of rel may be a link.
func readBeneath(dir, rel string, max int64) ([]byte, error) {
	full, err := beneath(dir, rel)
	if err != nil {
		return nil, err
	}
	return readRegular(full, max)
}

// beneath joins dir and the slash-separated rel after checking that every folder
// on the way is a real one.
func beneath(dir, rel string) (string, error) {
	local, err := filepath.Localize(rel)
	if err != nil {
		return "", fmt.Errorf("%q %w", rel, ErrName)
	}
	at := dir
	for i := range len(local) {
		if os.IsPathSeparator(local[i]) {
			at = filepath.Join(dir, local[:i])
			if err := realDir(at); err != nil {
				return "", err
			}
		}
	}
	return filepath.Join(dir, local), nil
}

// absent reports that err means that nothing is there.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || isNotDir(err)
}
