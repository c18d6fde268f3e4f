package receipt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/gates/evidence"
	"github.com/gatesworn/gatesworn/internal/safefile"
)

const schema = "gatesworn.receipt/v1"

// MaxRecord is the largest receipt, in bytes. One that would be larger, because
// of a huge environment, is not kept.
const MaxRecord = 64 << 10

// record is one receipt as it is on disk.
type record struct {
	Schema         string            `json:"schema"`
	Top            string            `json:"top"` // where, for people; Ingredients hold it, too
	Ledger         string            `json:"ledger"`
	Gate           string            `json:"gate"`
	At             string            `json:"at"` // RFC 3339, UTC
	Context        string            `json:"context"`
	EvidenceSHA256 string            `json:"evidenceSha256"`
	Evidence       string            `json:"evidence"`
	DurationMS     int64             `json:"durationMs"`
	Ingredients    ingredients       `json:"ingredients"`
	Variables      map[string]string `json:"variables"`
	Manifest       string            `json:"manifest,omitempty"` // of the tree's files then, to name what changed
}

// Why a receipt that is there counts for nothing.
var (
	errForeign   = errors.New("it is another user's, or open to others")
	errMalformed = errors.New("it is malformed")
	errFuture    = errors.New("it is dated in the future")
)

// name is the receipt's file: one for a gate, so that their number is bounded by
// that of gates.
func name(top, ledger, gate string) string { return hash(top, ledger, gate)[:40] + suffix }

const suffix = ".receipt"

func (r *record) bytes() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(r)
	return b.Bytes(), err
}

// parse reads exactly what bytes writes, and only if its parts fit together.
func parse(data []byte, now time.Time) (*record, error) {
	var r record
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		return nil, fmt.Errorf("%w: %v", errMalformed, err)
	}
	again, err := r.bytes()
	switch {
	case err != nil || !bytes.Equal(again, data):
		return nil, errMalformed
	case r.Schema != schema || r.Context != r.Ingredients.digest():
		return nil, fmt.Errorf("%w: its context does not fit", errMalformed)
	case r.Ingredients[Place] != hash(r.Top, r.Ledger, r.Gate):
		return nil, fmt.Errorf("%w: it names another gate", errMalformed)
	case r.EvidenceSHA256 != hash(r.Evidence) || r.DurationMS < 0:
		return nil, fmt.Errorf("%w: its evidence does not fit", errMalformed)
	}
	at, err := time.Parse(time.RFC3339, r.At)
	if err != nil || at.UTC().Format(time.RFC3339) != r.At {
		return nil, fmt.Errorf("%w: its date cannot be read", errMalformed)
	}
	if at.After(now) {
		return nil, errFuture
	}
	return &r, nil
}

// pass is what the receipt says was measured. The evidence line holds it.
func (r *record) pass() (gates.Pass, error) {
	line, err := evidence.ParseLine(r.Evidence)
	if err != nil {
		return gates.Pass{}, fmt.Errorf("%w: %v", errMalformed, err)
	}
	at, err := time.Parse(time.RFC3339, r.At)
	if err != nil {
		return gates.Pass{}, errMalformed
	}
	zero := 0
	return gates.Pass{At: at, Evidence: r.Evidence, Run: gates.Run{
		Exit: &zero, Matched: true, DurationMS: r.DurationMS, OutputSHA256: line.Output, OutputBytes: line.Bytes,
	}}, nil
}

// load reads a receipt of the folder. fs.ErrNotExist: there is none.
func (b *Book) load(g gates.GateRef) (*record, error) {
	path := filepath.Join(b.dir, name(b.tree.Top, g.Ledger, g.Gate.ID))
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, err
	}
	if !ours(info) {
		return nil, errForeign
	}
	f, err := safefile.Read(path, MaxRecord)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", errMalformed, err)
	}
	r, err := parse(f.Data, b.now())
	if err != nil {
		return nil, err
	}
	if r.Top != b.tree.Top || r.Ledger != g.Ledger || r.Gate != g.Gate.ID {
		return nil, fmt.Errorf("%w: it names another gate", errMalformed)
	}
	return r, nil
}
