package gates

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrParts is wrapped by Merge's errors: the parts are not those of one run.
var ErrParts = errors.New("the parts do not make one run")

// Merge makes one report of the parts of a sharded run, for display. The parts
// must be all there, of one tool, commit, trust root and set of ledgers, and every
// gate judged by exactly one of them; whatever else is an error, which wraps
// ErrParts. A part can make the result worse, never better: its verdict and
// conclusion are computed again, and the worse of what it says and what its gates
// say counts.
func Merge(parts []Report) (Report, error) {
	parts, err := arrange(parts)
	if err != nil {
		return Report{}, fmt.Errorf("%w: %w", ErrParts, err)
	}
	out := parts[0]
	out.Part = nil
	out.Ledgers = make([]Ledger, len(parts[0].Ledgers))
	for i, l := range parts[0].Ledgers {
		l.Gates = slices.Clone(l.Gates)
		l.Findings = slices.Clone(l.Findings)
		out.Ledgers[i] = l
	}
	for i := range out.Ledgers {
		for j := range out.Ledgers[i].Gates {
			if err := choose(&out.Ledgers[i], i, j, parts); err != nil {
				return Report{}, fmt.Errorf("%w: %w", ErrParts, err)
			}
		}
	}
	united(&out, parts)
	return worst(Evaluate(out), parts), nil
}

// arrange puts the parts in order and refuses those of different runs.
func arrange(parts []Report) ([]Report, error) {
	if len(parts) == 0 {
		return nil, errors.New("there is none")
	}
	ordered := make([]Report, len(parts))
	for _, p := range parts {
		switch {
		case p.Part == nil:
			return nil, errors.New("a report is of a whole run")
		case p.Part.N != len(parts):
			return nil, fmt.Errorf("a part of %d, but there are %d", p.Part.N, len(parts))
		case p.Part.I < 1 || p.Part.I > len(parts):
			return nil, fmt.Errorf("a part %d of %d", p.Part.I, p.Part.N)
		case ordered[p.Part.I-1].Part != nil:
			return nil, fmt.Errorf("part %d is there twice", p.Part.I)
		}
		ordered[p.Part.I-1] = p
	}
	for _, p := range ordered[1:] {
		if err := alike(ordered[0], p); err != nil {
			return nil, fmt.Errorf("parts 1 and %d: %w", p.Part.I, err)
		}
	}
	return ordered, nil
}

// alike compares what all parts of one run have in common.
func alike(a, b Report) error {
	switch {
	case a.Schema != Schema || b.Schema != Schema:
		return fmt.Errorf("a schema is not %s", Schema)
	case a.Tool != b.Tool:
		return fmt.Errorf("tools differ: %s and %s", a.Tool.Version, b.Tool.Version)
	case a.Subject != b.Subject:
		return errors.New("they judge different commits")
	case !sameTrust(a.Trust, b.Trust):
		return errors.New("they trust different roots")
	case a.Level != b.Level:
		return errors.New("levels differ")
	case len(a.Ledgers) != len(b.Ledgers):
		return errors.New("ledgers differ")
	}
	for i := range a.Ledgers {
		if err := sameLedger(a.Ledgers[i], b.Ledgers[i]); err != nil {
			return err
		}
	}
	return nil
}

func sameTrust(a, b Trust) bool {
	return a.Mode == b.Mode && a.Ref == b.Ref && a.Commit == b.Commit && slices.Equal(a.Signers, b.Signers) &&
		a.PolicySHA256 == b.PolicySHA256 && a.RootChanged == b.RootChanged && a.RootSigned == b.RootSigned && a.Governed == b.Governed
}

func sameLedger(a, b Ledger) error {
	switch {
	case a.Path != b.Path || a.Kind != b.Kind:
		return fmt.Errorf("one has ledger %s, the other %s", a.Path, b.Path)
	case a.SHA256 != b.SHA256 || len(a.Gates) != len(b.Gates) || !slices.Equal(a.Findings, b.Findings):
		return fmt.Errorf("ledger %s differs", a.Path)
	}
	for i, g := range a.Gates {
		h := b.Gates[i]
		if g.ID != h.ID || g.Name != h.Name || g.Line != h.Line || g.Title != h.Title || g.Check != h.Check ||
			g.Expect != h.Expect || g.DefinitionSHA256 != h.DefinitionSHA256 || g.Claimed != h.Claimed || (g.State == Removed) != (h.State == Removed) {
			return fmt.Errorf("gate %s of ledger %s differs", g.ID, a.Path)
		}
	}
	return nil
}

