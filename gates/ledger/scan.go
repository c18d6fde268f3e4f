package ledger

import (
	"fmt"
	"strings"

	"github.com/gatesworn/gatesworn/gates/expect"
)

// Limits of a ledger.
const (
	MaxSize  = 8 << 20 // bytes (unlazy)
	MaxGates = 100_000 // ours: 8 MiB of ordinary gates are about 80 000
)

const byteOrderMark = "\uFEFF"

// Parser reads ledgers with what its caller knows about the place they come
// from. The zero value knows nothing and is ready to use.
type Parser struct {
	// Top is the absolute path of the repository's top, with slashes or
	// backslashes. It only serves the corrected line of an absolute OWNS path.
	Top string
	// Pages makes reading many ledgers faster; nil is as good for one.
	Pages *Pages
}

// lineKind is how a line counts, which decides what its characters may be.
type lineKind uint8

const (
	proseLine lineKind = iota
	fencedLine
	gateLine
	attributeLine
	evidenceLine
	headerLine // OWNS and ABANDON
)

// mark is a line that counts, for the comparison with the page.
type mark struct {
	start, end, line, at int32 // a spot; at is the byte that must be visible, the box or the key
	gate                 int32 // index of the gate, -1 for OWNS and ABANDON
	kind                 lineKind
	key                  int8 // index into allKeys, -1 for none
	lost                 bool // it stands below a look-alike gate, which is an error already
}

func newMark(s spot, kind lineKind, gate, key int) mark {
	return mark{start: int32(s.start), end: int32(s.end), line: int32(s.line), at: int32(s.at), gate: int32(gate), kind: kind, key: int8(key)}
}

func (m mark) spot() spot {
	return spot{start: int(m.start), end: int(m.end), line: int(m.line), at: int(m.at)}
}

// place is where a gate's editable bytes are, as offsets.
type place struct {
	box                   int32 // the blank or x between the brackets
	evidence, evidenceEnd int32 // behind the colon, and the end of the line; 0 when missing
	insert                int32 // the line behind the gate's contiguous attributes
	indent                string
}

// openGate is what is known of the gate that is being read.
type openGate struct {
	seen       uint16        // bits by key index
	keys       [numKeys]spot // of the attributes seen
	head       spot          // the gate line
	contiguous int           // line number up to which there are only attributes
	attrs      []Attribute
	dollar     bool // it holds a dollar sign
	continued  bool // its EXPECT seems to go on over a second line
}

// scan is one reading of a ledger, line by line.
type scan struct {
	Parser
	collector
	doc    *Document
	engine *expect.Engine // of the patterns, nil until one needs it

	fence    fence
	marks    []mark
	places   []place
	needs    map[int]spot   // the NEEDS lines, by gate index
	ids      map[string]int // id to gate index
	abandons []abandon

	cur    int // index of the open gate, -1 when there is none
	open   openGate
	closed spot // what closed the last gate; line 0 when nothing did
	orphan bool // an orphan was reported since closed
	head   spot // the last heading
	past   bool // a gate line was seen, valid or not

	after     afterAttribute // what may be going on from the line before
	bullets   []misplaced    // attribute look-alikes under the open gate
	lookalike *lookalike     // a gate look-alike that may own the next CHECK
	noID      []*noted       // findings whose fix needs the next free id
	noIDText  []string
	repeats   []repeat
	lateOwns  []lateOwns
	tooMany   bool
	guards    guards
	end       int // line number of the last line that is not blank
}

func newScan(p Parser, d *Document, text string) *scan {
	gates := min(strings.Count(text, "\n- [")+1, MaxGates)
	d.Gates = make([]Gate, 0, gates)
	return &scan{
		Parser:    p,
		collector: collector{text: text, folds: map[string]*fold{}},
		doc:       d,
		cur:       -1,
		ids:       make(map[string]int, gates),
		needs:     map[int]spot{},
		places:    make([]place, 0, gates),
		marks:     make([]mark, 0, 4*gates),
	}
}

// release frees what outlives the reading otherwise.
func (p *scan) release() {
	if p.engine != nil {
		p.engine.Close()
	}
}

// run reads the whole text.
func (p *scan) run() {
	pos, no := p.byteOrderMark(), 1
	for pos < len(p.text) {
		end, next := len(p.text), len(p.text)
		if i := strings.IndexByte(p.text[pos:], '\n'); i >= 0 {
			end, next = pos+i, pos+i+1
			if end > pos && p.text[end-1] == '\r' {
				end--
			}
		}
		s := spot{start: pos, end: end, line: no, at: pos}
		p.line(s, next)
		pos = next
		no++
	}
	p.finish()
}

