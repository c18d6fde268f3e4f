//go:build unix

package store

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// ours refuses a record that is another user's or that others may read or write.
func ours(info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok || int(st.Uid) != os.Geteuid():
		return errors.New("is another user's")
	case info.Mode()&fs.ModeSymlink == 0 && info.Mode().Perm()&0o077 != 0:
		return errors.New("grants rights to others")
	}
	return nil
}
