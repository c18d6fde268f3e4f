package ledger

import (
	"bytes"
	"context"
	"sort"

	"github.com/yuin/goldmark/ast"
	xast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// shown says as what a line appears on the page. The zero value is not at all.
type shown uint8

const (
	asNothing shown = iota
	asText          // a paragraph at top level or in a list
	asCode          // an indented code block
	asFenced        // a fenced code block
	asHTML
	asHeading
	asTable
	asQuote
	asFootnote
	asDefinition // a link reference definition
)

// seat is where a mark appears.
type seat struct {
	item  int32 // offset of the top-level list item and 1, 0 when there is none
	from  int32 // offset where the block begins
	as    shown
	first bool // on the first line of its top-level item
}

// piece is a paragraph whose inline structure matters: a range of layout.spans.
type piece struct {
	from, to int32
	marks    bool // it holds a gate or attribute line
	brackets bool // only brackets make it matter: they mean something where a definition is
}

// span is a line of a piece, as offsets.
type span struct{ start, stop int32 }

// layout is the page as blocks, and where each mark is on it. It reads marks
// and source and changes neither.
type layout struct {
	ctx       context.Context
	pages     *Pages
	source    []byte
	marks     []mark
	seats     []seat
	pieces    []piece
	spans     []span
	ink       inkText // of the piece that is being looked at
	remarks   []remark
	long      []int // offsets of pieces that are too long to look into
	footnotes footnotes
	tags      []tag
	shared    parser.Context // link references
	step      int            // partSize, smaller in tests
	cursor    int
	count     int
}

// maxPiece is the longest paragraph whose inline structure is parsed, in bytes.
const maxPiece = 16 << 10

// stopped is the panic that ends a parse whose context is done.
type stopped struct{}

// placeholder stands for a paragraph that was looked at: it keeps the list item
// from being empty, and spares the parser the inline structure.
type placeholder struct{ ast.BaseBlock }

func (n *placeholder) IsRaw() bool        { return true }
func (n *placeholder) Kind() ast.NodeKind { return ast.KindParagraph }

// Dump is goldmark's debugging output; there is none.
func (n *placeholder) Dump([]byte, int) {}

// partSize is how many bytes are parsed at a time. What goldmark keeps for a
// text grows with its length, and most of it is not needed once the marks are
// seated.
const partSize = 256 << 10

// blocks parses the block structure and seats every mark.
func (l *layout) blocks() {
	l.seats = make([]seat, len(l.marks))
	l.shared = parser.NewContext()
	l.footnotes = footnotes{}
	page := l.pages.take(l)
	for start := 0; start < len(l.source); {
		end := l.cut(start)
		before := l.state()
		root := l.part(page, start, end)
		if end < len(l.source) && swallows(root.LastChild()) {
			l.restore(before) // what ends here on paper goes on: take the rest in one piece
			end = len(l.source)
			root = l.part(page, start, end)
		}
		l.walk(root, scope{})
		start = end
	}
	l.pages.give(page) // not after a panic
}

// part parses the source between two offsets, at its own offsets.
func (l *layout) part(p parser.Parser, start, end int) ast.Node {
	reader := text.NewReader(l.source[:end])
	reader.SetPosition(-1, text.NewSegment(start, start))
	reader.AdvanceLine()
	return p.Parse(reader, parser.WithContext(newPageContext(l.shared)))
}

// cut returns where the part that begins at start ends: at the first gate behind
// partSize that follows a blank line. A list item at column 1 there ends every
// paragraph, quote, footnote and inner block, and what it continues is a list,
// of which nothing matters but its items.
func (l *layout) cut(start int) int {
	i := sort.Search(len(l.marks), func(i int) bool { return int(l.marks[i].at) >= start+l.step })
	for ; i < len(l.marks); i++ {
		m := l.marks[i]
		if m.kind == gateLine && int(m.start) > start && l.blankBefore(int(m.start)) {
			return int(m.start)
		}
	}
	return len(l.source)
}

// blankBefore reports whether the line before an offset is blank.
func (l *layout) blankBefore(at int) bool {
	if at == 0 || l.source[at-1] != '\n' {
		return false
	}
	for i := at - 2; i >= 0; i-- {
		switch l.source[i] {
		case '\n':
			return true
		case ' ', '\t':
		default:
			return false
		}
	}
	return true
}

// swallows reports a block that may not have ended where the part did: a fence
// or one of the HTML blocks that no blank line ends.
func swallows(last ast.Node) bool {
	switch n := last.(type) {
	case *ast.FencedCodeBlock:
		return true
	case *ast.HTMLBlock:
		return n.HTMLBlockType < ast.HTMLBlockType6
	}
	return false
}

// found is how much a layout has found.
type found struct{ pieces, spans, long, tags int }

func (l *layout) state() found {
	return found{len(l.pieces), len(l.spans), len(l.long), len(l.tags)}
}

func (l *layout) restore(f found) {
	l.pieces, l.spans, l.long, l.tags = l.pieces[:f.pieces], l.spans[:f.spans], l.long[:f.long], l.tags[:f.tags]
}

// Transform seats the marks of a finished paragraph and replaces it by a
// placeholder. It implements goldmark's ParagraphTransformer.
func (l *layout) Transform(node *ast.Paragraph, _ text.Reader, pc parser.Context) {
	l.count++
	if l.count%256 == 0 && l.ctx.Err() != nil {
		panic(stopped{})
	}
	if !opened(pc, node) {
		return // about to become a setext heading
	}
	l.paragraph(node)
	// A placeholder has no lines and no position: nobody asks for them again.
	node.Parent().ReplaceChild(node.Parent(), node, &placeholder{})
}

// opened reports whether a block is still on the parser's stack. A paragraph
// that a setext underline may turn into a heading is taken off it before.
func opened(pc parser.Context, node ast.Node) bool {
	blocks := pc.OpenedBlocks()
	for i := len(blocks) - 1; i >= 0; i-- {
		if blocks[i].Node == node {
			return true
		}
	}
	return false
}

func (l *layout) paragraph(node ast.Node) {
	lines := node.Lines()
	if lines.Len() == 0 {
		return
	}
	sc := scopeOf(node)
	first := sc.item != nil && node.Parent() == sc.item && node.PreviousSibling() == nil
	held := false
	for i := range lines.Len() {
		held = l.seat(lines.At(i), lines.At(0).Start, sc, asText, first && i == 0) || held
	}
	l.keep(lines, held)
}

// keep remembers a paragraph whose inline structure can hide something.
func (l *layout) keep(lines *text.Segments, held bool) {
	size, special, brackets := 0, false, false
	for i := range lines.Len() {
		seg := lines.At(i)
		size += seg.Len()
		if special {
			continue
		}
		b := seg.Value(l.source)
		if held {
			if i == 0 {
				b = bytes.TrimLeft(b, " \t")
				b = b[min(len(b), 3):] // the box
			}
			special = bytes.IndexByte(b, '<') >= 0 || bytes.Contains(b, []byte("](")) || hasEntity(b)
			brackets = brackets || bytes.ContainsAny(b, "[]")
			continue
		}
		special = bytes.IndexByte(b, '<') >= 0 && holdsTag(b)
	}
	switch {
	case !special && !brackets:
	case size > maxPiece:
		if held {
			l.long = append(l.long, lines.At(0).Start)
		}
	default:
		from := int32(len(l.spans))
		for i := range lines.Len() {
			l.spans = append(l.spans, span{int32(lines.At(i).Start), int32(lines.At(i).Stop)})
		}
		l.pieces = append(l.pieces, piece{from: from, to: int32(len(l.spans)), marks: held, brackets: !special})
	}
}

// seat notes how the marks of one line appear, and whether there are any.
func (l *layout) seat(seg text.Segment, from int, sc scope, as shown, first bool) bool {
	held := false
	if sc.as != asNothing {
		as = sc.as
	}
	for i := l.find(seg.Start); i < len(l.marks) && int(l.marks[i].at) < seg.Stop; i++ {
		l.seats[i] = seat{as: as, item: sc.itemID(), first: first && i == l.find(seg.Start), from: int32(from)}
		held = held || l.marks[i].kind != fencedLine
	}
	return held
}

// find returns the first mark at or behind an offset. Blocks end in the order
// of the text, so that the cursor seldom moves far.
func (l *layout) find(offset int) int {
	if l.cursor > 0 && int(l.marks[l.cursor-1].at) >= offset {
		l.cursor = sort.Search(len(l.marks), func(i int) bool { return int(l.marks[i].at) >= offset })
	}
	for l.cursor < len(l.marks) && int(l.marks[l.cursor].at) < offset {
		l.cursor++
	}
	return l.cursor
}

// scope is what a block's ancestors say about it.
type scope struct {
	item ast.Node // the top-level list item
	as   shown    // how everything inside appears, when an ancestor decides that
}

// itemID tells top-level items apart.
func (s scope) itemID() int32 {
	if s.item == nil {
		return 0
	}
	return int32(s.item.Pos()) + 1
}

func scopeOf(node ast.Node) scope {
	var sc scope
	for n := node.Parent(); n != nil; n = n.Parent() {
		switch n.Kind() {
		case ast.KindListItem:
			sc.item = n
		case ast.KindBlockquote:
			sc.as = asQuote
		case xast.KindFootnote:
			sc.as = asFootnote
		}
	}
	return sc
}

// walk seats the marks in everything but paragraphs.
func (l *layout) walk(node ast.Node, sc scope) {
	for n := node.FirstChild(); n != nil; n = n.NextSibling() {
		inner := sc
		switch n := n.(type) {
		case *placeholder:
			continue
		case *ast.ListItem:
			if sc.item == nil {
				inner.item = n
			}
		case *ast.Blockquote:
			inner.as = asQuote
		case *xast.Footnote:
			inner.as = asFootnote
		case *ast.Paragraph:
			l.paragraph(n)
			continue
		case *ast.Heading:
			l.seatAll(n, sc, asHeading)
		case *ast.CodeBlock:
			l.seatAll(n, sc, asCode)
		case *ast.FencedCodeBlock:
			l.seatAll(n, sc, asFenced)
		case *ast.LinkReferenceDefinition:
			l.seatAll(n, sc, asDefinition)
		case *ast.HTMLBlock:
			l.seatAll(n, sc, asHTML)
			if n.HasClosure() {
				l.seat(n.ClosureLine, n.Lines().At(0).Start, sc, asHTML, false)
			}
			l.tagsIn(n)
			continue
		case *xast.Table:
			l.table(n, sc)
			continue
		case *ast.Text, *ast.String:
			continue
		}
		l.walk(n, inner)
	}
}

func (l *layout) seatAll(n ast.Node, sc scope, as shown) {
	for i := range n.Lines().Len() {
		l.seat(n.Lines().At(i), n.Lines().At(0).Start, sc, as, false)
	}
}

// table seats the marks on the rows of a table; cells beyond the header's are
// dropped by GitHub.
func (l *layout) table(n ast.Node, sc scope) {
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		cell := row.FirstChild()
		if cell == nil || cell.Lines().Len() == 0 {
			continue
		}
		start := bytes.LastIndexByte(l.source[:cell.Lines().At(0).Start], '\n') + 1
		stop := len(l.source)
		if i := bytes.IndexByte(l.source[start:], '\n'); i >= 0 {
			stop = start + i + 1
		}
		l.seat(text.NewSegment(start, stop), start, sc, asTable, false)
	}
}
