package gates

import (
	"context"

	"github.com/gatesworn/gatesworn/gates/ledger"
)

// GateRef identifies the gate a permission is asked for.
type GateRef struct {
	Name   string // qualified, as surfaces print it
	Ledger string // slash separated, relative to the top
	Abs    string // absolute path of the ledger
	Dir    string // absolute directory the check would run in, links resolved
	RelDir string // the same relative to the top, "." for the top
	Gate   ledger.Gate
}

// Permission is the answer of a Permit. The zero value refuses.
type Permission struct {
	Allowed  bool
	Reason   string // why not, for people: "new here"
	Next     string // the exact next command, or whom to ask
	Oracle   string // sha256:<hex>
	Changed  Change
	Was      *Was
	Approval *Approval
	// Manual reports that a manual gate's evidence counts (signed, or policy manual: evidence).
	Manual bool
	// Unchanged returns an error naming the first bound file that differs from
	// what was approved. It is called right before the process starts and again
	// after it ended; nil when nothing is bound.
	Unchanged func() error
}

// Permit decides whether a gate's command may run. An error means that the answer
// could not be known: the gate does not run, others do, and the run ends in status 2.
type Permit interface {
	Permit(ctx context.Context, g GateRef) (Permission, error)
}
