package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/gates"
)

// Wants says, a line each, what a pull request of the judged commit with these
// gates would need besides what was measured; none when nothing is missing.
func (p *PullRequest) Wants(sources []gates.Source) []string {
	if p.Root.State != approval.RootValid {
		return []string{p.Root.Ref + " has no .gatesworn/ yet: merge the set-up first"}
	}
	var sign, lines []string
	paths := make([]string, len(sources))
	for i := range sources {
		paths[i] = sources[i].Path
	}
	for i, stem := range gates.Names(paths) {
		for _, g := range sources[i].Doc.Gates {
			if g.AbandonedLine > 0 {
				continue
			}
			name := g.ID
			if len(sources) > 1 {
				name = stem + ":" + g.ID
			}
			o, d := p.Decide(gates.GateRef{Name: name, Ledger: paths[i], Gate: g})
			switch {
			case d.Allowed || d.Reason == approval.NotPinned:
			case curedBySigning(d.Reason), d.Reason == approval.Revoked && !p.revoked.Has(o.Digest()):
				sign = append(sign, name)
			default:
				lines = append(lines, fmt.Sprintf("%s %s", name, d.Text))
			}
		}
	}
	who := people(p.Root.Principals)
	if n := len(sign); n > 0 {
		lines = append([]string{fmt.Sprintf("%s also %s a signature by %s", listed(sign), plural(n, "needs", "need"), who)}, lines...)
	}
	for _, g := range p.Guard.Lost() {
		lines = append(lines, fmt.Sprintf("%s was removed: put it back, or ask %s to sign that", g.Gate.ID, who))
	}
	if p.Change.Changed() && !p.Signed {
		lines = append(lines, "the change of rules or approvals also needs a signature by "+who)
	}
	return lines
}

// curedBySigning reports a refusal that a signature can lift as things stand.
func curedBySigning(r approval.Reason) bool {
	switch r {
	case approval.NewHere, approval.Differs, approval.TooFewSigners, approval.Expired, approval.TooOld, approval.StatementRevoked,
		approval.Replaced, approval.NotYet, approval.Malformed, approval.NotHardware, approval.NoEvidence, approval.OtherEvidence, approval.OtherProject:
		return true
	}
	return false
}

func listed(names []string) string {
	if n := len(names); n > 5 {
		names = append(names[:4:4], fmt.Sprintf("%d more", n-4))
	}
	return strings.Join(names, ", ")
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// people names principals without the part after "@" where that stays unique.
func people(principals []string) string {
	count := map[string]int{}
	for _, p := range principals {
		name, _, _ := strings.Cut(p, "@")
		count[name]++
	}
	var out []string
	for _, p := range principals {
		if name, _, _ := strings.Cut(p, "@"); name != "" && count[name] == 1 {
			p = name
		}
		out = append(out, p)
	}
	slices.Sort(out)
	switch n := len(out); {
	case n == 0:
		return "nobody"
	case n == 1:
		return out[0]
	case n > 4:
		return fmt.Sprintf("%s or %d more", strings.Join(out[:3], ", "), n-3)
	default:
		return strings.Join(out[:n-1], ", ") + " or " + out[n-1]
	}
}

// AuthorsNotice names the gates that changed here and that nobody signed but the
// authors of the judged commits; "" for none. Nothing proves who wrote a commit,
// so it is a notice and decides nothing.
func (p *PullRequest) AuthorsNotice(sources []gates.Source) string {
	authors := map[string]bool{}
	for _, c := range p.commits {
		authors[strings.ToLower(c.Author.Email)] = true
		authors[strings.ToLower(c.Committer.Email)] = true
	}
	var names []string
	for _, src := range sources {
		for _, g := range src.Doc.Gates {
			ref := gates.GateRef{Ledger: src.Path, Gate: g}
			o, d := p.Decide(ref)
			if !d.Allowed && d.Reason != approval.NotPinned || len(d.By) == 0 {
				continue
			}
			if slices.ContainsFunc(d.By, func(by string) bool { return !authors[strings.ToLower(by)] }) {
				continue
			}
			var perm gates.Permission
			if p.annotate(&perm, ref, o); perm.Changed != gates.Same {
				names = append(names, g.ID)
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: signed by nobody but the authors of these commits", listed(names))
}