// choose takes a gate from the one part that judged it. A removed gate is
// everybody's.
func choose(l *Ledger, i, j int, parts []Report) error {
	judged := 0
	for _, p := range parts {
		g := p.Ledgers[i].Gates[j]
		if g.State == Removed {
			return nil
		}
		if !g.NotAsked {
			judged++
			l.Gates[j] = g
		}
	}
	if judged != 1 {
		return fmt.Errorf("gate %s was judged by %d parts", l.Gates[j].Name, judged)
	}
	return nil
}

// united fills in what the parts say about the run. What one lacks, all lack.
func united(out *Report, parts []Report) {
	end := out.StartedAt
	out.Notices, out.Pending, out.Handoffs = nil, nil, nil
	out.Protections = Protections{Applied: slices.Clone(parts[0].Protections.Applied), Missing: []string{}}
	for _, p := range parts {
		if p.StartedAt.Before(out.StartedAt) {
			out.StartedAt = p.StartedAt
		}
		if e := p.StartedAt.Add(time.Duration(p.DurationMS) * time.Millisecond); e.After(end) {
			end = e
		}
		out.Notices, out.Pending, out.Handoffs = add(out.Notices, p.Notices), add(out.Pending, p.Pending), add(out.Handoffs, p.Handoffs)
		out.Protections.Missing = add(out.Protections.Missing, p.Protections.Missing)
		out.Protections.Applied = slices.DeleteFunc(out.Protections.Applied, func(a string) bool { return !slices.Contains(p.Protections.Applied, a) })
		out.Execution.Containment = weaker(out.Execution.Containment, p.Execution.Containment)
		out.Execution.Jobs = max(out.Execution.Jobs, p.Execution.Jobs)
		if p.Execution.Env != "clean" {
			out.Execution.Env = p.Execution.Env
		}
	}
	out.DurationMS = end.Sub(out.StartedAt).Milliseconds()
	for i := range out.Ledgers {
		for j := range out.Ledgers[i].Gates {
			shift(&out.Ledgers[i].Gates[j], i, j, out.StartedAt, parts)
		}
	}
}

// shift makes the start of a check count from the merged run's.
func shift(g *Gate, i, j int, start time.Time, parts []Report) {
	if g.Run == nil || g.Run.Reused != nil {
		return
	}
	for _, p := range parts {
		if !p.Ledgers[i].Gates[j].NotAsked {
			run := *g.Run
			run.StartedMS += p.StartedAt.Sub(start).Milliseconds()
			g.Run = &run
			return
		}
	}
}

// add appends what is not in the list yet.
func add(list, more []string) []string {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// weaker returns the containment that promises less; one that is not known promises least.
func weaker(a, b string) string {
	strength := []string{"group", "slots", "cgroup", "uid"}
	if slices.Index(strength, a) < slices.Index(strength, b) {
		return a
	}
	return b
}

// worst lets every part spoil the result.
func worst(out Report, parts []Report) Report {
	for _, p := range parts {
		own := Evaluate(p)
		for _, said := range []Report{p, own} {
			switch said.Verdict {
			case VerdictAllMet, VerdictPartial:
			case VerdictUnmet, VerdictHandoff:
				if rank(said.Verdict) < rank(out.Verdict) {
					out.Verdict = said.Verdict
				}
			default:
				out.Verdict = VerdictError
			}
			switch {
			case said.Conclusion != Success && said.Conclusion != ActionRequired:
				out.Conclusion = Failure
			case said.Conclusion == ActionRequired && said.Verdict == VerdictAllMet && out.Conclusion == Success:
				out.Conclusion = ActionRequired // the only part: what it says of the root counts
			}
		}
	}
	switch {
	case out.Verdict == VerdictError:
		out.Conclusion = Failure
	case out.Verdict != VerdictAllMet && out.Conclusion == Success:
		out.Conclusion = ActionRequired
	}
	return out
}

// rank orders verdicts, most severe first.
func rank(v Verdict) int {
	return slices.Index([]Verdict{VerdictError, VerdictUnmet, VerdictHandoff, VerdictPartial, VerdictAllMet}, v)
}
