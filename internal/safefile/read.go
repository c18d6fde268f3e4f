package safefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// attempts bounds how often a read starts again because the file was replaced
// as a whole (by Replace of another process) before it had been read.
const attempts = 16

// errReplaced asks for another attempt; it never leaves the package.
var errReplaced = errors.New("replaced while it was read")

// Read returns the content of the regular single-link file at path, at most max
// bytes. The last component must not be a link and the file must not change
// meanwhile; a file that was replaced as a whole is read again. Nothing is ever
// waited for: a FIFO is refused. A change in place that keeps the size and falls
// into one tick of the file system's clock goes unseen.
func Read(path string, max int64) (File, error) {
	s := source{
		lstat: func() (fs.FileInfo, error) { return os.Lstat(path) },
		open:  func() (*os.File, error) { return os.OpenFile(path, os.O_RDONLY|openGuards, 0) },
	}
	f, err := s.read(max)
	if err != nil {
		return File{}, failure("read", path, err)
	}
	return f, nil
}

// ReadBeneath is Read of root/rel where no component of rel may be a link and the result lies beneath root.
func ReadBeneath(root, rel string, max int64) (File, error) {
	p, err := openBeneath(root, rel)
	if err != nil {
		return File{}, failure("read", rel, err)
	}
	defer p.close()
	s := source{
		lstat: func() (fs.FileInfo, error) { return p.root.Lstat(p.name) },
		open:  func() (*os.File, error) { return p.root.OpenFile(p.name, os.O_RDONLY|openGuards, 0) },
	}
	f, err := s.read(max)
	if err != nil {
		return File{}, failure("read", rel, err)
	}
	return f, nil
}

// source is one name that can be looked at and opened.
type source struct {
	lstat func() (fs.FileInfo, error)
	open  func() (*os.File, error)
}

func (s source) read(max int64) (File, error) {
	for range attempts {
		f, err := s.readOnce(max)
		if !errors.Is(err, errReplaced) {
			return f, err
		}
	}
	return File{}, ErrChanged
}

func (s source) readOnce(max int64) (File, error) {
	named, err := s.lstat()
	if err != nil {
		return File{}, err
	}
	if err := kind(named.Mode()); err != nil {
		return File{}, err
	}
	f, err := s.open()
	if err != nil {
		if isLoop(err) {
			return File{}, ErrLink
		}
		return File{}, err
	}
	defer f.Close()
	before, err := look(f)
	if err != nil {
		return File{}, err
	}
	if !os.SameFile(named, before.info) {
		return File{}, errReplaced
	}
	if err := before.acceptable(max); err != nil {
		return File{}, err
	}
	data, err := readAll(f, before.info.Size(), max)
	if err != nil {
		return File{}, err
	}
	if err := s.unchanged(f, before, int64(len(data))); err != nil {
		return File{}, err
	}
	return File{Data: data, Mode: before.info.Mode()}, nil
}

// readAll reads one byte more than max at most, so that growth is noticed.
func readAll(f *os.File, size, max int64) ([]byte, error) {
	data := make([]byte, 0, size+1)
	for int64(len(data)) <= max {
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		room := data[len(data):cap(data)]
		if left := max + 1 - int64(len(data)); int64(len(room)) > left {
			room = room[:left]
		}
		n, err := f.Read(room)
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) {
			return data, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, tooLarge(max)
}

// unchanged compares the open file and its name with what they were before.
func (s source) unchanged(f *os.File, before state, read int64) error {
	named, err := s.lstat()
	if errors.Is(err, fs.ErrNotExist) {
		return ErrChanged
	}
	if err != nil {
		return err
	}
	if !os.SameFile(named, before.info) {
		return errReplaced
	}
	after, err := look(f)
	if err != nil {
		return err
	}
	if after.links == 0 {
		return errReplaced
	}
	if !before.equal(after) || read != before.info.Size() {
		return ErrChanged
	}
	return nil
}

// state is what identifies one version of an open file.
type state struct {
	info    fs.FileInfo
	links   uint64
	changed int64 // nanoseconds; status change where the system keeps it
}

func look(f *os.File) (state, error) {
	info, err := f.Stat()
	if err != nil {
		return state{}, err
	}
	s := state{info: info}
	s.links, s.changed, err = inode(f, info)
	return s, err
}

func (s state) acceptable(max int64) error {
	if err := kind(s.info.Mode()); err != nil {
		return err
	}
	switch {
	case s.links == 0:
		return errReplaced
	case s.links > 1:
		return ErrHardLink
	case s.info.Size() > max:
		return tooLarge(max)
	}
	return nil
}

func (s state) equal(t state) bool {
	return s.links == t.links && s.changed == t.changed && s.info.Size() == t.info.Size() &&
		s.info.ModTime().Equal(t.info.ModTime()) && s.info.Mode() == t.info.Mode()
}

func tooLarge(max int64) error { return fmt.Errorf("%w: more than %d bytes", ErrSize, max) }
