package action

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/gatesworn/gatesworn/gates"
)

// Merge makes one report of the parts of a sharded run: all parts, each once, of
// one commit under one root. A single whole report is returned as it is.
func Merge(parts []gates.Report) (gates.Report, error) {
	if len(parts) == 0 {
		return gates.Report{}, errors.New("there is no report")
	}
	if len(parts) == 1 && parts[0].Part == nil {
		return parts[0], nil
	}
	seen := make([]bool, len(parts))
	for _, p := range parts {
		switch {
		case p.Part == nil:
			return gates.Report{}, errors.New("several reports are merged only if each is a part of one run")
		case p.Part.N != len(parts):
			return gates.Report{}, fmt.Errorf("the run has %d parts, but %d reports were given", p.Part.N, len(parts))
		case p.Part.I < 1 || p.Part.I > p.Part.N || seen[p.Part.I-1]:
			return gates.Report{}, fmt.Errorf("part %d of %d is given twice, or is none", p.Part.I, p.Part.N)
		case p.Subject != parts[0].Subject || !reflect.DeepEqual(p.Trust, parts[0].Trust):
			return gates.Report{}, errors.New("the reports are of different commits or roots")
		}
		seen[p.Part.I-1] = true
	}
	slices.SortFunc(parts, func(a, b gates.Report) int { return a.Part.I - b.Part.I })
	return combine(parts)
}

// combine takes every gate from the part that was asked about it.
func combine(parts []gates.Report) (gates.Report, error) {
	whole := parts[0]
	whole.Part = nil
	broken := false
	for _, p := range parts {
		broken = broken || p.Verdict == gates.VerdictError
		if len(p.Ledgers) != len(whole.Ledgers) {
			return gates.Report{}, errors.New("the reports are of different ledgers")
		}
	}
	whole.Ledgers = slices.Clone(whole.Ledgers)
	for i := range whole.Ledgers {
		l := &whole.Ledgers[i]
		l.Gates = slices.Clone(l.Gates)
		for _, p := range parts[1:] {
			other := p.Ledgers[i]
			if other.Path != l.Path || other.SHA256 != l.SHA256 || len(other.Gates) != len(l.Gates) {
				return gates.Report{}, fmt.Errorf("the reports hold different versions of %s", l.Path)
			}
			for j, g := range other.Gates {
				if g.ID != l.Gates[j].ID {
					return gates.Report{}, fmt.Errorf("the reports hold different gates of %s", l.Path)
				}
				if l.Gates[j].NotAsked || !g.NotAsked && g.State != gates.Met {
					l.Gates[j] = g
				}
			}
		}
	}
	for _, p := range parts {
		whole.DurationMS = max(whole.DurationMS, p.DurationMS)
		if p.StartedAt.Before(whole.StartedAt) {
			whole.StartedAt = p.StartedAt
		}
	}
	whole = gates.Evaluate(whole)
	if broken {
		whole.Verdict, whole.Conclusion = gates.VerdictError, gates.Failure
	}
	return whole, nil
}
