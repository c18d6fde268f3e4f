package gates

import (
	"strings"

	"github.com/gatesworn/gatesworn/gates/ledger"
)

// Evaluate fills in counts, verdict and conclusion from the states of the gates.
// It is pure, and everything it does not know refuses: a state outside the list
// counts as not run, no gates at all is an error.
func Evaluate(r Report) Report {
	r.Counts = count(r.Ledgers)
	r.Verdict = verdict(r)
	r.Conclusion = conclusion(r)
	return r
}

func count(ledgers []Ledger) Counts {
	var c Counts
	for _, l := range ledgers {
		for _, g := range l.Gates {
			c.Gates++
			switch g.State {
			case Met:
				c.Met++
			case Failed:
				c.Failed++
			case Unapproved:
				c.Unapproved++
			case Blocked:
				c.Blocked++
			case Manual:
				c.Manual++
			case Abandoned:
				c.Abandoned++
			case Removed:
				c.Removed++
			default:
				c.NotRun++
			}
		}
	}
	return c
}

// Unmet is the number of gates that are neither met nor abandoned.
func (c Counts) Unmet() int { return c.Gates - c.Met - c.Abandoned }

// asked counts the gates this run was asked about; removed ones always count.
func asked(ledgers []Ledger) Counts {
	kept := make([]Ledger, len(ledgers))
	for i, l := range ledgers {
		for _, g := range l.Gates {
			if !g.NotAsked {
				kept[i].Gates = append(kept[i].Gates, g)
			}
		}
	}
	return count(kept)
}

// Asked returns the counts of the gates that were asked about and whether that is fewer than all.
func (r Report) Asked() (Counts, bool) {
	a := asked(r.Ledgers)
	return a, a.Gates < r.Counts.Gates
}

func verdict(r Report) Verdict {
	a, part := r.Asked()
	switch {
	case broken(r.Ledgers), a.Gates == 0:
		return VerdictError
	case a.Unmet() > 0 || len(r.Pending) > 0:
		return VerdictUnmet
	case a.Abandoned > 0 || len(r.Handoffs) > 0:
		return VerdictHandoff
	case part:
		return VerdictPartial
	default:
		return VerdictAllMet
	}
}

func broken(ledgers []Ledger) bool {
	for _, l := range ledgers {
		for _, f := range l.Findings {
			if f.Level == ledger.Error.String() {
				return true
			}
		}
	}
	return false
}

// conclusion is success only if there is a gate, every gate is met, and, in a
// pull request, the trust root and the base allow it (1-product, 3-approval).
func conclusion(r Report) Conclusion {
	c := r.Counts
	switch {
	case r.Verdict == VerdictError, r.Verdict == "", c.Failed+c.Blocked+c.Removed > 0:
		return Failure
	case r.Verdict != VerdictAllMet || c.Gates == 0 || c.Met != c.Gates:
		return ActionRequired
	case r.Trust.Mode == TrustAllowlist && (!r.Trust.Governed || r.Trust.RootChanged && !r.Trust.RootSigned):
		return ActionRequired
	case r.Trust.Mode == TrustAllowlist, r.Trust.Mode == TrustLocal, r.Trust.Mode == TrustPinned:
		return Success
	default:
		return ActionRequired
	}
}

// ExitCode maps a report to the exit status: 0 all that was asked is met, 1 it
// is not, 2 it cannot be known. For a pull request the conclusion decides.
func ExitCode(r Report) int {
	switch r.Verdict {
	case VerdictAllMet, VerdictPartial:
		if r.Trust.Mode == TrustAllowlist && r.Verdict == VerdictAllMet && r.Conclusion != Success {
			return 1
		}
		return 0
	case VerdictUnmet, VerdictHandoff:
		return 1
	default:
		return 2
	}
}

func reportFinding(f ledger.Finding) Finding {
	return Finding{
		Line: f.Line, Column: f.Column, Level: f.Level.String(), Message: f.Message,
		Source: f.Source, Fix: strings.Join(f.Fix, "\n"),
	}
}
