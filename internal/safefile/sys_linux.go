package safefile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// renameNew renames temp to name, which must not exist. File systems that
// cannot do that in one step (EINVAL; seccomp profiles may say EPERM or ENOSYS)
// get a hard link.
func renameNew(root *os.Root, temp, name string) error {
	err := withFolder(root, func(fd int) error {
		return unix.Renameat2(fd, temp, fd, name, unix.RENAME_NOREPLACE)
	})
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return linkThenRemove(root, temp, name)
	}
	return err
}
