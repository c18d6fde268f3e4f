package ledger

import (
	"fmt"
	"strings"
)

// What the Markdown parser is spared, because its time grows with the square of
// it (10-fine-print): container markers on one line, link and footnote
// definitions in one file, and lists nested by indentation.
const (
	maxMarkers     = 32
	maxDefinitions = 1000
	maxIndent      = 100 // columns before a list marker: more is nested 33 deep or deeper
)

// guards counts what would be costly. The zero value has seen nothing.
type guards struct {
	definitions int
	refused     bool // the page is not looked at
	front       int  // line that ends YAML front matter; -1 while it may still end
}

// guard looks at one line before the Markdown parser sees any.
func (p *scan) guard(s spot, raw string, kind lineKind) {
	p.frontMatter(s, raw)
	markers, indent := containers(raw)
	if markers > maxMarkers || markers > 0 && indent > maxIndent {
		p.guards.refused = true
		p.add(s, Finding{
			Rule:    "too-nested",
			Message: fmt.Sprintf("nested more than %d deep: this line cannot be checked against the page; make it plainer", maxMarkers),
		})
	}
	if kind != gateLine && kind != attributeLine && strings.Contains(raw, "]:") {
		p.guards.definitions++
		if p.guards.definitions == maxDefinitions+1 {
			p.guards.refused = true
			p.add(s, Finding{
				Rule:    "too-many-definitions",
				Message: fmt.Sprintf("more than %d link or footnote definitions: this file cannot be checked against the page", maxDefinitions),
			})
		}
	}
}

// containers counts the list, quote and footnote markers a line starts with,
// and the columns before the first.
func containers(raw string) (markers, indent int) {
	i := 0
	for {
		for i < len(raw) && (raw[i] == ' ' || raw[i] == '\t') {
			if markers == 0 {
				indent++
				if raw[i] == '\t' {
					indent = (indent + 3) &^ 3
				}
			}
			i++
		}
		n := markerAt(raw[i:])
		if n == 0 {
			return markers, indent
		}
		markers++
		i += n
	}
}

// markerAt is the length of the container marker that s starts with.
func markerAt(s string) int {
	if s == "" {
		return 0
	}
	blankAt := func(i int) bool { return i >= len(s) || s[i] == ' ' || s[i] == '\t' }
	switch c := s[0]; {
	case c == '>':
		return 1
	case (c == '-' || c == '+' || c == '*') && blankAt(1):
		return 1
	case c == '[' && strings.HasPrefix(s, "[^"):
		if i := strings.Index(s[:min(len(s), 1100)], "]:"); i > 0 {
			return i + 2
		}
	case c >= '0' && c <= '9':
		i := 0
		for i < len(s) && i < 9 && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		if i < len(s) && (s[i] == '.' || s[i] == ')') && blankAt(i+1) {
			return i + 1
		}
	}
	return 0
}

// frontMatter finds the YAML block that GitHub shows as a table instead of the
// text: from a first line `---` to the next one.
func (p *scan) frontMatter(s spot, raw string) {
	if s.line > 1 && p.guards.front >= 0 || raw == "" || raw[0] != '-' || trimRight(raw) != "---" {
		return
	}
	if s.line == 1 {
		p.guards.front = -1
		return
	}
	p.guards.front = s.line
	if p.fence.size > 0 {
		p.add(p.fence.open, Finding{Rule: "front-matter", Message: "this fence starts in the front matter, which GitHub does not show as text; close it before line " +
			fmt.Sprint(s.line)})
	}
}

// finishFrontMatter reports gates inside front matter.
func (p *scan) finishFrontMatter() {
	for _, m := range p.marks {
		if int(m.line) >= p.guards.front {
			return
		}
		if m.kind != fencedLine {
			p.add(m.spot(), Finding{
				Rule: "front-matter", Gate: p.markGate(m),
				Message: fmt.Sprintf("GitHub reads lines 1–%d as front matter and does not show this line as text; start the file with a heading", p.guards.front),
			})
		}
	}
}

func (p *scan) markGate(m mark) string {
	if m.gate < 0 {
		return ""
	}
	return p.doc.Gates[m.gate].ID
}
