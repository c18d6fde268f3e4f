package approval

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/gatesworn/gatesworn/gates/ledger"
)

// Limits of an oracle.
const (
	OracleVersion = 1       // implies /bin/sh, linux, 1 MiB of output and 250 ms a match unless the policy says otherwise
	MaxOracle     = 1 << 20 // bytes of the canonical form
	MaxTimeout    = 86400   // seconds, as the ledger's TIMEOUT
)

// ErrOracle is wrapped by every refusal of an oracle's bytes or values.
var ErrOracle = errors.New("not a canonical oracle")

// BoundFile is one file that INPUTS matches: its content is part of the approval.
type BoundFile struct {
	Path   string `json:"path"`   // slash separated, relative to the top
	Mode   string `json:"mode"`   // 100644 or 100755; 160000 for a submodule that INPUTS names
	SHA256 string `json:"sha256"` // lower-case hex of the blob; of the commit id's hex text for a submodule
}

// Oracle is what is approved. Field order is the canonical order; null and empty are as 3-approval says.
type Oracle struct {
	V             int         `json:"v"`
	Project       string      `json:"project"` // "" where there is no policy: only local approvals can name it
	Ledger        string      `json:"ledger"`
	Gate          string      `json:"gate"`
	Outcome       string      `json:"outcome"`
	Check         *string     `json:"check"`
	Expect        *string     `json:"expect"`
	CWD           string      `json:"cwd"`
	Timeout       *int        `json:"timeout"`
	Needs         []string    `json:"needs"`
	InputPatterns []string    `json:"inputPatterns"`
	Reads         []string    `json:"reads"`
	Writes        []string    `json:"writes"`
	Env           []string    `json:"env"`
	Inputs        []BoundFile `json:"inputs"` // nil is null: nothing is bound
}

// NewOracle builds the oracle of a gate. cwd is relative to the top, "." for the
// top; inputs are sorted by path, nil when the gate has no INPUTS. It checks
// nothing: Validate does, and an oracle that is not valid has no digest.
func NewOracle(project, ledgerPath, cwd string, g ledger.Gate, inputs []BoundFile) Oracle {
	o := Oracle{
		V: OracleVersion, Project: project, Ledger: ledgerPath, Gate: g.ID, Outcome: g.Outcome, CWD: cwd,
		Needs: list(g.Needs), InputPatterns: list(g.Inputs), Reads: list(g.Reads), Writes: list(g.Writes), Env: list(g.Env),
	}
	if g.Runnable() {
		check, expect := g.Check, g.Expect
		o.Check, o.Expect = &check, &expect
	}
	if g.Has(ledger.Timeout) || g.Timeout != 0 {
		timeout := g.Timeout
		o.Timeout = &timeout
	}
	if g.Has(ledger.Inputs) || len(g.Inputs) > 0 {
		o.Inputs = append([]BoundFile{}, inputs...)
	}
	return o
}

// list copies a list; absent and empty are the same, [].
func list(values []string) []string { return append([]string{}, values...) }

// Runnable reports whether the oracle is of a gate with a command.
func (o Oracle) Runnable() bool { return o.Check != nil }

// Canonical returns the canonical JSON bytes: keys in field order, no optional
// space, strings as RFC 8785 writes them (which is JavaScript's JSON.stringify),
// lists [] when absent. It is nil for an oracle that is not valid, so that two
// different definitions never share bytes.
func (o Oracle) Canonical() []byte {
	if o.Validate() != nil {
		return nil
	}
	return o.canonical()
}

func (o Oracle) canonical() []byte {
	w := writer{}
	w.field("{", "v").number(o.V)
	w.field(",", "project").text(o.Project)
	w.field(",", "ledger").text(o.Ledger)
	w.field(",", "gate").text(o.Gate)
	w.field(",", "outcome").text(o.Outcome)
	w.field(",", "check").optional(o.Check)
	w.field(",", "expect").optional(o.Expect)
	w.field(",", "cwd").text(o.CWD)
	w.field(",", "timeout")
	if o.Timeout == nil {
		w.WriteString("null")
	} else {
		w.number(*o.Timeout)
	}
	w.field(",", "needs").list(o.Needs)
	w.field(",", "inputPatterns").list(o.InputPatterns)
	w.field(",", "reads").list(o.Reads)
	w.field(",", "writes").list(o.Writes)
	w.field(",", "env").list(o.Env)
	w.field(",", "inputs").files(o.Inputs)
	w.WriteString("}")
	return w.Bytes()
}

// Digest returns "sha256:" and the lower-case hex of the canonical bytes, "" for
// an oracle that is not valid: an empty digest equals nothing that is approved.
func (o Oracle) Digest() string {
	c := o.Canonical()
	if c == nil {
		return ""
	}
	return Digest(c)
}

// Digest returns "sha256:" and the lower-case hex of the bytes' SHA-256.
func Digest(data []byte) string { return "sha256:" + hexDigest(data) }

func hexDigest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// ParseOracle is the strict inverse of Canonical: the bytes must be exactly what
// Canonical returns for the oracle they hold. Errors wrap ErrOracle.
func ParseOracle(data []byte) (Oracle, error) {
	if len(data) > MaxOracle {
		return Oracle{}, fmt.Errorf("%w: more than %d bytes", ErrOracle, MaxOracle)
	}
	var o Oracle
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		return Oracle{}, fmt.Errorf("%w: %v", ErrOracle, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Oracle{}, fmt.Errorf("%w: text after its end", ErrOracle)
	}
	if err := o.Validate(); err != nil {
		return Oracle{}, err
	}
	// Equality of bytes settles repeated keys, keys that differ in case, null for
	// [], other spellings of a string and numbers such as 1.0 in one comparison.
	if !bytes.Equal(o.canonical(), data) {
		return Oracle{}, fmt.Errorf("%w: its bytes are not the canonical form of what they say", ErrOracle)
	}
	return o, nil
}
