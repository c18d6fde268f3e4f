package safefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// What can be wrong with a file. Errors returned by this package wrap one of
// these or an fs error, and name the path.
var (
	ErrLink     = errors.New("is reached through a link")
	ErrKind     = errors.New("is not a regular file")
	ErrHardLink = errors.New("has more than one name (hard link)")
	ErrSize     = errors.New("is too large")
	ErrChanged  = errors.New("changed while it was read")
	ErrOutside  = errors.New("lies outside the allowed folder")
	ErrHeld     = errors.New("lock is held")
	ErrNotDir   = errors.New("is not a folder")
	ErrOwner    = errors.New("belongs to another user")
	ErrShared   = errors.New("is open to other users")
)

// File is what was read.
type File struct {
	Data []byte
	Mode fs.FileMode
}

// failure names what was tried on which path, once: the path and verb that os
// puts into its own errors are taken off, the cause stays for errors.Is.
func failure(verb, path string, err error) error {
	var onPath *fs.PathError
	var onLink *os.LinkError
	switch {
	case errors.As(err, &onPath):
		err = onPath.Err
	case errors.As(err, &onLink):
		err = onLink.Err
	}
	return fmt.Errorf("%s %q: %w", verb, path, err)
}

// kind refuses what is not a regular file, by the mode that Lstat gave.
// Windows reports junctions and other reparse points as irregular.
func kind(m fs.FileMode) error {
	switch {
	case m&fs.ModeSymlink != 0:
		return ErrLink
	case !m.IsRegular():
		return ErrKind
	}
	return nil
}
