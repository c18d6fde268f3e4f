//go:build unix && !linux

package safefile

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// inode gives the number of names and the time of the last status change.
func inode(f *os.File, _ fs.FileInfo) (links uint64, changed int64, err error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return 0, 0, err
	}
	return uint64(st.Nlink), st.Ctim.Nano(), nil
}
