package ledger

import (
	"fmt"
	"strconv"
	"strings"
)

// gateText returns the text behind the box of a gate line, `^- \[( |x|X)\] (.*)$`.
func gateText(raw string) (string, bool) {
	if len(raw) < 6 || raw[:3] != "- [" || raw[4:6] != "] " {
		return "", false
	}
	if c := raw[3]; c != ' ' && c != 'x' && c != 'X' {
		return "", false
	}
	return raw[6:], true
}

// idEnd returns the length of the id, `^(\S+?):(\s+|$)`, or -1. It may be invalid.
func idEnd(title string) int {
	for i, r := range title {
		if isBlank(r) {
			return -1
		}
		if r != ':' || i == 0 {
			continue
		}
		rest := title[i+1:]
		if rest == "" || blankPrefix(rest) > 0 {
			return i
		}
	}
	return -1
}

// validID is `^[A-Za-z0-9][A-Za-z0-9._-]*$`.
func validID(s string) bool {
	for i := 0; i < len(s); i++ {
		if !alnum(s[i]) && (i == 0 || s[i] != '.' && s[i] != '_' && s[i] != '-') {
			return false
		}
	}
	return s != ""
}

func alnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// gate reads a gate line and opens the gate, also one that is in error, so that
// the attributes below it cause no errors of their own.
func (p *scan) gate(s spot, raw, text string, next int) {
	p.close(s)
	p.past = true
	p.lookalike = nil
	if len(p.doc.Gates) >= MaxGates {
		p.manyGates(s)
		return
	}
	title := trim(text)
	s.at = s.start + 6 + blankPrefix(text)
	if title == "" {
		s.at = s.end
	}
	g := Gate{Line: s.line, Ticked: raw[3] != ' '}
	n := idEnd(title)
	if n < 0 {
		p.withoutID(s, raw, title)
		g.Outcome = title
	} else {
		g.ID, g.Outcome = title[:n], trim(title[n+1:])
		p.checkID(s, raw, g)
	}
	p.openGate(s, g, next)
}

// openGate makes g the gate that attributes belong to.
func (p *scan) openGate(s spot, g Gate, next int) {
	p.cur = len(p.doc.Gates)
	p.doc.Gates = append(p.doc.Gates, g)
	p.places = append(p.places, place{box: int32(s.start + 3), insert: int32(next)})
	p.open = openGate{head: s, contiguous: s.line, attrs: p.open.attrs[:0]}
	s.at = s.start + 2
	p.marks = append(p.marks, newMark(s, gateLine, p.cur, -1))
}

func (p *scan) manyGates(s spot) {
	p.cur = -1
	p.orphan = true // what follows is not read as attributes of anything
	if !p.tooMany {
		p.tooMany = true
		p.add(s, Finding{
			Rule:    "too-many-gates",
			Message: fmt.Sprintf("more than %d gates in one ledger; split it into gates/*.md", MaxGates),
		})
	}
}

// checkID reports a gate whose id or outcome is wrong, and remembers the id.
func (p *scan) checkID(s spot, raw string, g Gate) {
	if !validID(g.ID) {
		if id, rest, ok := unmarked(trim(raw[6:])); ok {
			p.add(s, Finding{
				Rule: "marked-id", Message: "the id is inside " + markName(raw[6:]) + " marks",
				Fix: []string{raw[:6] + id + ": " + rest},
			})
			return
		}
		n := p.add(s, Finding{
			Rule:    "invalid-id",
			Message: fmt.Sprintf("%s is not an id; an id is letters, digits, `.`, `_` and `-`, and starts with a letter or digit", quote(g.ID)),
		})
		p.laterFix(n, raw[:6], repairID(g.ID), g.Outcome)
		return
	}
	if first, ok := p.ids[g.ID]; ok {
		p.repeats = append(p.repeats, repeat{spot: s, id: g.ID, first: p.doc.Gates[first].Line, raw: raw, outcome: g.Outcome, from: p.sectionStart(s)})
	} else {
		p.ids[g.ID] = len(p.doc.Gates)
	}
	if g.Outcome == "" {
		p.add(s, Finding{
			Rule: "blank-outcome", Gate: g.ID,
			Message: g.ID + " has no outcome; say behind the colon what is true when it is met",
		})
	}
}

// sectionStart is the line where the part of the file that holds s begins: the
// heading since the last gate, else s itself.
func (p *scan) sectionStart(s spot) int {
	if n := len(p.doc.Gates); n > 0 && p.head.line > p.doc.Gates[n-1].Line {
		return p.head.line
	}
	return s.line
}

