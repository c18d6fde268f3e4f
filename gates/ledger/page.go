package ledger

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"regexp"
	"sort"
	"strings"
)

// comparePage checks that every line that counts is shown by GitHub as what it
// is. The layout works on its own data, so that it can be left behind when ctx
// is done first.
func (p *scan) comparePage(ctx context.Context, data []byte) {
	if len(p.marks) == 0 || p.guards.refused || p.tooMany || p.ambiguousLines() {
		return
	}
	type answer struct {
		layout *layout
		texts  []inkText
		failed any
	}
	done := make(chan answer, 1)
	l := &layout{ctx: ctx, source: pageSource(data), marks: p.marks}
	go func() {
		var a answer
		defer func() {
			a.failed = recover()
			done <- a
		}()
		l.blocks()
		a.texts = l.inlines()
		a.layout = l
	}()
	var a answer
	select {
	case a = <-done:
	case <-ctx.Done():
		a.failed = stopped{}
	}
	if a.failed != nil {
		p.unfinished(a.failed)
		return
	}
	p.judgeSeats(a.layout)
	p.judgeTags(a.layout.tags)
	for i := range a.texts {
		p.judgeText(&a.texts[i])
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

// pageSource is the text as the Markdown parser gets it, at the same offsets:
// carriage returns and the byte order mark blanked, and a tab behind a tag's
// name too, which goldmark does not take for a blank there and GitHub does.
func pageSource(data []byte) []byte {
	src := bytes.Clone(data)
	if bytes.HasPrefix(src, []byte(byteOrderMark)) {
		copy(src, "\n\n\n")
	}
	for i := 0; i < len(src); {
		n := bytes.IndexAny(src[i:], "\r<")
		if n < 0 {
			break
		}
		i += n
		if src[i] == '\r' {
			src[i] = ' '
		} else {
			for i < len(src)-1 && src[i] != '\n' && src[i] != '\r' {
				if src[i] == '\t' {
					src[i] = ' '
				}
				i++
			}
			continue
		}
		i++
	}
	return src
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
				p.add(m.spot, Finding{Rule: "hidden", Message: "this line counts as fenced code here and not on the page; close the fence, or put a blank line before it"})
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
			if gate >= 0 && !m.lost && (st.as != asText || st.item != l.seats[gate].item || st.item == nil) {
				if sound || st.as != l.seats[gate].as {
					p.hidden(m, st, l)
				}
			}
		}
	}
	for _, at := range l.long {
		i := sort.Search(len(p.marks), func(i int) bool { return p.marks[i].at >= at })
		if i < len(p.marks) {
			p.add(p.marks[i].spot, Finding{Rule: "long-paragraph", Gate: p.markGate(p.marks[i]),
				Message: fmt.Sprintf("this paragraph is over %d bytes and holds <, [ or ]: put blank lines between its parts", maxPiece)})
		}
	}
}

// hidden says how a line is shown instead, and what helps.
func (p *scan) hidden(m mark, st seat, l *layout) {
	f := Finding{Rule: "hidden", Gate: p.markGate(m)}
	if p.full(f.Rule, f.Level) {
		p.add(m.spot, f)
		return
	}
	what := "this gate"
	if m.kind != gateLine {
		what, _, _ = strings.Cut(p.text[m.at:m.end], ":")
	}
	from := 1 + bytes.Count(l.source[:st.from], []byte("\n"))
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
	p.add(m.spot, f)
}

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
	if what != "this gate" {
		cure = fmt.Sprintf("move %s above it", what)
	}
	return fmt.Sprintf("the HTML on line %d, %s, swallows %s; %s", from, quote(trim(string(line))), what, cure)
}

