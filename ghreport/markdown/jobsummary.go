package markdown

import (
	"slices"
	"strconv"
	"strings"

	"github.com/gatesworn/gatesworn/gates"
)

// timelineRows bounds the timeline: a diagram with more bars than a screen has
// lines shows nothing. The longest runs are kept.
const timelineRows = 60

// timelineMarks is what fold and fence take around the diagram, or a little more.
const timelineMarks = 96

// JobSummary renders the step's summary in at most budget bytes: the comment, then
// every gate, the outputs, a folded timeline and the remarks.
func JobSummary(r *gates.Report, at Place, budget int) string {
	v := newView(r, at)
	last := v.remarks()
	p := newPage(budget - len(last))
	v.body(p)
	if v.total > 0 && !v.bootstrap() {
		if !p.full {
			p.details(plural(v.total, "gate")+" with time, signer and date", func() { v.table(p) })
		}
		v.ran(p)
		v.outputs(p)
		v.timeline(p)
	}
	s := p.String()
	if last != "" && len(s)+len(last) <= budget {
		s += last
	}
	return s
}

// remarks come last and are kept whatever is cut.
func (v *view) remarks() string {
	var b strings.Builder
	for _, m := range v.at.Remarks {
		b.WriteString("\n" + inline(shorten(m, 500)) + "\n")
	}
	return b.String()
}

// timeline draws when each gate ran, folded. A task is named by its id, which the
// id grammar keeps free of the diagram's own marks.
func (v *view) timeline(p *page) {
	var ran []item
	for _, it := range append(append([]item(nil), v.open...), v.met...) {
		if it.Run != nil && it.Run.Reused == nil {
			ran = append(ran, it)
		}
	}
	if len(ran) < 2 || p.full {
		return
	}
	slices.SortStableFunc(ran, func(a, b item) int { return int(b.Run.DurationMS - a.Run.DurationMS) })
	total := len(ran)
	ran = ran[:min(len(ran), timelineRows)]
	slices.SortStableFunc(ran, func(a, b item) int { return int(a.Run.StartedMS - b.Run.StartedMS) })
	var b strings.Builder
	b.WriteString("gantt\n  dateFormat x\n  axisFormat %M:%S.%L\n  section gates\n")
	for _, it := range ran {
		kind := "done"
		if it.State != gates.Met {
			kind = "crit"
		}
		from := max(it.Run.StartedMS, 0)
		to := from + max(it.Run.DurationMS, 1)
		b.WriteString("  " + taskName(it.label) + " :" + kind + ", " + strconv.FormatInt(from, 10) + ", " + strconv.FormatInt(to, 10) + "\n")
	}
	summary := "Timeline"
	if total > len(ran) {
		summary += " of the " + strconv.Itoa(len(ran)) + " longest of " + strconv.Itoa(total) + " runs"
	}
	if b.Len()+len(summary)+timelineMarks > p.room() {
		p.skip(b.Len()) // half a diagram is none
		return
	}
	p.details(summary, func() { p.line("~~~mermaid\n" + b.String() + "~~~\n") })
}

// taskName keeps what cannot end a task's name in a gantt diagram.
func taskName(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-', r == ' ':
			return r
		}
		return '-'
	}, s)
}
