package scope

import (
	"fmt"
	"strings"

	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/gatesworn/gatesworn/internal/safefile"
)

// maxLedger is the size limit of a ledger, in bytes (unlazy).
const maxLedger = 8 << 20

// LeafError says that a leaf is not there or must be named.
type LeafError struct {
	Leaf string   // "" when none was named
	Have []string // the leaves of the scope, in order
}

func (e *LeafError) Error() string {
	have := strings.Join(e.Have, ", ")
	if e.Leaf == "" {
		return "the scope has several ledgers; name one with --leaf (have: " + have + ")"
	}
	return fmt.Sprintf("unknown leaf %q (have: %s)", e.Leaf, have)
}

// LedgerError says that a ledger has errors.
type LedgerError struct {
	Path     string // relative to the root
	Findings []ledger.Finding
}

func (e *LedgerError) Error() string {
	return fmt.Sprintf("%s: %d finding(s), the first: line %d: %s", e.Path, len(e.Findings), e.Findings[0].Line, e.Findings[0].Message)
}

// Owned returns a leaf's name and what its ledger's OWNS says. A leaf is the stem
// of a ledger of the scope; leaf-NAME may be called NAME; "" means the only one.
func (t Tree) Owned(scope, leaf string) (name string, globs []string, err error) {
	found, err := Discover(t.Root, Options{Scope: scope})
	if err != nil {
		return "", nil, err
	}
	l, err := pick(found.Ledgers, leaf)
	if err != nil {
		return "", nil, err
	}
	f, err := safefile.ReadBeneath(t.Root, l.Path, maxLedger)
	if err != nil {
		return "", nil, fmt.Errorf("cannot read ledger: %w", err)
	}
	doc := ledger.Parse(l.Path, f.Data)
	if !doc.OK() {
		return "", nil, &LedgerError{Path: l.Path, Findings: doc.Findings}
	}
	if len(doc.Owns) == 0 {
		return "", nil, fmt.Errorf("%s: declares no OWNS paths", l.Path)
	}
	return l.Stem(), doc.Owns, nil
}

func pick(ledgers []Ledger, leaf string) (Ledger, error) {
	var have []string
	for _, want := range []string{leaf, "leaf-" + leaf} {
		have = have[:0]
		for _, l := range ledgers {
			if l.Stem() == want || leaf == "" && len(ledgers) == 1 {
				return l, nil
			}
			have = append(have, l.Stem())
		}
	}
	return Ledger{}, &LeafError{Leaf: leaf, Have: have}
}