// between is the line that parts an attribute from its gate: the first one
// behind the gate that starts at column 1.
func (p *scan) between(m mark) int {
	line := m.line
	for at := m.start; at > 0; {
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
	return m.line - 1
}

// judgeTags reports gates inside elements that fold or drop what they hold.
func (p *scan) judgeTags(tags []tag) {
	sort.SliceStable(tags, func(i, j int) bool { return tags[i].at < tags[j].at })
	depth := map[string]int{}
	opened := map[string]int{}
	next := 0
	for _, m := range p.marks {
		if m.kind == fencedLine {
			continue
		}
		for next < len(tags) && tags[next].at < m.at {
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
		for _, name := range append(strings.Fields(swallowers), "details") {
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
		p.add(m.spot, Finding{Rule: "hidden", Gate: p.markGate(m),
			Message: fmt.Sprintf("the <%s> on line %d is still open here, and a page may show nothing inside it; close it before the list", t.name, line)})
		return
	}
	p.add(m.spot, Finding{Rule: "details", Level: Warning, Gate: p.markGate(m),
		Message: fmt.Sprintf("this is inside the <details> on line %d, which GitHub folds away", line)})
}

const dangerous = "$`;|&>("

// judgeText checks that keys and values of one paragraph are visible text, and
// that nothing else is shown as one.
func (p *scan) judgeText(t *inkText) {
	first, last := t.source[0], t.sourceAt(len(t.buf)-1)
	i := sort.Search(len(p.marks), func(i int) bool { return p.marks[i].at >= first })
	keys := map[int]bool{}
	for ; i < len(p.marks) && p.marks[i].at <= last; i++ {
		m := p.marks[i]
		at := t.bufAt(m.at)
		if m.kind == fencedLine || at < 0 {
			continue
		}
		keys[at] = true
		end := min(at+m.end-m.at, len(t.buf))
		key := at + max(strings.IndexByte(p.text[m.at:m.end], ':')+1, 1)
		for j := at; j < key; j++ {
			if t.ink[j] != seen && t.ink[j] != code {
				p.add(m.spot, Finding{Rule: "hidden", Gate: p.markGate(m),
					Message: "the page does not show this line as it is written: HTML, a link or an image around it takes it away"})
				end = key // its value goes without saying
				break
			}
		}
		for _, c := range t.coveredIn(key, end) {
			p.coveredText(m, t, c)
		}
	}
	p.shownKeys(t, keys)
}

var bareTag = regexp.MustCompile(`^</?[A-Za-z][A-Za-z0-9-]*\s*/?>$`)

// coveredText reports a stretch of a definition that the page does not show.
func (p *scan) coveredText(m mark, t *inkText, c covered) {
	if m.key == Evidence {
		return
	}
	strict := m.key == Check || m.key == CWD
	inner := c.text
	level := Warning
	switch c.ink {
	case tagInk:
		if m.key == "" && bareTag.MatchString(inner) {
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
	if strings.ContainsAny(inner, dangerous) {
		level = Error
	}
	s := m.spot
	s.at = t.sourceAt(c.start)
	f := Finding{Rule: "hidden-text", Level: level, Gate: p.markGate(m), Message: "the page does not show " + quote(c.text)}
	if c.ink == seen {
		f.Message = "the page shows " + quote(c.text) + " as another character"
	}
	if level == Error {
		f.Message += ", and a shell would act on it"
	}
	if s.at < s.start || s.at > s.end {
		s.at = m.at
	}
	p.add(s, f)
}

// shownKeys reports text that the page shows as an attribute at the start of a
// line and that is none here.
func (p *scan) shownKeys(t *inkText, keys map[int]bool) {
	at := 0
	for at < len(t.buf) {
		start, shown, next := t.visualLine(at)
		at = next
		key, _, ok := strings.Cut(strings.TrimLeft(shown, " \t*_`-"), ":")
		i := keyIndex(strings.ToUpper(trim(key)))
		if !ok || i < 0 || keys[start] || allKeys[i] == Evidence || trim(key) != string(allKeys[i]) {
			continue
		}
		off := t.sourceAt(start)
		j := sort.Search(len(p.marks), func(i int) bool { return p.marks[i].start > off }) - 1
		if j < 0 {
			continue
		}
		where := p.marks[j].spot
		if !p.full("shown-attribute", Error) {
			where = p.spotAt(off)
		}
		p.add(where, Finding{Rule: "shown-attribute", Gate: p.markGate(p.marks[j]),
			Message: fmt.Sprintf("the page shows %s here, which is not an attribute as it is written", allKeys[i])})
	}
}

// visualLine returns the text that the page shows from an offset of buf to the
// next line break it shows, and where its first character stands.
func (t *inkText) visualLine(at int) (start int, shown string, next int) {
	var b strings.Builder
	start = at
	for i := at; i < len(t.buf); i++ {
		switch {
		case t.buf[i] == '\n' && t.ink[i] != tagInk && t.ink[i] != imageInk:
			return start, html.UnescapeString(b.String()), i + 1
		case t.ink[i] == tagInk && i > at && t.breakAt(i):
			return start, html.UnescapeString(b.String()), i + 1
		case t.ink[i] == seen || t.ink[i] == code:
			if strings.TrimLeft(b.String(), " \t") == "" {
				start = i
			}
			if b.Len() < 200 {
				b.WriteByte(t.buf[i])
			}
		}
	}
	return start, html.UnescapeString(b.String()), len(t.buf)
}

func (t *inkText) breakAt(i int) bool {
	j := sort.SearchInts(t.breaks, i)
	return j < len(t.breaks) && t.breaks[j] == i
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
