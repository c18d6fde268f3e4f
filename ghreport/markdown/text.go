package markdown

import (
	"slices"
	"strings"

	"github.com/gatesworn/gatesworn/internal/escape"
	"github.com/gatesworn/gatesworn/internal/lazyregexp"
)

// urlSafe is what a link's target may consist of; the rest gives no link.
var urlSafe = lazyregexp.New(`^https?://[A-Za-z0-9._~:/?#\[\]@!$&'*+,;=%-]+$`)

func link(text, to string) string {
	if !urlSafe.MatchString(to) {
		return ""
	}
	return "[" + inline(text) + "](" + to + ")"
}

// shorten cuts s after n characters and marks the cut.
func shorten(s string, n int) string { return escape.Short(s, n) }

// telling are words of lines that say why something failed, the most telling
// first: what was expected, then what failed, then that something did.
var telling = [...][]string{
	{"assert", "expected", "error:", "panic:", "fatal", "exception", "not found", "no such", "denied", "undefined", "cannot"},
	{"fail ", "fail:", "--- fail", "not ok", "error", "missing", "mismatch"},
	{"fail", "unexpected", "warning"},
}

// decisiveScan is how much of the end of an output is searched for such lines.
const decisiveScan = 4 << 10

// decisive picks at most n lines of output that say why: the ones with telling
// words, in their order, else the last ones. Lines are cut at 200 bytes.
func decisive(tail string, n int) string {
	var hits [len(telling)][]int
	var lines []string
	for l := range strings.SplitSeq(clean(lastRunes(tail, decisiveScan)), "\n") {
		if l = strings.TrimSpace(l); l == "" {
			continue
		}
		lines = append(lines, shorten(l, 200))
		if rank, ok := rank(l); ok {
			hits[rank] = append(hits[rank], len(lines)-1)
		}
	}
	pick := append(hits[0], hits[1]...)
	if len(pick) == 0 {
		pick = hits[2]
	}
	pick = pick[:min(n, len(pick))]
	slices.Sort(pick)
	if len(pick) == 0 {
		return strings.Join(lines[max(0, len(lines)-n):], "\n")
	}
	var out []string
	for _, i := range pick {
		out = append(out, lines[i])
	}
	return strings.Join(out, "\n")
}

// rank says how telling a line is, 0 the most.
func rank(line string) (int, bool) {
	low := strings.ToLower(line)
	for i, words := range telling {
		for _, w := range words {
			if strings.Contains(low, w) {
				return i, true
			}
		}
	}
	return 0, false
}

// The sinks of this package, by the names it uses.

// clean is text of several lines that may go into a fence or an annotation.
func clean(s string) string { return escape.Block(s) }

// oneLine is text of one line, without markup of its own.
func oneLine(s string) string { return strings.TrimSpace(escape.Line(strings.TrimSpace(s))) }

func inline(s string) string { return escape.Inline(s) }

func cell(s string) string { return escape.Cell(s) }

// codeSpan is for running text; no table of ours holds code.
func codeSpan(s string) string { return escape.CodeSpan(strings.TrimSpace(s)) }
