package render

import (
	"fmt"
	"strings"

	"github.com/gatesworn/gatesworn/gates"
)

// Footer is what stands under the verdict line besides the gates it names.
type Footer struct {
	PullRequest []string // what the pull request still needs; only with .gatesworn/
	Next        string   // the command that continues an interrupted run, or ""
}

// Verdict prints the verdict line and what belongs under it.
func (t *Text) Verdict(r gates.Report, f Footer) {
	t.print(func(b *strings.Builder) { t.verdict(b, r, f) })
}

func (t *Text) verdict(b *strings.Builder, r gates.Report, f Footer) {
	a, part := r.Asked()
	unmet := a.Unmet()
	switch {
	case r.Verdict == gates.VerdictAllMet:
		t.word(b, "ALL MET")
		fmt.Fprintf(b, " (%d met)\n", a.Met)
	case r.Verdict == gates.VerdictPartial:
		t.word(b, "PARTIAL")
		fmt.Fprintf(b, ": %d met of %d asked, %d in the %s\n", a.Met, a.Gates, r.Counts.Gates, plural(len(r.Ledgers), "ledger", "ledgers"))
	}
	if a.Abandoned > 0 || len(r.Handoffs) > 0 {
		t.word(b, "HANDOFF REQUIRED:")
		fmt.Fprintf(b, " %d abandoned (met: %d)\n", a.Abandoned+len(r.Handoffs), a.Met)
		b.WriteString("  " + named(append(names(r, gates.Abandoned), r.Handoffs...)) + "\n")
	}
	if unmet > 0 || len(r.Pending) > 0 {
		t.word(b, "UNMET:")
		fmt.Fprintf(b, " %d (met: %d)\n", unmet+len(r.Pending), a.Met)
		b.WriteString("  " + t.unmet(r) + "\n")
	}
	if part && r.Verdict != gates.VerdictPartial && r.Verdict != gates.VerdictError {
		fmt.Fprintf(b, "  asked for %d of %d gates\n", a.Gates, r.Counts.Gates)
	}
	t.remarks(b, r, f)
}

// remarks are the lines below the verdict, indented.
func (t *Text) remarks(b *strings.Builder, r gates.Report, f Footer) {
	if line := nothingRun(r); line != "" {
		b.WriteString("  " + line + "\n")
	}
	if line := older(r); line != "" {
		b.WriteString("  " + line + "\n")
	}
	if r.Verdict == gates.VerdictAllMet && r.Conclusion != gates.Success && t.style.AsPR {
		b.WriteString("  not green yet: " + notGreen(r) + "\n")
	}
	for _, l := range f.PullRequest {
		b.WriteString("  pull request: " + l + "\n")
	}
	if f.Next != "" {
		b.WriteString("  next: " + f.Next + "\n")
	}
}

// unmet names the gates by what is wrong with them, worst first.
func (t *Text) unmet(r gates.Report) string {
	unapproved := "not approved"
	if t.style.AsPR {
		unapproved = "not signed"
	}
	var parts []string
	left := maxNamed
	for _, s := range []struct {
		state gates.State
		word  string
	}{
		{gates.Failed, "failed"},
		{gates.Unapproved, unapproved},
		{gates.Blocked, "blocked"},
		{gates.Removed, "removed"},
		{gates.Manual, "without evidence"},
		{gates.NotRun, "not run"},
	} {
		ids := names(r, s.state)
		if len(ids) == 0 {
			continue
		}
		shown := ids[:min(len(ids), max(left, 1))]
		left -= len(shown)
		text := strings.Join(shown, ", ")
		if more := len(ids) - len(shown); more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		parts = append(parts, text+" "+s.word)
	}
	parts = append(parts, r.Pending...)
	line := strings.Join(parts, ", ")
	if n := len(names(r, gates.Unapproved)); n > 0 && !t.style.AsPR {
		line += fmt.Sprintf("; next: read %s, then gatesworn check --approve", plural(n, "the command", fmt.Sprintf("the %d commands", n)))
	}
	return line
}

func names(r gates.Report, s gates.State) []string {
	var out []string
	for _, l := range r.Ledgers {
		for _, g := range l.Gates {
			if g.State == s && !g.NotAsked {
				out = append(out, g.Name)
			}
		}
	}
	return out
}

func named(ids []string) string {
	if len(ids) > maxNamed {
		return strings.Join(ids[:maxNamed], ", ") + fmt.Sprintf(" and %d more", len(ids)-maxNamed)
	}
	return strings.Join(ids, ", ")
}

// nothingRun tells a verdict that rests on recorded evidence alone.
func nothingRun(r gates.Report) string {
	recorded, earlier := 0, false
	for _, l := range r.Ledgers {
		for _, g := range l.Gates {
			if g.Run != nil {
				return ""
			}
			if g.State == gates.Met && g.Check != "" && !g.NotAsked {
				recorded++
				earlier = earlier || g.EarlierTree
			}
		}
	}
	if recorded == 0 || r.Verdict != gates.VerdictAllMet && r.Verdict != gates.VerdictPartial {
		return ""
	}
	where := ""
	if earlier {
		where = ", on another tree"
	}
	return fmt.Sprintf("nothing was run: %d recorded%s; next: gatesworn check --reverify", recorded, where)
}

// older is the one line for all gates that an older checker ticked (9-surfaces, B9 row 10).
func older(r gates.Report) string {
	n := 0
	for _, l := range r.Ledgers {
		for _, g := range l.Gates {
			if g.OlderEvidence && g.State != gates.Met && g.Run == nil && !g.NotAsked {
				n++
			}
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d %s ticked with evidence from an older checker, which names no command. Nothing is wrong; it proves less. next: gatesworn check",
		n, plural(n, "gate is", "gates are"))
}

func notGreen(r gates.Report) string {
	switch {
	case r.Trust.RootChanged && !r.Trust.RootSigned:
		return "this changes .gatesworn/ itself, which the signers of " + r.Trust.Ref + " have not signed"
	case !r.Trust.Governed:
		return "the base " + r.Subject.Base + " is not a branch that the policy governs"
	default:
		return "see the notices above"
	}
}
