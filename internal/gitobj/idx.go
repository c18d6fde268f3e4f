package gitobj

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"sort"
)

// packIndex is a pack's .idx file, version 2. It is read as far as it is needed;
// its own checksum is not looked at, since what it leads to is hashed again.
type packIndex struct {
	file   *os.File // nil in tests
	src    io.ReaderAt
	format int64
	n      int64 // objects
	large  int64 // entries in the table of 8-byte offsets
	fanout [256]uint32
}

const idxHead = 8 + 256*4

func openIndex(path string, f Format) (*packIndex, error) {
	file, fi, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	var src io.ReaderAt = file
	if fi.Size() <= maxIdxInMemory {
		data, err := io.ReadAll(io.LimitReader(file, maxIdxInMemory))
		if err != nil {
			file.Close()
			return nil, err
		}
		src = bytes.NewReader(data)
	}
	x, err := newIndex(src, fi.Size(), f)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if src != file {
		return x, file.Close()
	}
	x.file = file
	return x, nil
}

// maxIdxInMemory is the size up to which an index is read at once: about two
// million objects. A search asks some twenty times.
const maxIdxInMemory = 64 << 20

func newIndex(src io.ReaderAt, size int64, f Format) (*packIndex, error) {
	var head [idxHead]byte
	if _, err := src.ReadAt(head[:], 0); err != nil {
		return nil, corrupt("pack index header")
	}
	if !bytes.Equal(head[:8], []byte{0xff, 't', 'O', 'c', 0, 0, 0, 2}) {
		return nil, fmt.Errorf("pack index %w: not version 2; git index-pack makes one", ErrUnsupported)
	}
	x := &packIndex{src: src, format: int64(f)}
	var last uint32
	for i := range x.fanout {
		x.fanout[i] = binary.BigEndian.Uint32(head[8+4*i:])
		if x.fanout[i] < last {
			return nil, corrupt("pack index: table of first bytes")
		}
		last = x.fanout[i]
	}
	x.n = int64(last)
	fixed := idxHead + x.n*(x.format+4+4) + 2*x.format
	if size < fixed || (size-fixed)%8 != 0 {
		return nil, corrupt("pack index: size")
	}
	x.large = (size - fixed) / 8
	return x, nil
}

// find returns the offset of oid in the pack.
func (x *packIndex) find(oid OID) (int64, error) {
	first := oid.b[0]
	lo, hi := int64(0), int64(x.fanout[first])
	if first > 0 {
		lo = int64(x.fanout[first-1])
	}
	var rerr error
	name := make([]byte, x.format)
	i := lo + int64(sort.Search(int(hi-lo), func(i int) bool {
		if _, err := x.src.ReadAt(name, idxHead+(lo+int64(i))*x.format); err != nil {
			rerr = err
		}
		return bytes.Compare(name, oid.raw()) >= 0
	}))
	if rerr == nil && i < hi {
		_, rerr = x.src.ReadAt(name, idxHead+i*x.format)
	}
	if rerr != nil {
		return 0, damaged("pack index", rerr)
	}
	if i >= hi || !bytes.Equal(name, oid.raw()) {
		return 0, errNoObject
	}
	return x.offset(i)
}

// offset reads the i-th offset: 31 bits, or a place in the table of large ones.
func (x *packIndex) offset(i int64) (int64, error) {
	var b [8]byte
	table := idxHead + x.n*(x.format+4)
	if _, err := x.src.ReadAt(b[:4], table+4*i); err != nil {
		return 0, damaged("pack index", err)
	}
	v := binary.BigEndian.Uint32(b[:4])
	if v&0x80000000 == 0 {
		return int64(v), nil
	}
	k := int64(v & 0x7fffffff)
	if k >= x.large {
		return 0, corrupt("pack index: large offset")
	}
	if _, err := x.src.ReadAt(b[:], table+4*x.n+8*k); err != nil {
		return 0, damaged("pack index", err)
	}
	at := binary.BigEndian.Uint64(b[:])
	if at > 1<<62 {
		return 0, corrupt("pack index: large offset")
	}
	return int64(at), nil
}
