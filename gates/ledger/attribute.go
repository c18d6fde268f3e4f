package ledger

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatesworn/gatesworn/gates/expect"

	"github.com/gatesworn/gatesworn/internal/lazyregexp"
)

// allKeys are the attributes in the order of their bits in place.seen.
var allKeys = [...]Key{Check, Expect, CWD, Evidence, Needs, Inputs, Depends, Reads, Writes, Timeout, Env}

const numKeys = len(allKeys)

// keyIndex returns a key's place in allKeys, -1 for a word that is none.
func keyIndex(word string) int {
	for i, k := range allKeys {
		if string(k) == word {
			return i
		}
	}
	return -1
}

// core reports the attributes that unlazy knows.
func (k Key) core() bool { return k == Check || k == Expect || k == CWD || k == Evidence }

// attributeAt reads `^(\s*)(KEY):\s?(.*)$`. The value is trimmed. An empty
// indent is an attribute at column 1, which is an error.
func attributeAt(raw string) (key Key, indent, value string) {
	n := 0
	if c := raw[0]; c == ' ' || c == '\t' || c >= 0x80 || c < ' ' {
		n = blankPrefix(raw)
	}
	rest := raw[n:]
	if rest == "" || rest[0] < 'A' || rest[0] > 'Z' {
		return "", "", ""
	}
	colon := strings.IndexByte(rest[:min(len(rest), 9)], ':')
	if colon < 0 {
		return "", "", ""
	}
	i := keyIndex(rest[:colon])
	if i < 0 {
		return "", "", ""
	}
	return allKeys[i], raw[:n], trim(rest[colon+1:])
}

// attribute handles an attribute line.
func (p *scan) attribute(s spot, key Key, indent, value string, next int) lineKind {
	s.at = s.start + len(indent)
	kind := attributeLine
	if key == Evidence {
		kind = evidenceLine
	}
	if p.lookalike != nil && (key == Check || key == Expect) {
		p.lookalike.worse(p, key)
	}
	if p.cur < 0 {
		p.orphaned(s, key, indent, value)
		return kind
	}
	if indent == "" {
		p.add(s, Finding{
			Rule: "column-1", Gate: p.curID(),
			Message: fmt.Sprintf("%s must be indented under its gate", key),
			Fix:     []string{"  " + p.text[s.start:s.end]},
		})
	}
	bit := keyIndex(string(key))
	if p.open.seen&(1<<bit) != 0 {
		p.add(s, Finding{
			Rule: "repeated-attribute", Gate: p.curID(),
			Message: fmt.Sprintf("%s is given twice, first on line %d", key, p.open.keys[bit].line),
		})
		return kind
	}
	p.open.seen |= 1 << bit
	p.open.keys[bit] = s
	pl := &p.places[p.cur]
	if p.open.contiguous+1 == s.line {
		p.open.contiguous, pl.insert = s.line, int32(next)
		if indent != "" {
			pl.indent = indent
		}
	}
	if key == Evidence {
		pl.evidence, pl.evidenceEnd = int32(s.at+len("EVIDENCE:")), int32(s.end)
	}
	p.open.attrs = append(p.open.attrs, Attribute{Key: key, Value: value, Line: s.line})
	m := newMark(s, attributeLine, p.cur, bit)
	m.lost = p.lookalike != nil
	p.marks = append(p.marks, m)
	p.store(s, key, value)
	p.after = afterAttribute{key: key, value: value, spot: s, indent: indent, line: s.line}
	return kind
}

// store puts a value where it belongs and checks it.
func (p *scan) store(s spot, key Key, value string) {
	g := &p.doc.Gates[p.cur]
	switch key {
	case Check:
		g.Check = value
	case Expect:
		g.Expect = value
		p.checkExpect(s, g)
	case CWD:
		g.CWD = value
		if value == "" {
			p.add(s, Finding{Rule: "blank-cwd", Level: Warning, Gate: g.ID, Message: "CWD is blank and changes nothing"})
		}
	case Evidence:
		g.Evidence = value
	default:
		p.storeOptional(s, key, value, g)
	}
}

func (p *scan) curID() string { return p.doc.Gates[p.cur].ID }

