package gitobj

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// inflaters keeps zlib readers that were used: making one costs 40 KiB. nil keeps none.
type inflaters struct{ pool sync.Pool }

type inflater struct {
	in *bufio.Reader
	z  io.ReadCloser
}

func (p *inflaters) get(src io.Reader) (*inflater, error) {
	var i *inflater
	if p != nil {
		i, _ = p.pool.Get().(*inflater)
	}
	if i == nil {
		i = &inflater{in: bufio.NewReaderSize(nil, 4096)}
	}
	i.in.Reset(src)
	var err error
	if r, ok := i.z.(zlib.Resetter); ok {
		err = r.Reset(i.in, nil)
	} else {
		i.z, err = zlib.NewReader(i.in)
	}
	return i, err // one that failed is not put back
}

func (p *inflaters) put(i *inflater) {
	i.in.Reset(nil)
	if p != nil {
		p.pool.Put(i)
	}
}

// inflate reads a zlib stream that must hold exactly size bytes. Memory grows
// with what is really there, not with what is claimed.
func (p *inflaters) inflate(src io.Reader, size int64) ([]byte, error) {
	i, err := p.get(src)
	if err != nil {
		return nil, damaged("compressed data", err)
	}
	defer p.put(i)
	return readExactly(i.z, size)
}

func readExactly(z io.Reader, size int64) ([]byte, error) {
	var buf bytes.Buffer
	buf.Grow(int(min(size, 64<<10)) + bytes.MinRead)
	n, err := io.Copy(&buf, io.LimitReader(z, size+1))
	if err != nil {
		return nil, damaged("compressed data", err)
	}
	if n != size {
		return nil, fmt.Errorf("compressed data %w: not the size its header says", ErrCorrupt)
	}
	return buf.Bytes(), nil
}

// damaged keeps an error of the file system and calls everything else corrupt.
func damaged(what string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return err
	}
	return fmt.Errorf("%s %w: %s", what, ErrCorrupt, err)
}

// loose reads objects/ab/cdef…
func (s *store) loose(oid OID, max int64) (string, []byte, error) {
	name := oid.String()
	dir := filepath.Join(s.dir, name[:2])
	f, _, err := openRegular(filepath.Join(dir, name[2:]))
	if err != nil {
		if absent(err) {
			err = errNoObject
		}
		return "", nil, err
	}
	defer f.Close()
	if err := realDir(dir); err != nil {
		return "", nil, err
	}
	return s.pool.readLoose(f, max)
}

// readLoose inflates "kind size\0bytes".
func (p *inflaters) readLoose(src io.Reader, max int64) (string, []byte, error) {
	i, err := p.get(src)
	if err != nil {
		return "", nil, damaged("loose object", err)
	}
	defer p.put(i)
	kind, size, err := looseHeader(i.z)
	if err != nil {
		return "", nil, err
	}
	if size > max {
		return "", nil, fmt.Errorf("%s of %d bytes %w (%d bytes)", kind, size, ErrLimit, max)
	}
	data, err := readExactly(i.z, size)
	return kind, data, err
}

func looseHeader(z io.Reader) (string, int64, error) {
	var head [32]byte
	for i := range head {
		if _, err := io.ReadFull(z, head[i:i+1]); err != nil {
			return "", 0, damaged("loose object", err)
		}
		if head[i] != 0 {
			continue
		}
		kind, digits, _ := strings.Cut(string(head[:i]), " ")
		size, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || size < 0 || digits != strconv.FormatInt(size, 10) || !knownKind(kind) {
			break
		}
		return kind, size, nil
	}
	return "", 0, fmt.Errorf("loose object %w: header", ErrCorrupt)
}

func knownKind(kind string) bool {
	switch kind {
	case "blob", "tree", "commit", "tag":
		return true
	}
	return false
}
