// Package evidence binds a result to the definition that was measured: canonical
// output, digests, the EVIDENCE line and what a line in a ledger is worth.
//
// It promises digests byte-compatible with unlazy 2.1 (JavaScript's
// JSON.stringify), and that a claim is met only if its line is well formed and
// bound to the current definition. It cannot tell a forged line from a real
// one: in CI a line is a claim, never a result.
// It imports gates/ledger and internal/*; gates, approval, lint and scope import it.
package evidence

import (
	"strings"

	"github.com/gatesworn/gatesworn/gates/ledger"
)

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

// String gives the word used in messages.
func (c Claim) String() string {
	switch c {
	case Stale:
		return "stale"
	case Met:
		return "met"
	case Abandoned:
		return "abandoned"
	}
	return "unmet"
}

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

// String says the reason for people, "" for None.
func (r Reason) String() string {
	switch r {
	case Pending:
		return "no evidence yet"
	case Unbound:
		return "older, unbound evidence"
	case Other:
		return "evidence bound to another definition"
	case Malformed:
		return "evidence that is not well formed"
	case Automatic:
		return "automatic evidence on a gate without a command"
	}
	return ""
}

// Judge says what the gate's box and evidence are worth.
//
// A gate that is abandoned is that, ticked or not; one whose box is empty is
// unmet. A ticked gate with a command is met by a bound line and stale by
// anything else. A ticked manual gate is met by any words but pending; an
// automatic line names a command that it does not have.
func Judge(g ledger.Gate) Worth {
	switch {
	case g.Abandoned != "":
		return Worth{Claim: Abandoned}
	case !g.Ticked:
		return Worth{Claim: Unmet}
	case !g.Runnable():
		return judgeManual(g)
	}
	line, reason := read(g.Evidence)
	switch {
	case reason != None:
		return Worth{Claim: Stale, Reason: reason}
	case line.Definition != DefinitionDigest(g), line.Attributes != AttributesDigest(g):
		return Worth{Claim: Stale, Reason: Other, Tree: line.Tree}
	}
	return Worth{Claim: Met, Tree: line.Tree}
}

func judgeManual(g ledger.Gate) Worth {
	switch {
	case pending(g.Evidence):
		return Worth{Claim: Unmet, Reason: Pending}
	case automatic(g.Evidence), older(g.Evidence):
		return Worth{Claim: Stale, Reason: Automatic}
	}
	return Worth{Claim: Met}
}

// read parses the evidence of a ticked gate that has a command, or says why it
// binds nothing.
func read(value string) (Line, Reason) {
	switch {
	case pending(value):
		return Line{}, Pending
	case !automatic(value):
		return Line{}, Unbound
	}
	line, err := ParseLine(value)
	if err != nil {
		return Line{}, Malformed
	}
	return line, None
}

// The rules by which unlazy 2.1 tells kinds of evidence apart.
func pending(value string) bool   { return value == "" || strings.EqualFold(value, "pending") }
func automatic(value string) bool { return strings.HasPrefix(value, "automatic-evidence=") }
func older(value string) bool     { return strings.HasPrefix(value, "exit=0; shell=") }