// withoutID reports a gate line that has no id.
func (p *scan) withoutID(s spot, raw, title string) {
	if id, rest, ok := unmarked(title); ok {
		p.add(s, Finding{
			Rule: "marked-id", Message: "the id is inside " + markName(title) + " marks",
			Fix: []string{raw[:6] + id + ": " + rest},
		})
		return
	}
	n := p.add(s, Finding{Rule: "no-id", Message: "this gate has no id; an id is one word and a colon"})
	if title == "" {
		return
	}
	id, rest := guessID(title)
	p.laterFix(n, raw[:6], id, rest)
}

// laterFix notes that a finding's corrected line needs an id that is free in
// the whole file.
func (p *scan) laterFix(n *noted, box, id, outcome string) {
	if n == nil || outcome == "" {
		return
	}
	p.noID = append(p.noID, n)
	p.noIDText = append(p.noIDText, box+"\x00"+id+"\x00"+outcome)
}

// guessID splits `G1 — title`, `G1. title`, `[G1] title` and the like; without a
// word that looks like an id the id is "".
func guessID(title string) (id, rest string) {
	title = strings.Replace(title, "：", ": ", 1)
	word, rest := cutWord(title)
	bare := strings.Trim(word, "[](){}.,;:|—–-*_`~")
	if !validID(bare) || !strings.ContainsAny(bare, "0123456789") || len(bare) > 32 {
		return "", title
	}
	rest = strings.TrimLeftFunc(rest, func(r rune) bool { return isBlank(r) || strings.ContainsRune("—–-:|.)", r) })
	if rest == "" {
		return "", title
	}
	return bare, rest
}

// repairID replaces what an id may not hold.
func repairID(id string) string {
	ok := strings.Map(func(r rune) rune {
		if r < 0x80 && (alnum(byte(r)) || r == '.' || r == '_' || r == '-') {
			return r
		}
		return '-'
	}, id)
	return strings.Trim(ok, "-._")
}

// unmarked reads an id inside emphasis or code marks: `**G1: title**`,
// `**G1:** title`, `**G1**: title`, also with `__`, `*`, `_`, `~~` and backticks.
func unmarked(title string) (id, rest string, ok bool) {
	n := 0
	for n < len(title) && n < 3 && title[n] == title[0] {
		n++
	}
	if n == 0 || !strings.ContainsRune("*_~`", rune(title[0])) {
		return "", "", false
	}
	open := title[:n]
	inner := title[n:]
	i := strings.Index(inner, open)
	if i < 0 {
		return "", "", false
	}
	whole := inner[:i] + inner[i+n:]
	end := idEnd(trim(whole))
	if end < 0 || !validID(trim(whole)[:end]) {
		return "", "", false
	}
	rest = trim(trim(whole)[end+1:])
	return trim(whole)[:end], rest, rest != ""
}

func markName(title string) string {
	switch trim(title)[0] {
	case '`':
		return "code"
	case '~':
		return "strikethrough"
	}
	if strings.HasPrefix(trim(title), "**") || strings.HasPrefix(trim(title), "__") {
		return "bold"
	}
	return "emphasis"
}

// finishFixes writes the corrected lines that need a free id.
func (p *scan) finishFixes() {
	if len(p.noID) == 0 {
		return
	}
	prefix, width, number := p.lastNumber()
	for i, n := range p.noID {
		parts := strings.SplitN(p.noIDText[i], "\x00", 3)
		id := parts[1]
		if _, taken := p.ids[id]; id == "" || taken {
			for {
				number++
				id = fmt.Sprintf("%s%0*d", prefix, width, number)
				if _, taken := p.ids[id]; !taken {
					break
				}
			}
		}
		p.ids[id] = -1
		n.Fix = append([]string{parts[0] + id + ": " + parts[2]}, n.after...)
	}
}

// lastNumber is the ledger's way of numbering: the prefix of its last numbered
// id, and the largest number with that prefix.
func (p *scan) lastNumber() (prefix string, width, number int) {
	prefix = "G"
	for i := len(p.doc.Gates) - 1; i >= 0; i-- {
		if head, _, ok := numbered(p.doc.Gates[i].ID); ok {
			prefix = head
			break
		}
	}
	for id := range p.ids {
		head, digits, ok := numbered(id)
		if !ok || head != prefix {
			continue
		}
		if digits[0] == '0' {
			width = max(width, len(digits))
		}
		if n, err := strconv.Atoi(digits); err == nil {
			number = max(number, n)
		}
	}
	return prefix, width, number
}

// numbered splits a valid id into what comes before its final digits, and those.
func numbered(id string) (head, digits string, ok bool) {
	i := len(id)
	for i > 0 && id[i-1] >= '0' && id[i-1] <= '9' {
		i--
	}
	return id[:i], id[i:], validID(id) && i < len(id) && len(id)-i < 10
}

// quote shows a piece of a line inside a message.
func quote(s string) string { return "`" + cutRunes(s, 60) + "`" }
