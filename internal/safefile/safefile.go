package safefile

import (
	"errors"
	"io/fs"
)

// What can be wrong with a file. Errors returned by this package wrap one of these or an fs error, and name the path.
var (
	ErrLink     = errors.New("is reached through a link")
	ErrKind     = errors.New("is not a regular file")
	ErrHardLink = errors.New("has more than one name (hard link)")
	ErrSize     = errors.New("is too large")
	ErrChanged  = errors.New("changed while it was read")
	ErrOutside  = errors.New("lies outside the allowed folder")
	ErrHeld     = errors.New("lock is held")
)

// File is what was read.
type File struct {
	Data []byte
	Mode fs.FileMode
}

// Read returns the content of the regular single-link file at path, at most max
// bytes. The last component must not be a link and the file must not change meanwhile.
func Read(path string, max int64) (File, error) { return File{}, nil }

// ReadBeneath is Read of root/rel where no component of rel may be a link and the result lies beneath root.
func ReadBeneath(root, rel string, max int64) (File, error) { return File{}, nil }

// Replace writes data to a temporary file beside path, flushes it, gives it mode
// and renames it over path, which must be absent or a regular file.
func Replace(path string, data []byte, mode fs.FileMode) error { return nil }

// Create is Replace for a file that must not exist yet; the error wraps fs.ErrExist if it does.
func Create(path string, data []byte, mode fs.FileMode) error { return nil }
