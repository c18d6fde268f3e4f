package gitobj

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// pack is a pack file with its index. find and open are called under the store's
// lock; object, after them, needs none.
type pack struct {
	base   string // path without ".pack"
	format Format
	pool   *inflaters

	idx  *packIndex
	file *os.File
	src  io.ReaderAt
	size int64
	err  error // why it could not be opened: stays
}

func (p *pack) close() error {
	var errs []error
	if p.file != nil {
		errs = append(errs, p.file.Close())
	}
	if p.idx != nil && p.idx.file != nil {
		errs = append(errs, p.idx.file.Close())
	}
	p.file, p.src, p.idx = nil, nil, nil
	return errors.Join(errs...)
}

// find returns the offset of an object.
func (p *pack) find(oid OID) (int64, error) {
	if p.err != nil {
		return 0, p.err
	}
	if p.idx == nil {
		if p.idx, p.err = openIndex(p.base+".idx", p.format); p.err != nil {
			if absent(p.err) { // repacked since it was listed
				p.err = errNoObject
			}
			return 0, p.err
		}
	}
	return p.idx.find(oid)
}

func (p *pack) open() error {
	if p.src != nil || p.err != nil {
		return p.err
	}
	f, fi, err := openRegular(p.base + ".pack")
	if err != nil {
		p.err = err
		return err
	}
	if err := checkPackHeader(f, fi.Size(), p.format); err != nil {
		f.Close()
		p.err = fmt.Errorf("%s.pack: %w", p.base, err)
		return p.err
	}
	p.file, p.src, p.size = f, &blockReader{src: f, size: fi.Size()}, fi.Size()
	return nil
}

func checkPackHeader(src io.ReaderAt, size int64, f Format) error {
	var head [12]byte
	if _, err := src.ReadAt(head[:], 0); err != nil || size < int64(12+int(f)) {
		return corrupt("pack header")
	}
	version := binary.BigEndian.Uint32(head[4:])
	if string(head[:4]) != "PACK" || version != 2 && version != 3 {
		return corrupt("pack header")
	}
	return nil
}

// blockReader reads a file in blocks and keeps some, because objects that belong
// together lie together and a call of the system costs as much as inflating one.
type blockReader struct {
	src  io.ReaderAt
	size int64

	mu     sync.Mutex
	blocks map[int64][]byte
}

const (
	blockSize = 32 << 10
	maxBlocks = 512 // 16 MiB
)

// ReadAt is io.ReaderAt's.
func (r *blockReader) ReadAt(b []byte, at int64) (n int, err error) {
	for n < len(b) {
		if at >= r.size {
			return n, io.EOF
		}
		block, err := r.block(at / blockSize)
		if err != nil {
			return n, err
		}
		off := at % blockSize
		if off >= int64(len(block)) {
			return n, io.ErrUnexpectedEOF // the file was cut
		}
		k := copy(b[n:], block[off:])
		n, at = n+k, at+int64(k)
	}
	return n, nil
}

func (r *blockReader) block(i int64) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if b, ok := r.blocks[i]; ok {
		return b, nil
	}
	b := make([]byte, min(blockSize, r.size-i*blockSize))
	n, err := r.src.ReadAt(b, i*blockSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if r.blocks == nil || len(r.blocks) >= maxBlocks {
		r.blocks = map[int64][]byte{}
	}
	r.blocks[i] = b[:n]
	return b[:n], nil
}

// Types of entries in a pack.
const (
	packCommit   = 1
	packTree     = 2
	packBlob     = 3
	packTag      = 4
	packOfsDelta = 6
	packRefDelta = 7
)

func packKind(t int) string {
	switch t {
	case packCommit:
		return "commit"
	case packTree:
		return "tree"
	case packBlob:
		return "blob"
	case packTag:
		return "tag"
	}
	return ""
}

// packEntry is the header of an entry and where its compressed bytes start.
type packEntry struct {
	kind string // "" for a delta
	size int64  // inflated
	base int64  // of a delta: offset of what it applies to
	body int64
}

// object reads the object at an offset: the chain of deltas down to a whole
// object, then up again. A base lies in the same pack, as git demands on disk.
func (p *pack) object(at, max int64, cache *baseCache) (string, []byte, error) {
	v, chain, err := p.descend(at, max, cache)
	if err != nil {
		return "", nil, err
	}
	for i := len(chain) - 1; i >= 0; i-- {
		limit := int64(maxInflate)
		if i == 0 {
			limit = max
		}
		if v.data, err = applyDelta(v.data, chain[i].delta, limit); err != nil {
			return "", nil, err
		}
		cache.put(p, chain[i].at, v)
	}
	return v.kind, v.data, nil
}

