package receipt

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/gatesworn/gatesworn/internal/safefile"
)

// ledgerDigest is the digest of a ledger with its boxes emptied and its EVIDENCE
// lines left out, so that recording a result changes nothing. known is reused
// if the file still holds what it was parsed from.
func ledgerDigest(name, path string, known *ledger.Document) (sum [sha256.Size]byte, err error) {
	f, err := safefile.Read(path, ledger.MaxSize)
	if err != nil {
		return sum, err
	}
	doc := known
	if !bytes.Equal(f.Data, known.Bytes()) {
		doc = ledger.Parse(name, f.Data)
	}
	if !doc.OK() {
		return sum, fmt.Errorf("%s is malformed", name)
	}
	normal, err := normalize(doc)
	if err != nil {
		return sum, err
	}
	return sha256.Sum256(normal), nil
}

// normalize returns the ledger's bytes without what a run writes.
func normalize(doc *ledger.Document) ([]byte, error) {
	boxes, dropped := map[int]bool{}, map[int]bool{}
	for _, g := range doc.Gates {
		boxes[g.Line] = true
		for _, a := range g.Attributes {
			if a.Key == ledger.Evidence {
				dropped[a.Line] = true
			}
		}
	}
	data := doc.Bytes()
	out := make([]byte, 0, len(data)+1)
	for n := 1; len(data) > 0; n++ {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		data = rest
		if dropped[n] {
			continue
		}
		start := len(out)
		out = append(append(out, line...), '\n')
		if !boxes[n] {
			continue
		}
		i := bytes.IndexByte(out[start:], '[')
		if i < 0 || start+i+2 >= len(out) {
			return nil, errors.New("a gate without a box")
		}
		out[start+i+1] = ' '
	}
	return out, nil
}
