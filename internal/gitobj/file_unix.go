//go:build unix

package gitobj

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

func openNoFollow(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}

func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

// executable reports git's idea of an executable file: the owner's bit.
func executable(m fs.FileMode) bool { return m&0o100 != 0 }

// modesMatter is false where the file system keeps no executable bit.
const modesMatter = true
