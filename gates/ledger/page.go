package ledger

import (
	"bytes"
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/gatesworn/gatesworn/internal/lazyregexp"
)

// comparePage checks that every line that counts is shown by GitHub as what it
// is. The layout works on its own data, so that it can be left behind when ctx
// is done first.
func (p *scan) comparePage(ctx context.Context, data []byte) {
	if len(p.marks) == 0 || p.guards.refused || p.tooMany || p.ambiguousLines() {
		return
	}
	l := &layout{ctx: ctx, pages: p.Pages, source: pageSource(data), marks: p.marks, step: partSize}
	done := make(chan any, 1)
	go func() {
		defer func() { done <- recover() }()
		l.blocks()
		l.inlines()
	}()
	var failed any
	select {
	case failed = <-done:
	case <-ctx.Done():
		failed = stopped{}
	}
	if failed != nil {
		p.unfinished(failed)
		return
	}
	p.judgeSeats(l)
	p.judgeTags(l.tags)
	for _, r := range l.remarks {
		p.report(r)
	}
}

func (p *scan) unfinished(cause any) {
	message := "reading this file as a page took too long; make it plainer or smaller"
	if _, ok := cause.(stopped); !ok {
		message = fmt.Sprintf("this file cannot be read as a page (%s); please report it", cutRunes(fmt.Sprint(cause), 200))
	}
	p.add(spot{}, Finding{Rule: "page", Message: message})
}

// ambiguousLines reports findings after which nobody agrees where lines are.
func (p *scan) ambiguousLines() bool {
	for _, rule := range [...]string{"nul", "carriage-return", "line-separator"} {
		if p.folds[rule+" error"] != nil {
			return true
		}
	}
	return false
}

// judgeSeats reports the marks that are not shown where they should be.
func (p *scan) judgeSeats(l *layout) {
	gate := -1 // index into marks of the gate above
	sound := false
	for i, m := range p.marks {
		st := l.seats[i]
		switch m.kind {
		case fencedLine:
			if st.as != asFenced && st.as != asCode {
				p.add(m.spot(), Finding{Rule: "hidden", Message: "this line counts as fenced code here and not on the page; close the fence, or put a blank line before it"})
			}
		case headerLine:
			if st.as != asText {
				p.hidden(m, st, l)
			}
		case gateLine:
			gate = i
			sound = st.as == asText && st.first
			if !sound {
				p.hidden(m, st, l)
			}
		case attributeLine:
			if gate >= 0 && !m.lost && (st.as != asText || st.item != l.seats[gate].item || st.item == 0) {
				if sound || st.as != l.seats[gate].as {
					p.hidden(m, st, l)
				}
			}
		}
	}
	for _, at := range l.long {
		i := sort.Search(len(p.marks), func(i int) bool { return int(p.marks[i].at) >= at })
		if i < len(p.marks) {
			p.add(p.marks[i].spot(), Finding{
				Rule: "long-paragraph", Gate: p.markGate(p.marks[i]),
				Message: fmt.Sprintf("this paragraph is over %d bytes and holds <, [ or ]: put blank lines between its parts", maxPiece),
			})
		}
	}
}

// hidden says how a line is shown instead, and what helps.
func (p *scan) hidden(m mark, st seat, l *layout) {
	f := Finding{Rule: "hidden", Gate: p.markGate(m)}
	if p.full(f.Rule, f.Level) {
		p.add(m.spot(), f)
		return
	}
	what := "this gate"
	if m.kind != gateLine {
		what, _, _ = strings.Cut(p.text[m.at:m.end], ":")
	}
	from := 1 + strings.Count(p.text[:st.from], "\n")
	raw := p.text[m.start:m.end]
	switch st.as {
	case asCode:
		f.Message = "GitHub shows this as code, not as an attribute; indent by 2"
		f.Fix = []string{"  " + trim(raw)}
	case asFenced:
		f.Message = fmt.Sprintf("GitHub shows this inside the code block that starts on line %d; indent its fence by at most 3, or move %s out of it", from, what)
	case asHTML:
		f.Message = p.htmlCure(st, l.source, from, what)
	case asHeading:
		f.Message = "the line below turns this paragraph into a heading; put a blank line between them"
	case asTable:
		f.Message = "GitHub shows this as a table row; put a blank line before the table"
	case asQuote:
		f.Message = fmt.Sprintf("%s is inside the quote on line %d; put a blank line behind the quote, or move %s above it", what, from, what)
	case asFootnote:
		f.Message = fmt.Sprintf("%s is inside a footnote, which GitHub moves to the end of the page or drops; indent by 2", what)
	case asText:
		f.Message = fmt.Sprintf("%s is not part of its gate on the page: the paragraph on line %d is between them; move %s above the paragraph",
			what, p.between(m), what)
		if m.kind == gateLine {
			f.Message = "this gate is not an item of a top-level list on the page; put a blank line before the list"
		}
	default:
		f.Message = "GitHub does not show this line: it reads as part of a link definition; put a blank line before it"
	}
	p.add(m.spot(), f)
}

// untilClosed are the HTML blocks that no blank line ends (CommonMark 4.6, 1 to 5).
var untilClosed = lazyregexp.New(`(?i)^<(?:script|pre|style|textarea|[!?])`)