// orphaned reports an attribute that belongs to no gate, once for the run of
// attributes behind the line that closed the gate.
func (p *scan) orphaned(s spot, key Key, indent, value string) {
	if p.orphan {
		return
	}
	p.orphan = true
	f := Finding{Rule: "orphan-attribute", Message: fmt.Sprintf("%s belongs to no gate", key)}
	if !key.core() && !p.past {
		f.Level = Warning // before the first gate it may be prose
	}
	switch {
	case p.closed.line > 0 && p.closed.line > p.head.line:
		f.Message += fmt.Sprintf(": line %d (%s) ends the gate above it; move %s above that line, or indent that line",
			p.closed.line, quote(trim(p.text[p.closed.start:p.closed.end])), key)
	case p.head.line > 0:
		title := trim(strings.TrimLeft(p.text[p.head.start:p.head.end], "#"))
		f.Message = fmt.Sprintf("no gate above: the heading on line %d is not one", p.head.line)
		if title != "" && f.Level == Error {
			n := p.add(s, f)
			id, rest := headingID(title)
			p.laterFix(n, "- [ ] ", id, rest)
			if n != nil {
				n.after = []string{"  " + p.text[s.at:s.end]}
			}
			return
		}
	default:
		f.Message += "; a gate is a line such as `- [ ] G1: what is promised` above it"
	}
	p.add(s, f)
}

// headingID splits a heading's text as a gate's title.
func headingID(title string) (id, rest string) {
	if n := idEnd(title); n > 0 && validID(title[:n]) && trim(title[n+1:]) != "" {
		return title[:n], trim(title[n+1:])
	}
	return guessID(title)
}

// closeGate checks what a gate's attributes say together.
func (p *scan) closeGate() {
	g := &p.doc.Gates[p.cur]
	g.Attributes = slices.Clone(p.open.attrs)
	if p.has(Needs) {
		p.needs[p.cur] = p.keySpot(Needs)
	}
	covered := p.finishBullets(g)
	p.lookalike = nil
	hasCheck, hasExpect := p.has(Check), p.has(Expect)
	if hasCheck && g.Check == "" {
		p.blank(g, Check, "drop it for a manual gate, or give the command")
	}
	if hasExpect && g.Expect == "" {
		p.blank(g, Expect, "say what success prints, or /^/ if exit status 0 is enough")
	}
	if covered {
		return
	}
	switch {
	case hasCheck && !hasExpect && g.Check != "":
		s := p.keySpot(Check)
		p.add(s, Finding{
			Rule: "no-expect", Gate: g.ID,
			Message: name(g) + " has CHECK but no EXPECT; say what success prints, or /^/ if exit status 0 is enough",
			Fix:     []string{p.indentOf(s) + "EXPECT: /^/"},
		})
	case hasExpect && !hasCheck && g.Expect != "":
		p.add(p.keySpot(Expect), Finding{
			Rule: "no-check", Gate: g.ID,
			Message: name(g) + " has EXPECT but no CHECK; give the command that prints it, or drop EXPECT for a manual gate",
		})
	case g.Runnable():
		p.checkNumber(g)
		p.checkCanFail(g)
	case !hasCheck && !hasExpect:
		p.checkManual(g)
	}
}

func (p *scan) blank(g *Gate, key Key, cure string) {
	p.add(p.keySpot(key), Finding{
		Rule: "blank-" + strings.ToLower(string(key)), Gate: g.ID,
		Message: fmt.Sprintf("%s of %s is blank; %s", key, name(g), cure),
	})
}

// name is how messages call a gate.
func name(g *Gate) string {
	if g.ID == "" {
		return "this gate"
	}
	return g.ID
}

func (p *scan) has(k Key) bool { return p.open.seen&(1<<keyIndex(string(k))) != 0 }

func (p *scan) keySpot(k Key) spot { return p.open.keys[keyIndex(string(k))] }

func (p *scan) indentOf(s spot) string {
	if s.at > s.start {
		return p.text[s.start:s.at]
	}
	return "  "
}

var (
	bareNumber = lazyregexp.New(`^[0-9]+$`)
	innerSlash = lazyregexp.New(`(^|[^\\])/`) // unlazy's test, on the pattern's source
)

// checkExpect checks an EXPECT value by itself.
func (p *scan) checkExpect(s spot, g *Gate) {
	if g.Expect == "" {
		return
	}
	x := expect.Parse(g.Expect)
	if !x.Pattern {
		return
	}
	if err := p.validate(g.Expect); err != nil {
		p.add(s, Finding{
			Rule: "invalid-expect", Gate: g.ID,
			Message: fmt.Sprintf("EXPECT of %s cannot be used: %s", name(g), err),
		})
		return
	}
	if innerSlash.MatchString(x.Text) {
		p.add(s, Finding{
			Rule: "slash-pattern", Level: Warning, Gate: g.ID,
			Message: "EXPECT between slashes is a pattern, its dots are wildcards; escape the inner slashes to keep the pattern, or drop the outer ones for a plain text",
			Fix:     []string{p.indentOf(s) + "EXPECT: /" + escapeSlashes(x.Text) + "/" + x.Flags},
		})
	}
}