type link struct {
	at    int64
	delta []byte
}

// descend collects deltas until it meets a whole object or a cached one.
func (p *pack) descend(at, max int64, cache *baseCache) (inflated, []link, error) {
	var chain []link
	var sum int64
	seen := map[int64]bool{}
	for {
		if v, ok := cache.get(p, at); ok {
			if len(chain) == 0 && int64(len(v.data)) > max {
				return inflated{}, nil, overMax(v.kind, int64(len(v.data)), max)
			}
			return v, chain, nil
		}
		if seen[at] {
			return inflated{}, nil, corrupt("deltas that refer to each other in a circle: pack")
		}
		seen[at] = true
		e, err := p.entry(at)
		if err != nil {
			return inflated{}, nil, err
		}
		limit := int64(maxInflate)
		if e.kind != "" && len(chain) == 0 {
			limit = max
		}
		if e.size > limit {
			return inflated{}, nil, overMax("object", e.size, limit)
		}
		if sum += e.size; len(chain) > maxChain || sum > maxChainSum {
			return inflated{}, nil, fmt.Errorf("chain of deltas %w", ErrLimit)
		}
		data, err := p.inflate(e)
		if err != nil {
			return inflated{}, nil, err
		}
		if e.kind != "" {
			v := inflated{e.kind, data}
			cache.put(p, at, v)
			return v, chain, nil
		}
		chain = append(chain, link{at, data})
		at = e.base
	}
}

func overMax(kind string, size, max int64) error {
	return fmt.Errorf("%s of %d bytes %w (%d bytes)", kind, size, ErrLimit, max)
}

// inflate reads the compressed bytes of an entry.
func (p *pack) inflate(e packEntry) ([]byte, error) {
	end := p.size - int64(p.format)
	return p.pool.inflate(io.NewSectionReader(p.src, e.body, max(0, end-e.body)), e.size)
}

// entry reads the header of the entry at an offset.
func (p *pack) entry(at int64) (packEntry, error) {
	if at < 12 || at >= p.size-int64(p.format) {
		return packEntry{}, corrupt("offset %d in a pack", at)
	}
	var head [64]byte // type and size, then at most an id or an offset
	n, err := p.src.ReadAt(head[:min(int64(len(head)), p.size-at)], at)
	if err != nil && !errors.Is(err, io.EOF) {
		return packEntry{}, err
	}
	kind, size, used, err := packHeader(head[:n])
	if err != nil {
		return packEntry{}, err
	}
	e := packEntry{kind: packKind(kind), size: size, body: at + int64(used)}
	rest := head[used:n]
	switch {
	case e.kind != "":
		return e, nil
	case kind == packOfsDelta:
		back, used, err := packOffset(rest)
		if err != nil || back > at-12 {
			return packEntry{}, corrupt("delta base offset in a pack")
		}
		e.base, e.body = at-back, e.body+int64(used)
		return e, nil
	case kind == packRefDelta && len(rest) >= int(p.format):
		e.body += int64(p.format)
		e.base, err = p.idx.find(rawOID(rest[:p.format]))
		if isNotFound(err) {
			err = corrupt("delta whose base is not in the same pack: pack")
		}
		return e, err
	}
	return packEntry{}, corrupt("entry of type %d in a pack", kind)
}

// packHeader reads the type and size of an entry: 3 bits of type, then 4 and 7
// bits of size a byte, lowest first.
func packHeader(b []byte) (kind int, size int64, used int, err error) {
	if len(b) == 0 {
		return 0, 0, 0, corrupt("pack entry header")
	}
	kind, size = int(b[0]>>4&7), int64(b[0]&15)
	for shift := 4; b[used]&0x80 != 0; shift += 7 {
		if used++; used >= len(b) || shift > 53 {
			return 0, 0, 0, corrupt("pack entry header")
		}
		size |= int64(b[used]&0x7f) << shift
	}
	return kind, size, used + 1, nil
}

// packOffset reads how far back an ofs-delta's base lies: at least 1.
func packOffset(b []byte) (back int64, used int, err error) {
	for used < len(b) && used < 9 {
		c := b[used]
		back |= int64(c & 0x7f)
		used++
		if c&0x80 == 0 {
			if back < 1 {
				break
			}
			return back, used, nil
		}
		back = (back + 1) << 7
	}
	return 0, 0, corrupt("delta base offset")
}