// byteOrderMark returns the offset behind a byte order mark. unlazy does not
// skip it, so a line that counts must not follow it: the two would disagree.
func (p *scan) byteOrderMark() int {
	if !strings.HasPrefix(p.text, byteOrderMark) {
		return 0
	}
	n := len(byteOrderMark)
	first, _, _ := strings.Cut(p.text[n:], "\n")
	first = strings.TrimSuffix(first, "\r")
	if first == "" || strings.HasPrefix(first, "# ") || strings.HasPrefix(first, "## ") {
		return n
	}
	_, fenced := opensFence(first)
	key, _, _ := attributeAt(first)
	if key != "" || fenced > 0 || strings.HasPrefix(first, "- ") || strings.HasPrefix(trimLeft(first), "ABANDON:") ||
		strings.HasPrefix(first, "OWNS:") {
		p.add(spot{start: n, end: n + len(first), line: 1, at: n}, Finding{
			Rule:    "byte-order-mark",
			Message: "a byte order mark stands right before a line that counts; save the file without it, or put a heading first",
		})
	}
	return n
}

// line dispatches one line.
func (p *scan) line(s spot, next int) {
	raw := p.text[s.start:s.end]
	kind, part := p.classify(s, raw, next)
	p.guard(s, raw, kind)
	p.formula(s, raw, kind)
	if !plain(raw) {
		p.characters(s, raw, kind, part)
	}
	if trim(raw) != "" {
		p.end = s.line
	}
}

// classify reads one line and returns how it counts and, for a line of a
// definition, the name of what it defines.
func (p *scan) classify(s spot, raw string, next int) (lineKind, string) {
	if p.fence.size > 0 {
		p.fenced(s, raw)
		return fencedLine, ""
	}
	if c, n := opensFence(raw); n > 0 {
		p.fence = fence{char: c, size: n, open: s}
		p.after = afterAttribute{}
		return proseLine, ""
	}
	after := p.after
	p.after = afterAttribute{}
	if raw == "" {
		return proseLine, ""
	}
	if title, ok := gateText(raw); ok {
		p.gate(s, raw, title, next)
		return gateLine, "a gate"
	}
	if key, indent, value := attributeAt(raw); key != "" {
		return p.attribute(s, key, indent, value, next), string(key)
	}
	switch {
	case strings.HasPrefix(raw, "ABANDON:"):
		p.abandon(s, raw)
		return headerLine, "ABANDON"
	case strings.HasPrefix(raw, "OWNS:"):
		p.owns(s, raw)
		return headerLine, "OWNS"
	case raw[0] == '#':
		p.close(s)
		p.head = s
	}
	p.prose(s, raw, after)
	if strings.HasPrefix(raw, "- ") {
		p.close(s)
	}
	return proseLine, ""
}

// fenced handles a line inside an open fence.
func (p *scan) fenced(s spot, raw string) {
	if p.fence.closedBy(raw) {
		p.fence = fence{}
		return
	}
	if !p.countsAnyway(raw) {
		return
	}
	s.at += blankPrefix(raw)
	p.marks = append(p.marks, newMark(s, fencedLine, -1, -1))
}

// countsAnyway reports a line that would count outside a fence.
func (p *scan) countsAnyway(raw string) bool {
	if raw == "" {
		return false
	}
	if _, ok := gateText(raw); ok {
		return true
	}
	key, _, _ := attributeAt(raw)
	return key != "" || strings.HasPrefix(raw, "ABANDON:") || strings.HasPrefix(raw, "OWNS:")
}

// close ends the open gate, if there is one, at a line that does so.
func (p *scan) close(s spot) {
	if p.cur >= 0 {
		p.closeGate()
	}
	p.cur, p.closed, p.orphan = -1, s, p.tooMany
}

// finish reports what only the whole file shows.
func (p *scan) finish() {
	p.close(spot{})
	if p.fence.size > 0 {
		p.add(p.fence.open, Finding{
			Rule:    "unclosed-fence",
			Message: fmt.Sprintf("this code fence is never closed; close it with %s", strings.Repeat(string(p.fence.char), p.fence.size)),
		})
	}
	p.finishRepeats()
	p.finishAbandons()
	if len(p.doc.Gates) == 0 && p.folds["orphan-attribute error"] == nil {
		p.add(spot{}, Finding{
			Rule:    "no-gates",
			Message: "there is no gate here; a gate is a line such as `- [ ] G1: what is promised`",
		})
	}
	p.finishNeeds()
	p.finishFixes()
	p.finishFrontMatter()
}
