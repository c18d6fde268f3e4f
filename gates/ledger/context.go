package ledger

import (
	"bytes"
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	xast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// pageContext is the parser's state for one part of the page. Link references
// are shared by all parts; everything else is its own. That matters: goldmark
// remembers offsets at which a search failed, such as one for the end of a
// comment, and they mean nothing in another text.
type pageContext struct {
	parser.Context
	shared parser.Context
}

func newPageContext(shared parser.Context) *pageContext {
	return &pageContext{Context: parser.NewContext(), shared: shared}
}

// AddReference, Reference and References are those of the whole page.
func (c *pageContext) AddReference(r parser.Reference) { c.shared.AddReference(r) }

// Reference looks a label up.
func (c *pageContext) Reference(label string) (parser.Reference, bool) {
	return c.shared.Reference(label)
}

// References lists all.
func (c *pageContext) References() []parser.Reference { return c.shared.References() }

// footnotes are the labels that footnote definitions of the page carry.
type footnotes map[string]bool

// footnoteDefinitions is goldmark's block parser, that takes note of the labels.
type footnoteDefinitions struct {
	parser.BlockParser
	page *pageParser
}

// Open notes the label of a definition.
func (f footnoteDefinitions) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	node, state := f.BlockParser.Open(parent, reader, pc)
	if n, ok := node.(*xast.Footnote); ok {
		f.page.layout.footnotes[string(n.Ref)] = true
	}
	return node, state
}

// footnoteReferences is the inline side of footnotes.
type footnoteReferences struct{ labels footnotes }

// Trigger is where a reference may begin.
func (f footnoteReferences) Trigger() []byte { return []byte{'['} }

// Parse reads `[^label]`, where label is one of a definition.
func (f footnoteReferences) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, _ := block.PeekLine()
	if len(line) < 4 || line[1] != '^' {
		return nil
	}
	end := bytes.IndexByte(line, ']')
	if end < 0 || !f.labels[string(line[2:end])] {
		return nil
	}
	block.Advance(end + 1)
	return xast.NewFootnoteLink(1)
}

// Pages keeps the parsers of pages from one ledger to the next: making one costs
// more than reading a small ledger. Several goroutines may share it; nil keeps none.
type Pages struct{ pool sync.Pool }

// take gives a parser for one layout.
func (p *Pages) take(l *layout) *pageParser {
	if p != nil {
		if page, ok := p.pool.Get().(*pageParser); ok {
			page.layout = l
			return page
		}
	}
	return newPageParser(l)
}

// give takes a parser back that nobody uses any more.
func (p *Pages) give(page *pageParser) {
	page.layout = nil
	if p != nil {
		p.pool.Put(page)
	}
}

// pageParser is goldmark's GFM block structure with footnotes, and no inline
// structure at all. It works for one layout at a time.
type pageParser struct {
	parser.Parser
	layout *layout
}

func newPageParser(l *layout) *pageParser {
	page := &pageParser{layout: l}
	page.Parser = parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithBlockParsers(util.Prioritized(footnoteDefinitions{extension.NewFootnoteBlockParser(), page}, 999)),
		parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
		parser.WithParagraphTransformers(
			util.Prioritized(extension.NewTableParagraphTransformer(), 200),
			util.Prioritized(page, 1000),
		),
	)
	return page
}

// Transform hands a paragraph to the layout.
func (p *pageParser) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	p.layout.Transform(node, reader, pc)
}

// inlineParser reads the inline structure of one paragraph.
func (l *layout) inlineParser() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(util.Prioritized(parser.NewParagraphParser(), 1000)),
		parser.WithInlineParsers(parser.DefaultInlineParsers()...),
		parser.WithInlineParsers(
			util.Prioritized(footnoteReferences{l.footnotes}, 101),
			util.Prioritized(extension.NewStrikethroughParser(), 500),
		),
	)
}
