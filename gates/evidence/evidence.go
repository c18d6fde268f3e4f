// Package evidence binds a result to the definition that was measured: canonical
// output, digests, the EVIDENCE line and what a line in a ledger is worth.
//
// It promises digests byte-compatible with unlazy 2.1 (JavaScript's
// JSON.stringify), and that a claim is met only if its line is well formed and
// bound to the current definition. It cannot tell a forged line from a real
// one: in CI a line is a claim, never a result.
// It imports gates/ledger and internal/*; gates, approval, lint and scope import it.
package evidence

import "github.com/gatesworn/gatesworn/gates/ledger"

// Limits, in UTF-16 units and bytes.
const (
	MaxLine   = 900
	MaxOutput = 1 << 20
)

// Claim is what a gate's box and evidence say. The zero value, Unmet, refuses.
type Claim int

const (
	Unmet Claim = iota
	Stale
	Met
	Abandoned
)

// Worth explains a claim: why it is stale, or that its line is of an older kind.
type Worth struct {
	Claim  Claim
	Reason Reason
	Tree   string // hash in the evidence, "" if none
}

// Reason says what is wrong with a ticked gate's evidence.
type Reason int

const (
	None      Reason = iota
	Pending          // empty or pending
	Unbound          // from an older checker, or prose: names no command
	Other            // bound to another definition or other attributes
	Malformed        // looks automatic and is not well formed
	Automatic        // a manual gate that carries an automatic line
)

// DefinitionDigest is unlazy's digest of a runnable gate: lower-case hex, "" for a manual gate.
func DefinitionDigest(g ledger.Gate) string { return "" }

// AttributesDigest covers NEEDS, INPUTS, TIMEOUT, ENV (10-fine-print), "" when none is present.
func AttributesDigest(g ledger.Gate) string { return "" }

// Canonical joins the streams as the expectation sees them. ok is false beyond MaxOutput.
func Canonical(stdout, stderr []byte) (text string, ok bool) { return "", false }

// Run is what an evidence line records of a passed run.
type Run struct {
	Output string // canonical
	Shell  string // absolute path
	Dir    string // absolute path
	Path   string // value of PATH
	Tree   string // HEAD^{tree} when clean, else ""
}

// Format renders the value of an EVIDENCE line for a gate that passed. The
// error is for a shell path over 300 characters.
func Format(g ledger.Gate, r Run) (string, error) { return "", nil }

// Judge says what the gate's box and evidence are worth.
func Judge(g ledger.Gate) Worth { return Worth{} }