// htmlCure names the HTML that swallows a line.
func (p *scan) htmlCure(st seat, source []byte, from int, what string) string {
	line, _, _ := bytes.Cut(source[st.from:], []byte("\n"))
	if bytes.HasPrefix(bytes.TrimSpace(line), []byte("<!--")) {
		return fmt.Sprintf("%s is hidden in the HTML comment that starts on line %d; put it outside", what, from)
	}
	if trim(string(line)) == "" {
		return fmt.Sprintf("%s is inside HTML; put a blank line before the list", what)
	}
	cure := "put a blank line before the list"
	if untilClosed.Match(bytes.TrimSpace(line)) {
		cure = "close it before the list"
	} else if what != "this gate" {
		cure = fmt.Sprintf("move %s above it", what)
	}
	return fmt.Sprintf("the HTML on line %d, %s, swallows %s; %s", from, quote(trim(string(line))), what, cure)
}

// between is the line that parts an attribute from its gate: the first one
// behind the gate that starts at column 1.
func (p *scan) between(m mark) int {
	line := int(m.line)
	for at := int(m.start); at > 0; {
		end := at - 1
		at = strings.LastIndexByte(p.text[:end], '\n') + 1
		line--
		if line <= p.doc.Gates[m.gate].Line {
			break
		}
		if s := trimRight(p.text[at:end]); s != "" && blankPrefix(s) == 0 {
			return line
		}
	}
	return int(m.line) - 1
}

// judgeTags reports gates inside elements that fold or drop what they hold.
func (p *scan) judgeTags(tags []tag) {
	if len(tags) == 0 {
		return
	}
	names := append(strings.Fields(swallowers), "details")
	sort.SliceStable(tags, func(i, j int) bool { return tags[i].at < tags[j].at })
	depth := map[string]int{}
	opened := map[string]int{}
	next := 0
	for _, m := range p.marks {
		if m.kind == fencedLine {
			continue
		}
		for next < len(tags) && tags[next].at < int(m.at) {
			t := tags[next]
			next++
			if !t.open {
				depth[t.name] = max(0, depth[t.name]-1)
				continue
			}
			if depth[t.name]++; depth[t.name] == 1 {
				opened[t.name] = t.at
			}
		}
		for _, name := range names {
			if depth[name] > 0 && (m.kind != attributeLine) {
				p.insideTag(m, tag{name: name, at: opened[name]})
			}
		}
	}
}

func (p *scan) insideTag(m mark, t tag) {
	if !t.swallowing() && p.full("details", Warning) || t.swallowing() && p.full("hidden", Error) {
		t.at = 0 // only counted
	}
	line := 1 + strings.Count(p.text[:t.at], "\n")
	if t.swallowing() {
		p.add(m.spot(), Finding{
			Rule: "hidden", Gate: p.markGate(m),
			Message: fmt.Sprintf("the <%s> on line %d is still open here, and a page may show nothing inside it; close it before the list", t.name, line),
		})
		return
	}
	p.add(m.spot(), Finding{
		Rule: "details", Level: Warning, Gate: p.markGate(m),
		Message: fmt.Sprintf("this is inside the <details> on line %d, which GitHub folds away", line),
	})
}

// report turns a remark about the inline structure into a finding.
func (p *scan) report(r remark) {
	m := p.marks[r.mark]
	switch r.kind {
	case hiddenKey:
		p.add(m.spot(), Finding{
			Rule: "hidden", Gate: p.markGate(m),
			Message: "the page does not show this line as it is written: HTML, a link or an image around it takes it away",
		})
	case goesOn:
		p.add(m.spot(), Finding{
			Rule: "goes-on", Gate: p.markGate(m),
			Message: "a tag, comment or link that begins on this line goes on below it, and hides what stands there; end it on this line",
		})
	case shownKey:
		where := m.spot()
		if !p.full("shown-attribute", Error) {
			where = p.spotAt(r.at)
		}
		p.add(where, Finding{
			Rule: "shown-attribute", Gate: p.markGate(m),
			Message: fmt.Sprintf("the page shows %s here, which is not an attribute as it is written", r.text),
		})
	case coveredText:
		p.covered(m, r)
	}
}

const dangerous = "$`;|&>("

var bareTag = lazyregexp.New(`^</?[A-Za-z][A-Za-z0-9-]*\s*/?>$`)

// covered reports a stretch of a definition that the page does not show.
func (p *scan) covered(m mark, r remark) {
	key := Key("")
	if m.key >= 0 {
		key = allKeys[m.key]
	}
	if key == Evidence {
		return
	}
	strict := key == Check || key == CWD
	inner := r.text
	switch r.ink {
	case tagInk:
		if key == "" && bareTag.MatchString(inner) {
			return // Vec<u8> in an outcome
		}
		inner = strings.TrimSuffix(strings.TrimPrefix(inner, "<"), ">")
		inner = strings.TrimSuffix(strings.TrimPrefix(inner, "!--"), "--")
	case linkEdge:
		if !strict {
			return
		}
		inner = ""
	case seen: // a character reference
		if !strict {
			inner = ""
		}
	}
	f := Finding{Rule: "hidden-text", Level: Warning, Gate: p.markGate(m), Message: "the page does not show " + quote(r.text)}
	if r.ink == seen {
		f.Message = "the page shows " + quote(r.text) + " as another character"
	}
	if strings.ContainsAny(inner, dangerous) {
		f.Level = Error
		f.Message += ", and a shell would act on it"
	}
	s := m.spot()
	if r.at >= s.start && r.at <= s.end {
		s.at = r.at
	}
	p.add(s, f)
}

// spotAt finds the line of an offset.
func (p *scan) spotAt(at int) spot {
	start := strings.LastIndexByte(p.text[:at], '\n') + 1
	end := len(p.text)
	if i := strings.IndexByte(p.text[at:], '\n'); i >= 0 {
		end = at + i
	}
	end = start + len(strings.TrimSuffix(p.text[start:end], "\r"))
	return spot{start: start, end: end, line: 1 + strings.Count(p.text[:at], "\n"), at: min(at, end)}
}
