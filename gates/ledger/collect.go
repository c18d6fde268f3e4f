package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Repeats: up to foldAt-1 findings of one rule stand by themselves; from foldAt
// on they are one finding that counts the other lines.
const (
	foldAt      = 4
	foldNamed   = 5    // line numbers a folded finding names
	maxSource   = 1000 // code points of a line kept in Finding.Source
	maxKept     = 16   // findings of one rule kept, however few lines they are on
	maxFixBytes = 4000
)

// noted is a finding with the offset it stands at.
type noted struct {
	Finding
	at    int
	after []string // fix lines behind the one that finishFixes writes
}

// fold is what is known of one rule: its first findings and how many more.
type fold struct {
	kept  []*noted
	lines []int // of the repeats, the first foldNamed
	more  int   // lines beyond kept[0]
	last  int   // last line counted, so that one line counts once
}

// collector gathers findings in memory that does not grow with their number.
type collector struct {
	text  string
	folds map[string]*fold
	order []string
}

// spot is a position in the text: the line's bounds and number, and the byte
// within it that a finding points at.
type spot struct {
	start, end int // of the line, without its ending
	line       int // from 1
	at         int // absolute offset
}

// add notes a finding and returns it for later additions, or nil when it is a
// repeat that will only be counted.
func (c *collector) add(s spot, f Finding) *noted {
	key := f.Rule + " " + f.Level.String()
	k := c.folds[key]
	if k == nil {
		k = &fold{}
		c.folds[key] = k
		c.order = append(c.order, key)
	}
	if len(k.kept) > 0 && s.line != k.last {
		k.more++
		if len(k.lines) < foldNamed {
			k.lines = append(k.lines, s.line)
		}
	}
	k.last = s.line
	if k.more >= foldAt-1 || len(k.kept) >= maxKept {
		return nil
	}
	f.Line = s.line
	if s.line > 0 {
		f.Column = 1 + utf8.RuneCountInString(c.text[s.start:s.at])
		f.Source = cutRunes(c.text[s.start:s.end], maxSource)
	}
	for i, l := range f.Fix {
		if len(l) > maxFixBytes {
			f.Fix = f.Fix[:i] // a fix that nobody could read
			break
		}
	}
	n := &noted{Finding: f, at: s.at}
	k.kept = append(k.kept, n)
	return n
}

// full reports that a further finding of this rule would only be counted, so
// that its message need not be worked out.
func (c *collector) full(rule string, level Level) bool {
	k := c.folds[rule+" "+level.String()]
	return k != nil && (k.more >= foldAt-1 || len(k.kept) >= maxKept)
}

// findings returns everything in line order, repeats folded.
func (c *collector) findings() []Finding {
	var all []*noted
	for _, key := range c.order {
		k := c.folds[key]
		slices.SortStableFunc(k.kept, inOrder)
		if k.more < foldAt-1 {
			all = append(all, k.kept...)
			continue
		}
		first := k.kept[0]
		first.Message += k.suffix()
		all = append(all, first)
	}
	slices.SortStableFunc(all, inOrder)
	out := make([]Finding, len(all))
	for i, n := range all {
		out[i] = n.Finding
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// inOrder sorts by position, findings about the whole file first.
func inOrder(a, b *noted) int { return cmp.Or(a.Line-b.Line, a.at-b.at) }

func (k *fold) suffix() string {
	named := make([]string, 0, foldNamed+1)
	for _, l := range k.lines {
		named = append(named, strconv.Itoa(l))
	}
	if k.more > len(k.lines) {
		named = append(named, "…")
	}
	return fmt.Sprintf(" … and %d more lines (%s)", k.more, strings.Join(named, ", "))
}

// cutRunes shortens s to at most n code points, a cut marked by an ellipsis.
func cutRunes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	count := 0
	for i := range s {
		if count == n {
			return s[:i] + "…"
		}
		count++
	}
	return s
}
