package ledger

import (
	"bytes"
	"sort"

	"github.com/yuin/goldmark/ast"
	xast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"github.com/gatesworn/gatesworn/internal/lazyregexp"
)

// ink is what becomes of one byte of a paragraph on the page.
type ink uint8

const (
	syntax   ink = iota // marks, brackets, link destinations: not shown as such
	seen                // shown text
	code                // shown text in a code span
	tagInk              // inside an HTML tag or comment
	imageInk            // inside an image's alternative text
	linkEdge            // the angle brackets of an autolink
)

// inkText is one paragraph with the ink of every byte.
type inkText struct {
	buf    []byte
	ink    []ink
	starts []int // offsets in buf of its lines
	source []int // offsets of the same in the source
	breaks []int // offsets in buf of <br> tags
	tags   []tag
}

// entity is a character reference, which the page shows as the character.
var entity = lazyregexp.New(`&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});`)

func hasEntity(b []byte) bool { return bytes.IndexByte(b, '&') >= 0 && entity.Match(b) }

// inlines parses the inline structure of the kept paragraphs, in turn. Link
// references and footnotes are those of the block phase.
func (l *layout) inlines() {
	var p parser.Parser // made when it is needed: it is as large as many a ledger
	definitions := len(l.footnotes) > 0 || len(l.shared.References()) > 0
	for i, pc := range l.pieces {
		if pc.brackets && !definitions {
			continue // without a definition, only `](` makes a link
		}
		if i%64 == 0 && l.ctx.Err() != nil {
			panic(stopped{})
		}
		l.gather(pc)
		if p == nil {
			p = l.inlineParser()
		}
		t := &l.ink
		t.parse(p, newPageContext(l.shared))
		for _, g := range t.tags {
			g.at = t.sourceAt(g.at)
			l.tags = append(l.tags, g)
		}
		if pc.marks {
			l.judge(t)
		}
	}
}

// gather joins a paragraph's lines without their indentation into l.ink. The box
// of a gate becomes letters: on the page it is a checkbox, whatever [x] may
// refer to.
func (l *layout) gather(p piece) {
	t := &l.ink
	t.buf, t.ink = t.buf[:0], t.ink[:0]
	t.starts, t.source, t.breaks, t.tags = t.starts[:0], t.source[:0], t.breaks[:0], t.tags[:0]
	for _, sp := range l.spans[p.from:p.to] {
		seg := text.NewSegment(int(sp.start), int(sp.stop))
		seg = seg.TrimLeftSpace(l.source)
		at := len(t.buf)
		t.starts = append(t.starts, at)
		t.source = append(t.source, seg.Start)
		t.buf = append(t.buf, l.source[seg.Start:seg.Stop]...)
		if i := l.find(seg.Start); i < len(l.marks) && int(l.marks[i].at) == seg.Start && l.marks[i].kind == gateLine {
			copy(t.buf[at:], "xxx")
		}
	}
	t.ink = append(t.ink, make([]ink, len(t.buf))...)
}

func (t *inkText) parse(p parser.Parser, pc parser.Context) {
	root := p.Parse(text.NewReader(t.buf), parser.WithContext(pc))
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		t.paint(n, seen)
	}
}

// paint marks what a node shows.
func (t *inkText) paint(node ast.Node, as ink) {
	for n := node.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			t.fill(n.Segment.Start, n.Segment.Stop, as)
			if n.SoftLineBreak() || n.HardLineBreak() {
				t.lineBreak(n.Segment.Stop, as)
			}
		case *ast.CodeSpan:
			t.paint(n, max(as, code))
		case *ast.AutoLink:
			label := len(n.Label(t.buf))
			t.fill(n.Pos(), n.Pos()+label+2, linkEdge)
			t.fill(n.Pos()+1, n.Pos()+1+label, as)
		case *ast.RawHTML:
			t.rawHTML(n)
		case *ast.Image:
			t.paint(n, imageInk)
		case *xast.FootnoteLink:
		default:
			t.paint(n, as)
		}
	}
}

// lineBreak marks a line break that the page knows: it is not inside a tag, a
// comment or a link's destination.
func (t *inkText) lineBreak(at int, as ink) {
	if i := bytes.IndexByte(t.buf[at:], '\n'); i >= 0 {
		t.fill(at+i, at+i+1, as)
	}
}

func (t *inkText) rawHTML(n *ast.RawHTML) {
	if n.Segments.Len() == 0 {
		return
	}
	start, stop := n.Segments.At(0).Start, n.Segments.At(n.Segments.Len()-1).Stop
	t.fill(start, stop, tagInk)
	if br := bytes.ToLower(t.buf[start:min(start+4, len(t.buf))]); bytes.HasPrefix(br, []byte("<br")) {
		t.breaks = append(t.breaks, start)
	}
	eachTag(t.buf[start:stop], func(at int, name string, open bool) {
		t.tags = append(t.tags, tag{at: start + at, name: name, open: open})
	})
}

func (t *inkText) fill(start, stop int, as ink) {
	for i := max(start, 0); i < min(stop, len(t.ink)); i++ {
		t.ink[i] = as
	}
}

// line returns the index of the line that holds an offset of buf.
func (t *inkText) line(at int) int { return sort.SearchInts(t.starts, at+1) - 1 }

// sourceAt turns an offset of buf into one of the source.
func (t *inkText) sourceAt(at int) int {
	i := t.line(at)
	return t.source[i] + at - t.starts[i]
}

// bufAt turns an offset of the source into one of buf, or -1.
func (t *inkText) bufAt(at int) int {
	i := sort.SearchInts(t.source, at+1) - 1
	if i < 0 {
		return -1
	}
	b := t.starts[i] + at - t.source[i]
	if b >= len(t.buf) || i+1 < len(t.starts) && b >= t.starts[i+1] {
		return -1
	}
	return b
}

// covered is a stretch of a value that the page does not show.
type covered struct {
	start, end int // in buf
	text       string
	ink        ink
}

// coveredIn lists what is not shown between two offsets of buf, emphasis marks,
// brackets and code marks aside.
func (t *inkText) coveredIn(start, end int) []covered {
	var out []covered
	for i := start; i < end; {
		j := i + 1
		for j < end && t.ink[j] == t.ink[i] {
			j++
		}
		c := covered{start: i, end: j, ink: t.ink[i], text: string(t.buf[i:j])}
		switch c.ink {
		case seen:
			for _, loc := range entity.FindAllStringIndex(c.text, -1) {
				out = append(out, covered{start: i + loc[0], end: i + loc[1], ink: seen, text: c.text[loc[0]:loc[1]]})
			}
		case code:
		case syntax:
			if c.text = bareSyntax(c.text); c.text != "" {
				out = append(out, c)
			}
		default:
			out = append(out, c)
		}
		i = j
	}
	return out
}

// bareSyntax strips the marks of emphasis, code and links: what is left is a
// destination, a title or a label.
func bareSyntax(s string) string {
	cut := func(s string, set string) string { return string(bytes.Trim([]byte(s), set)) }
	s = cut(s, "[]!*_~` \t\r\n\\")
	if len(s) > 0 && s[0] == '(' {
		s = s[1:]
	}
	if len(s) > 0 && s[len(s)-1] == ')' {
		s = s[:len(s)-1]
	}
	return s
}
