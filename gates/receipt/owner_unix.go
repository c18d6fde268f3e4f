//go:build unix

package receipt

import (
	"io/fs"
	"os"
	"syscall"
)

// ours reports that a file is this user's and nobody else can read or write it.
func ours(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid() && info.Mode().IsRegular() && info.Mode().Perm()&0o077 == 0
}
