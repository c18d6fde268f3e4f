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

// key is what a record is found by: its own digest, and two short prefixes by
// which records of the same gate, and of the same oracle elsewhere, are found
// without reading all of them.
type key struct{ place, kin, id string }

func (b Binding) key() key {
	digest := b.Oracle.Digest()
	return key{place: short(b.Ledger + "\x00" + b.Oracle.Gate), kin: short(digest), id: b.id(digest)}
}

func (k key) name() string { return k.place + "-" + k.kin + "-" + k.id + suffix }

// id is the digest of everything bound. Each text is preceded by its length, so
// that no two bindings have the same bytes, whatever bytes a path holds.
func (b Binding) id(digest string) string {
	h := sha256.New()
	for _, s := range []string{
		"gatesworn.local-approval", strconv.Itoa(Version), b.Ledger, b.Oracle.Gate, digest,
		b.Shell, b.Dir, strconv.Itoa(b.Timeout), b.Platform, b.Path,
	} {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func short(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:6])
}

const suffix = ".json"

// bytes is the one form of a record.
func (b Binding) bytes(at time.Time) ([]byte, error) {
	canonical := b.Oracle.Canonical()
	r := record{
		V: Version, Ledger: b.Ledger, Gate: b.Oracle.Gate, Oracle: canonical, Digest: approval.Digest(canonical),
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

// date reads the only thing of a record that the binding does not determine:
// when it was approved. Every other byte must be what Put writes.
func (b Binding) date(data []byte) (time.Time, bool) {
	want, err := b.bytes(time.Time{})
	const never = `"0001-01-01T00:00:00Z"` + "\n}\n"
	if err != nil || !bytes.HasSuffix(want, []byte(never)) || len(data) != len(want) {
		return time.Time{}, false
	}
	start := len(want) - len(never)
	if !bytes.Equal(data[:start], want[:start]) || !bytes.HasSuffix(data, []byte("\"\n}\n")) {
		return time.Time{}, false
	}
	text := string(data[start : len(data)-len("\n}\n")])
	at, err := time.Parse(`"`+time.RFC3339+`"`, text)
	return at, err == nil && !at.IsZero() && at.UTC().Format(`"`+time.RFC3339+`"`) == text
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
	if r.V != Version || r.Gate != o.Gate || r.Digest != o.Digest() || r.ApprovedAt.IsZero() || b.valid() != nil || b.key().name() != name {
		return Binding{}, time.Time{}, fmt.Errorf("record %q does not say what its name says", name)
	}
	return b, r.ApprovedAt, nil
}
