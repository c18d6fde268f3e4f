package ledger

import (
	"fmt"
	"strings"
)

// abandon is an ABANDON line whose id is checked when all ids are known.
type abandon struct {
	spot
	id, reason string
}

// abandon reads `^ABANDON:\s*(\S*)\s*(.*)$`.
func (p *scan) abandon(s spot, raw string) {
	p.close(s)
	p.marks = append(p.marks, newMark(s, headerLine, -1, -1))
	id, reason := cutWord(trimLeft(raw[len("ABANDON:"):]))
	id, reason = strings.TrimSuffix(id, ":"), trim(reason)
	switch {
	case id == "":
		p.add(s, Finding{Rule: "abandon-id", Message: "ABANDON needs the id of a gate and a reason: ABANDON: G4 why it cannot be met"})
	case reason == "":
		p.add(s, Finding{
			Rule: "abandon-reason", Gate: id, Message: fmt.Sprintf("ABANDON %s needs a reason", id),
			Fix: []string{fmt.Sprintf("ABANDON: %s why it cannot be met", id)},
		})
	default:
		p.abandons = append(p.abandons, abandon{spot: s, id: id, reason: reason})
	}
}

func (p *scan) finishAbandons() {
	for _, a := range p.abandons {
		i, known := p.ids[a.id]
		if !known {
			p.add(a.spot, Finding{
				Rule: "abandon-unknown", Gate: a.id,
				Message: fmt.Sprintf("ABANDON names %s, which is no gate of this file", quote(a.id)),
			})
			continue
		}
		g := &p.doc.Gates[i]
		if g.AbandonedLine > 0 {
			p.add(a.spot, Finding{
				Rule: "abandon-twice", Gate: g.ID,
				Message: fmt.Sprintf("%s is abandoned twice, first on line %d", g.ID, g.AbandonedLine),
			})
			continue
		}
		g.Abandoned, g.AbandonedLine = a.reason, a.line
	}
}

// owns reads an OWNS line.
func (p *scan) owns(s spot, raw string) {
	p.close(s)
	p.marks = append(p.marks, newMark(s, headerLine, -1, -1))
	if p.past {
		p.lateOwns = append(p.lateOwns, lateOwns{s, p.sectionStart(s)})
		return
	}
	var kept, fixed []string
	var bad, problem string
	for item := range strings.SplitSeq(raw[len("OWNS:"):], ",") {
		item = trim(item)
		if item == "" {
			continue
		}
		path, wrong := normalizeOwned(item)
		if wrong == "" {
			kept, fixed = append(kept, path), append(fixed, item)
			continue
		}
		if problem == "" {
			bad, problem = item, wrong
		}
		if inside, ok := p.beneathTop(item); ok {
			fixed = append(fixed, inside)
		} else {
			fixed = nil
			break
		}
	}
	p.doc.Owns = append(p.doc.Owns, kept...)
	switch {
	case problem != "":
		f := Finding{Rule: "owns-path", Message: problem}
		if len(fixed) > 0 {
			f.Fix = []string{"OWNS: " + strings.Join(fixed, ", ")}
		}
		s.at = s.start + strings.Index(raw, bad)
		p.add(s, f)
	case len(kept) == 0:
		p.add(s, Finding{Rule: "owns-empty", Message: "OWNS names no path; drop the line, or name the files this ledger may change"})
	}
}

// normalizeOwned is unlazy's normal form of an owned path: slashes, one leading
// ./ and the parts that are empty or a dot dropped.
func normalizeOwned(item string) (path, problem string) {
	s := strings.TrimPrefix(strings.ReplaceAll(item, `\`, "/"), "./")
	if strings.HasPrefix(s, "/") || drive.MatchString(s) {
		return "", "OWNS is relative to the repository"
	}
	if strings.IndexByte(s, 0) >= 0 {
		return "", "OWNS holds a NUL"
	}
	var parts []string
	for part := range strings.SplitSeq(s, "/") {
		switch part {
		case "", ".":
		case "..":
			return "", "OWNS cannot leave the repository with .."
		default:
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return "", "OWNS cannot claim the whole repository this way; " + "`**` says so"
	}
	return strings.Join(parts, "/"), ""
}

// beneathTop turns an absolute path into one relative to the repository's top.
func (p *scan) beneathTop(item string) (string, bool) {
	top := strings.TrimRight(strings.ReplaceAll(p.Top, `\`, "/"), "/")
	s := strings.ReplaceAll(item, `\`, "/")
	if top == "" || len(s) <= len(top) || s[len(top)] != '/' {
		return "", false
	}
	same := s[:len(top)] == top
	if drive.MatchString(top) {
		same = strings.EqualFold(s[:len(top)], top) // Windows
	}
	if !same {
		return "", false
	}
	path, problem := normalizeOwned(s[len(top)+1:])
	return path, problem == ""
}

// repeat is a gate whose id was used before.
type repeat struct {
	spot
	id           string
	first        int // line of the gate that has it
	from         int // line where its part of the file begins
	raw, outcome string
}

// lateOwns is an OWNS line behind a gate.
type lateOwns struct {
	spot
	from int
}

// finishRepeats reports ids used twice. Several of them, or one with a late
// OWNS, are a second ledger pasted into the file, and one finding; a late OWNS
// is part of it.
func (p *scan) finishRepeats() {
	if len(p.repeats) == 0 {
		p.finishOwns()
		return
	}
	r := p.repeats[0]
	if len(p.repeats) == 1 && len(p.lateOwns) == 0 {
		n := p.add(r.spot, Finding{Rule: "repeated-id", Gate: r.id, Message: fmt.Sprintf("%s is already on line %d", r.id, r.first)})
		p.laterFix(n, r.raw[:6], "", r.outcome)
		return
	}
	start := r.from
	if len(p.lateOwns) > 0 {
		start = min(start, p.lateOwns[0].from)
	}
	more := ""
	if n := len(p.repeats) - 1; n == 1 {
		more = " (and 1 more id repeats)"
	} else if n > 1 {
		more = fmt.Sprintf(" (and %d more ids repeat)", n)
	}
	p.add(r.spot, Finding{
		Rule: "repeated-id", Gate: r.id,
		Message: fmt.Sprintf("%s is already on line %d%s: lines %d–%d look like a second ledger", r.id, r.first, more, start, p.end),
		Fix:     []string{fmt.Sprintf("move lines %d–%d to gates/NAME.md", start, p.end)},
	})
	p.lateOwns = nil
}

func (p *scan) finishOwns() {
	for _, s := range p.lateOwns {
		p.add(s.spot, Finding{Rule: "owns-late", Message: "OWNS stands before the first gate; move this line to the top"})
	}
}
