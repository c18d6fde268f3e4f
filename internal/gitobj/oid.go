package gitobj

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"

	"github.com/pjbgf/sha1cd"
)

// Format is a repository's object format. The zero value is none.
type Format int

// Formats that git knows.
const (
	SHA1   Format = 20
	SHA256 Format = 32
)

// String is git's name of the format.
func (f Format) String() string {
	switch f {
	case SHA1:
		return "sha1"
	case SHA256:
		return "sha256"
	}
	return "no format"
}

// OID names an object. It is comparable; the zero value names nothing.
type OID struct {
	n uint8
	b [32]byte
}

// ParseOID reads 40 or 64 lower-case hexadecimal digits, nothing shorter.
func ParseOID(s string) (OID, error) {
	if len(s) != 40 && len(s) != 64 {
		return OID{}, fmt.Errorf("object id %.80q %w", s, ErrName)
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return OID{}, fmt.Errorf("object id %.80q %w", s, ErrName)
		}
	}
	o := OID{n: uint8(len(s) / 2)}
	_, err := hex.Decode(o.b[:], []byte(s))
	return o, err
}

func rawOID(b []byte) OID {
	o := OID{n: uint8(len(b))}
	copy(o.b[:], b)
	return o
}

func (o OID) raw() []byte { return o.b[:o.n] }

// String is the full lower-case hexadecimal name, "" for the zero value.
func (o OID) String() string { return hex.EncodeToString(o.b[:o.n]) }

// IsZero reports that o names nothing: the zero value, or git's null id.
func (o OID) IsZero() bool { return o.b == [32]byte{} }

// Format is the object format that o belongs to.
func (o OID) Format() Format { return Format(o.n) }

func (f Format) hasher() hash.Hash {
	if f == SHA256 {
		return sha256.New()
	}
	return sha1cd.New()
}

// sum ends a hash made by hasher. ok is false when the input is one half of a
// prepared SHA-1 collision.
func (f Format) sum(h hash.Hash) (OID, bool) {
	if c, is := h.(sha1cd.CollisionResistantHash); is {
		b, collision := c.CollisionResistantSum(nil)
		return rawOID(b), !collision
	}
	return rawOID(h.Sum(nil)), true
}

// header appends an object's header to dst.
func header(dst []byte, kind string, size int64) []byte {
	dst = append(dst, kind...)
	dst = append(dst, ' ')
	dst = strconv.AppendInt(dst, size, 10)
	return append(dst, 0)
}

// HashBlob is the name a blob of these bytes has in format f. Bytes made for a
// SHA-1 collision get the zero OID, which equals no object's name.
func (f Format) HashBlob(data []byte) OID { return f.hashObject("blob", data) }

func (f Format) hashObject(kind string, data []byte) OID {
	h := f.hasher()
	h.Write(header(nil, kind, int64(len(data))))
	h.Write(data)
	o, ok := f.sum(h)
	if !ok {
		return OID{}
	}
	return o
}
