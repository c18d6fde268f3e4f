package receipt

import (
	"io/fs"
	"syscall"
	"time"
)

// stamp changes whenever a file does; ctime cannot be set by a program.
type stamp struct {
	size                     int64
	ino, dev                 uint64
	mode                     fs.FileMode
	mtime, mnano, cts, cnano int64
}

func stampOf(info fs.FileInfo) stamp {
	s := stamp{size: info.Size(), mode: info.Mode()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.ino, s.dev = st.Ino, uint64(st.Dev)
		s.mtime, s.mnano = st.Mtim.Unix()
		s.cts, s.cnano = st.Ctim.Unix()
	}
	return s
}

// settled reports whether the file was last changed so long before at that a
// change since must show in the stamp: clocks of file systems tick slowly.
func (s stamp) settled(at time.Time) bool {
	return s.ino != 0 && time.Unix(s.cts, s.cnano).Before(at.Add(-tick))
}
