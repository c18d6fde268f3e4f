package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gatesworn/gatesworn/approval"
)

// Version of a record.
const Version = 1

// Binding is everything that a local approval is for.
type Binding struct {
	Oracle   approval.Oracle
	Ledger   string // absolute path, links resolved
	Shell    string // absolute path
	Dir      string // absolute path, links resolved
	Timeout  int    // effective, in seconds
	Platform string // GOOS
	Path     string // complete PATH as the check inherits it
}

// record is a binding as it stands on disk.
type record struct {
	V          int             `json:"v"`
	Ledger     string          `json:"ledger"`
	Gate       string          `json:"gate"`
	Oracle     json.RawMessage `json:"oracle"`
	Digest     string          `json:"oracleDigest"`
	Shell      string          `json:"shell"`
	Dir        string          `json:"directory"`
	Timeout    int             `json:"timeout"`
	Platform   string          `json:"platform"`
	Path       string          `json:"path"`
	ApprovedAt time.Time       `json:"approvedAt"`
}

// valid refuses bindings that would be for more than one thing.
func (b Binding) valid() error {
	if err := b.Oracle.Validate(); err != nil {
		return err
	}
	for _, p := range []string{b.Ledger, b.Shell, b.Dir, b.Platform, b.Path} {
		if !utf8.ValidString(p) {
			return fmt.Errorf("approval binds %q, which is not UTF-8 and cannot be recorded", p)
		}
	}
	for _, p := range []string{b.Ledger, b.Shell, b.Dir} {
		if !filepath.IsAbs(p) || strings.ContainsRune(p, 0) {
			return fmt.Errorf("approval binds %q, which is not an absolute path", p)
		}
	}
	if b.Timeout < 1 || b.Timeout > approval.MaxTimeout || b.Platform == "" {
		return fmt.Errorf("approval binds timeout %d and platform %q", b.Timeout, b.Platform)
	}
	return nil
}

// id is the digest of everything bound. Each text is preceded by its length, so
// that no two bindings have the same bytes, whatever bytes a path holds.
func (b Binding) id() string {
	h := sha256.New()
	for _, s := range []string{
		"gatesworn.local-approval", strconv.Itoa(Version), b.Ledger, b.Oracle.Gate, b.Oracle.Digest(),
		b.Shell, b.Dir, strconv.Itoa(b.Timeout), b.Platform, b.Path,
	} {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// place and kin are the short prefixes by which records of the same gate, and
// records of the same oracle elsewhere, are found without reading all of them.
func (b Binding) place() string { return short(b.Ledger + "\x00" + b.Oracle.Gate) }

func (b Binding) kin() string { return short(b.Oracle.Digest()) }

func short(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:6])
}

func (b Binding) name() string { return b.place() + "-" + b.kin() + "-" + b.id() + suffix }

const suffix = ".json"

// bytes is the one form of a record.
func (b Binding) bytes(at time.Time) ([]byte, error) {
	r := record{
		V: Version, Ledger: b.Ledger, Gate: b.Oracle.Gate, Oracle: b.Oracle.Canonical(), Digest: b.Oracle.Digest(),
		Shell: b.Shell, Dir: b.Dir, Timeout: b.Timeout, Platform: b.Platform, Path: b.Path,
		ApprovedAt: at.UTC().Truncate(time.Second),
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		return nil, fmt.Errorf("write approval: %w", err)
	}
	return out.Bytes(), nil
}

// parse reads a record back. The name must be the one its content gives: a
// record that was copied, edited or renamed is for nothing.
func parse(name string, data []byte) (Binding, time.Time, error) {
	var r record
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return Binding{}, time.Time{}, fmt.Errorf("record %q cannot be read: %v", name, err)
	}
	var flat bytes.Buffer
	if err := json.Compact(&flat, r.Oracle); err != nil {
		return Binding{}, time.Time{}, fmt.Errorf("record %q cannot be read: %v", name, err)
	}
	o, err := approval.ParseOracle(flat.Bytes())
	if err != nil {
		return Binding{}, time.Time{}, fmt.Errorf("record %q: %w", name, err)
	}
	b := Binding{Oracle: o, Ledger: r.Ledger, Shell: r.Shell, Dir: r.Dir, Timeout: r.Timeout, Platform: r.Platform, Path: r.Path}
	if r.V != Version || r.Gate != o.Gate || r.Digest != o.Digest() || r.ApprovedAt.IsZero() || b.valid() != nil || b.name() != name {
		return Binding{}, time.Time{}, fmt.Errorf("record %q does not say what its name says", name)
	}
	return b, r.ApprovedAt, nil
}