// validate asks the one engine of this reading, which starts with the first
// pattern that needs it.
func (p *scan) validate(value string) error {
	if p.engine == nil {
		p.engine = expect.New()
	}
	return p.engine.Validate(value)
}

// escapeSlashes puts a backslash before each slash that has none.
func escapeSlashes(source string) string {
	var b strings.Builder
	escaped := false
	for i := 0; i < len(source); i++ {
		c := source[i]
		if c == '/' && !escaped {
			b.WriteByte('\\')
		}
		escaped = c == '\\' && !escaped
		b.WriteByte(c)
	}
	return b.String()
}

func alsoMatches(n string) string {
	if len(n) > 12 {
		return "longer numbers"
	}
	if n[0] == '0' {
		return "1" + n + " and 2" + n
	}
	return n + "0 and 2" + n
}

var (
	pendingText = lazyregexp.New(`(?i)^pending\s*[^\sa-z0-9]`)
	orEcho      = lazyregexp.New(`\|\|\s*(?:echo|printf)\s+(["']?)([^"'|&;<>$` + "`" + `]*)(["']?)\s*$`)
	orTrue      = lazyregexp.New(`\|\|\s*(?:true|:|exit 0)\s*$`)
)

// checkNumber warns of a bare number, which is a substring of many others.
func (p *scan) checkNumber(g *Gate) {
	if p.open.continued || !bareNumber.MatchString(g.Expect) {
		return
	}
	s := p.keySpot(Expect)
	p.add(s, Finding{
		Rule: "bare-number", Level: Warning, Gate: g.ID,
		Message: fmt.Sprintf("EXPECT: %s also matches %s; a pattern says exactly that line", cutRunes(g.Expect, 20), alsoMatches(g.Expect)),
		Fix:     []string{p.indentOf(s) + "EXPECT: /^" + g.Expect + "$/m"},
	})
}

// checkCanFail warns of a command whose fallback prints what EXPECT wants.
func (p *scan) checkCanFail(g *Gate) {
	x := expect.Parse(g.Expect)
	all := x.Pattern && (x.Text == "" || x.Text == "^" || x.Text == "$" || x.Text == ".*")
	loc := orEcho.FindStringSubmatchIndex(g.Check)
	switch {
	case loc != nil:
		said := g.Check[loc[4]:loc[5]]
		if !all && (x.Pattern || !strings.Contains(said, g.Expect)) {
			return
		}
	case orTrue.MatchString(g.Check) && all:
		loc = orTrue.FindStringIndex(g.Check)
	default:
		return
	}
	s := p.keySpot(Check)
	fix := trim(g.Check[:loc[0]])
	f := Finding{
		Rule: "cannot-fail", Level: Warning, Gate: g.ID,
		Message: fmt.Sprintf("this check cannot fail; drop `%s`", cutRunes(g.Check[loc[0]:], 60)),
	}
	if fix != "" {
		f.Fix = []string{p.indentOf(s) + "CHECK: " + fix}
	}
	p.add(s, f)
}

// checkManual warns of a ticked manual gate whose evidence still waits.
func (p *scan) checkManual(g *Gate) {
	if g.Ticked && pendingText.MatchString(g.Evidence) {
		p.add(p.keySpot(Evidence), Finding{
			Rule: "ticked-pending", Level: Warning, Gate: g.ID,
			Message: "ticked, but the evidence says pending; untick it, or say what was seen",
		})
	}
	p.checkInTitle(g)
}

var titleCheck = lazyregexp.New(`(^|[^A-Za-z0-9_])CHECK:`)

// checkInTitle warns of a command inside the title, which never runs.
func (p *scan) checkInTitle(g *Gate) {
	loc := titleCheck.FindStringIndex(g.Outcome)
	if loc == nil {
		return
	}
	m := p.open.head
	m.at = m.start + 6
	clean := func(s string) string { return strings.Trim(trim(s), "`—–- ;,") }
	title := strings.TrimRight(trim(strings.TrimSuffix(g.Outcome[:loc[1]], "CHECK:")), " —–-;,(`*")
	rest := g.Outcome[loc[1]:]
	if strings.HasSuffix(trimRight(strings.TrimSuffix(g.Outcome[:loc[1]], "CHECK:")), "(") {
		rest = strings.TrimSuffix(rest, ")")
	}
	command, want, found := strings.Cut(rest, "EXPECT:")
	if !found {
		want = "/^/"
	}
	p.add(m, Finding{
		Rule: "check-in-title", Level: Warning, Gate: g.ID,
		Message: fmt.Sprintf("CHECK inside the title never runs; %s counts as a manual gate", name(g)),
		Fix:     []string{p.text[m.start:m.start+6] + g.ID + ": " + title, "  CHECK: " + clean(command), "  EXPECT: " + clean(want)},
	})
}
