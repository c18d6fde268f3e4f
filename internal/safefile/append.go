package safefile

import (
	"io/fs"
	"os"
)

// Append adds line, which carries its own line ending, to the end of the regular
// single-link file at path and flushes it. An absent file is created with mode
// (less the umask). A line that did not fit is taken back. The lines of several
// processes do not mix, but callers that must not lose one on a full disk hold a
// Lock.
func Append(path string, line []byte, mode fs.FileMode) error {
	if err := appendTo(path, line, mode); err != nil {
		return failure("append to", path, err)
	}
	return nil
}

func appendTo(path string, line []byte, mode fs.FileMode) error {
	if info, err := os.Lstat(path); err == nil {
		if err := kind(info.Mode()); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|openGuards, mode.Perm())
	if err != nil {
		if isLoop(err) {
			return ErrLink
		}
		return err
	}
	err = appendLine(f, line)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

func appendLine(f *os.File, line []byte) error {
	before, err := look(f)
	if err != nil {
		return err
	}
	if err := kind(before.info.Mode()); err != nil {
		return err
	}
	if before.links != 1 {
		return ErrHardLink
	}
	size := before.info.Size()
	n, err := f.Write(line)
	if err != nil {
		// Only if nobody else wrote meanwhile: the end must be ours.
		if after, lost := f.Stat(); n > 0 && lost == nil && after.Size() == size+int64(n) {
			_ = f.Truncate(size)
		}
		return err
	}
	return f.Sync()
}
