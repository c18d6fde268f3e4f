package markdown

import (
	"strconv"
	"strings"

	"github.com/gatesworn/gatesworn/gates"
)

// CheckRun is what a check run shows. Every field is within its limit.
type CheckRun struct {
	Title       string
	Summary     string // Markdown, at most MaxCheckText bytes
	Text        string // Markdown, at most MaxCheckText bytes
	Annotations []Annotation
}

// tailShown is how much of one gate's output a page shows at most; more is in
// the log. The last bytes are kept: that is where a failure says why.
const tailShown = 16 << 10

// Check renders the check run.
func Check(r *gates.Report, at Place) CheckRun {
	v := newView(r, at)
	return CheckRun{
		Title:       Title(r),
		Summary:     v.summary(MaxCheckText),
		Text:        v.text(MaxCheckText),
		Annotations: v.annotations(),
	}
}

func (v *view) summary(budget int) string {
	p := newPage(budget)
	v.head(p)
	if v.bootstrap() {
		v.setUp(p)
	}
	v.findings(p)
	v.table(p)
	v.ran(p)
	return p.String()
}

// table has one row per gate: what is not met first, then the rest.
func (v *view) table(p *page) {
	head := tableHead
	rows := func(items []item) {
		for i, it := range items {
			if p.full {
				p.skip(rowBytes(items[i:]))
				return
			}
			row := "| " + mark(it.State) + " | " + v.name(it) + " " + cell(shorten(it.Title, 160)) + " | " + says(it) + " | " + measured(it) + " | " + v.signedAt(it) + " |\n"
			if head != "" {
				p.block(head + row)
				head = ""
				continue
			}
			p.line(row)
		}
	}
	rows(v.open)
	rows(v.met)
}

// rowBytes is about what the rows would have taken.
func rowBytes(items []item) int {
	n := 0
	for _, it := range items {
		n += len(it.label) + len(it.Title) + 32
	}
	return n
}

func (v *view) signedAt(it item) string {
	s := v.signers(it)
	if it.Approval == nil || len(it.Approval.Issued) < 10 {
		return s
	}
	return s + ", " + cell(it.Approval.Issued[:10])
}

// ran says how the checks ran and what held.
func (v *view) ran(p *page) {
	t, e := v.r.Tool, v.r.Execution
	parts := []string{strings.TrimSpace(inline(t.Name + " " + t.Version))}
	if e.Containment != "" {
		parts = append(parts, "containment "+inline(e.Containment))
	}
	if e.Jobs > 0 {
		parts = append(parts, "jobs "+strconv.Itoa(e.Jobs))
	}
	if e.Env != "" {
		parts = append(parts, "environment "+inline(e.Env))
	}
	s := "run: " + strings.Join(parts, ", ")
	if a := v.r.Protections.Applied; len(a) > 0 {
		s += "; held: " + inline(strings.Join(a, ", "))
	}
	if m := v.r.Protections.Missing; len(m) > 0 {
		s += "; not held: " + inline(strings.Join(m, ", "))
	}
	if v.r.Level != "" {
		s += "; level: " + inline(v.r.Level)
	}
	if pt := v.r.Part; pt != nil {
		s += "; part " + strconv.Itoa(pt.I) + " of " + strconv.Itoa(pt.N)
	}
	p.block(s + "\n")
}

// text shows definitions and outputs: failed first, what passed folded.
func (v *view) text(budget int) string {
	p := newPage(budget)
	v.outputs(p)
	return p.String()
}

func (v *view) outputs(p *page) {
	for _, g := range v.groups() {
		for _, it := range g.items {
			v.output(p, it)
		}
	}
	if len(v.met) == 0 {
		return
	}
	if p.full {
		p.skip(rowBytes(v.met))
		return
	}
	p.details(plural(len(v.met), "met gate"), func() {
		var b strings.Builder
		for i, it := range v.met {
			if b.Len() > p.room() {
				p.left += rowBytes(v.met[i:])
				break
			}
			b.WriteString(it.label + "  " + shorten(oneLine(it.Title), 160) + "\n")
			if it.Check != "" {
				b.WriteString("  $ " + oneLine(shorten(it.Check, 400)) + "\n")
			}
			if it.Run != nil {
				b.WriteString("  met in " + seconds(it.Run.DurationMS) + ", " + strconv.Itoa(it.Run.OutputBytes) + " bytes of output\n")
			}
		}
		p.fence(0, "", b.String())
	})
}

// output shows one gate that is not met.
func (v *view) output(p *page, it item) {
	tail := ""
	if it.Run != nil {
		tail = it.Run.Tail
	}
	if p.full {
		p.skip(len(tail) + rowBytes([]item{it}))
		return
	}
	p.block("#### " + mark(it.State) + " " + v.name(it) + " " + inline(shorten(oneLine(it.Title), 200)) + "\n")
	p.line(v.sentence(it) + "\n")
	if def, differs := definition(it); def != "" {
		info := ""
		if differs {
			info = "diff"
		}
		p.line("\n")
		p.fence(0, info, def)
	}
	if tail == "" {
		return
	}
	if p.full {
		p.left += len(tail)
		return
	}
	cut := lastRunes(tail, tailShown)
	if n := len(tail) - len(cut); n > 0 {
		p.block("Output, without its first " + strconv.Itoa(n) + " bytes:\n")
	} else {
		p.block("Output:\n")
	}
	p.line("\n")
	p.fence(0, "", cut)
}

// sentence puts the measurement, the claim and the signature side by side.
func (v *view) sentence(it item) string {
	why, _ := split(it)
	got := measured(it)
	switch {
	case it.Run != nil && why != "":
		got = "**" + inline(shorten(why, 600)) + "**, " + seconds(it.Run.DurationMS)
	case v.bootstrap():
	case it.State == gates.Unapproved:
		got += ", " + v.word(it.State) + dash(shorten(why, 600))
	case why != "":
		got += ": " + inline(shorten(why, 600))
	}
	s := got + " · author says " + says(it)
	if by := v.signedAt(it); by != "" && it.Approval != nil {
		s += " · signed by " + by
	}
	return s
}

// definition writes a gate's definition as the ledger does; where it changed,
// the old lines behind a minus sign.
func definition(it item) (text string, differs bool) {
	var b strings.Builder
	old := gates.Was{Check: it.Check, Expect: it.Expect, CWD: it.CWD}
	if it.Was != nil {
		old = *it.Was
	}
	line := func(key, was, now string) {
		switch {
		case was == now && now == "" || key == "CWD" && was == now && now == ".":
		case was == now:
			b.WriteString("  " + key + ": " + oneLine(now) + "\n")
		default:
			differs = true
			if was != "" {
				b.WriteString("- " + key + ": " + oneLine(was) + "\n")
			}
			if now != "" {
				b.WriteString("+ " + key + ": " + oneLine(now) + "\n")
			}
		}
	}
	line("CHECK", old.Check, it.Check)
	line("EXPECT", old.Expect, it.Expect)
	line("CWD", old.CWD, it.CWD)
	return b.String(), differs
}
