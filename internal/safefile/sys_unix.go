//go:build unix

package safefile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openGuards are added to every open: no link, and no waiting for the other end of a FIFO.
const openGuards = unix.O_NOFOLLOW | unix.O_NONBLOCK

// isLoop recognises O_NOFOLLOW's answer to a link (FreeBSD says EMLINK).
func isLoop(err error) bool { return errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EMLINK) }

func linkCount(_ place, info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 0
}

// keepOwner gives f the owner of old. Root must succeed, so that a container
// does not leave files behind that their owner cannot change; others can at best
// keep the group.
func keepOwner(f *os.File, old fs.FileInfo) error {
	was, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	is, ok := info.Sys().(*syscall.Stat_t)
	if !ok || is.Uid == was.Uid && is.Gid == was.Gid {
		return nil
	}
	if os.Geteuid() == 0 {
		return f.Chown(int(was.Uid), int(was.Gid))
	}
	_ = f.Chown(-1, int(was.Gid))
	return nil
}

// syncFolder makes a rename durable. Some file systems cannot flush a folder and say so.
func syncFolder(root *os.Root) error {
	d, err := root.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	err = d.Sync()
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) {
		return nil
	}
	return err
}

// withFolder lends the descriptor of an open folder.
func withFolder(root *os.Root, do func(fd int) error) error {
	d, err := root.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	return do(int(d.Fd()))
}

func private(info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) != os.Geteuid() {
		return ErrOwner
	}
	if info.Mode().Perm()&0o077 != 0 {
		return ErrShared
	}
	return nil
}
