package ledger

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// tag is an opening or closing HTML tag of an element that changes how all that
// follows appears: details folds it away, the others may drop it.
type tag struct {
	at   int
	name string
	open bool
}

const swallowers = "template select svg math datalist"

// swallowing reports whether gates inside the element may not be shown at all.
func (t tag) swallowing() bool { return t.name != "details" }

func watched(name string) bool { return name == "details" || among(swallowers, name) }

// holdsTag reports whether a line may hold a watched tag.
func holdsTag(line []byte) bool {
	found := false
	eachTag(line, func(int, string, bool) { found = true })
	return found
}

// tagsIn collects the watched tags of an HTML block.
func (l *layout) tagsIn(n *ast.HTMLBlock) {
	lines := n.Lines()
	if lines.Len() == 0 {
		return
	}
	start, stop := lines.At(0).Start, lines.At(lines.Len()-1).Stop
	if n.HasClosure() {
		stop = max(stop, n.ClosureLine.Stop)
	}
	eachTag(l.source[start:stop], func(at int, name string, open bool) {
		l.tags = append(l.tags, tag{at: start + at, name: name, open: open})
	})
}

// eachTag calls f for each watched tag outside comments.
func eachTag(b []byte, f func(at int, name string, open bool)) {
	for i := 0; i < len(b); {
		n := bytes.IndexByte(b[i:], '<')
		if n < 0 {
			return
		}
		i += n
		if bytes.HasPrefix(b[i:], []byte("<!--")) {
			end := bytes.Index(b[i+4:], []byte("-->"))
			if end < 0 {
				return
			}
			i += 4 + end
			continue
		}
		at := i
		i++
		open := i >= len(b) || b[i] != '/'
		if !open {
			i++
		}
		end := i
		for end < len(b) && (alnum(b[end]) || b[end] == '-') {
			end++
		}
		name := strings.ToLower(string(b[i:min(end, i+12)]))
		i = end
		if !watched(name) {
			continue
		}
		rest := tagRest(b[end:])
		if name == "details" && hasWord(rest, "open") {
			continue // shown unfolded
		}
		if open && (name == "svg" || name == "math") && bytes.HasSuffix(rest, []byte("/")) {
			continue // empty
		}
		f(at, name, open)
	}
}

// tagRest is what stands between a tag's name and its end.
func tagRest(b []byte) []byte {
	quote := byte(0)
	for i, c := range b {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return b[:i]
		}
	}
	return b
}

func hasWord(b []byte, word string) bool {
	for _, w := range bytes.Fields(b) {
		name, _, _ := strings.Cut(string(w), "=")
		if strings.EqualFold(name, word) {
			return true
		}
	}
	return false
}
