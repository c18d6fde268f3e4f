package expect

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gatesworn/gatesworn/internal/escape"
)

// Lengths of what a Miss quotes, in code points.
const (
	maxQuoted = 80  // of the value and of the output
	maxNext   = 200 // of a corrected line: it is shown whole or not at all
)

// Miss says for people why an output does not meet a value. Foreign text in it
// is quoted as Go would, so that it holds no control or invisible character,
// and cut; it still has to be escaped for the place where it is shown.
type Miss struct {
	What string // "the output lacks …", "/^15$/ does not match …"
	Why  string // what is in the way, "" if nothing is known
	Next string // the corrected line, "EXPECT: /^15$/m", "" if there is none
}

// String joins the parts: what: why; next: line. A reason that holds a colon
// itself is set off by a semicolon.
func (m Miss) String() string {
	s := m.What
	switch {
	case strings.Contains(m.Why, ":"):
		s += "; " + m.Why
	case m.Why != "":
		s += ": " + m.Why
	}
	if m.Next != "" {
		s += "; next: " + m.Next
	}
	return s
}

// Explain says why output, for which Match answered false without an error,
// does not meet the value. For a pattern it tries what authors forget (the
// flags m, i and s) at up to Limit each and stops at the first that is slow.
func (e *Engine) Explain(value, output string) Miss {
	x := Parse(value)
	if !x.Pattern {
		return missingText(x.Text, output)
	}
	m := Miss{What: shown(value) + " does not match " + quoted(output)}
	if output == "" {
		m.What = shown(value) + " does not match the empty output"
	}
	for _, f := range forgotten {
		if strings.Contains(x.Flags, f.flag) || f.marks != "" && !strings.ContainsAny(x.Text, f.marks) {
			continue
		}
		y := Expectation{Pattern: true, Text: x.Text, Flags: x.Flags + f.flag}
		ok, err := e.Match(y.String(), output)
		if err != nil {
			return m
		}
		if ok {
			m.Why, m.Next = f.why, next(y)
			if f.flag == "m" && e.stopsAtNewline(value, output) {
				m.Why = "without m, $ stops before a final newline"
			}
			return m
		}
	}
	if plain := uncoloured(output); plain != output {
		if ok, err := e.Match(value, plain); ok && err == nil {
			m.Why = colour
			return m
		}
	}
	if y := (Expectation{Text: x.Text}); x.Text != "" && strings.Contains(output, x.Text) && Parse(x.Text) == y {
		m.Why, m.Next = "the output holds this as plain text", next(y)
	}
	return m
}

// colour is said when a match fails only for escape sequences.
const colour = "it would match without the colour codes in the output: turn colour off in the command"

// uncoloured removes escape sequences.
func uncoloured(output string) string {
	if !strings.Contains(output, "\x1b") {
		return output
	}
	return escape.StripANSI(output)
}

// forgotten lists flags that authors miss (reference/real-ledgers: /^15$/ on
// "15\n"), most common first.
var forgotten = [...]struct{ flag, marks, why string }{
	{"m", "^$", "without m, ^ and $ mean the whole output, not a line"},
	{"i", "", "only upper and lower case differ"},
	{"s", ".", "without s, . does not match a line break"},
}

// stopsAtNewline reports whether only the line ending at the end of the output
// is in the way.
func (e *Engine) stopsAtNewline(value, output string) bool {
	cut, found := strings.CutSuffix(output, "\n")
	if !found {
		return false
	}
	ok, err := e.Match(value, strings.TrimSuffix(cut, "\r"))
	return ok && err == nil
}

// missingText explains a substring that is not there.
func missingText(text, output string) Miss {
	m := Miss{What: "the output lacks " + quoted(text)}
	if output == "" {
		m.Why = "it is empty"
		return m
	}
	if plain := uncoloured(output); plain != output {
		if text != "" && strings.Contains(plain, text) {
			m.Why = colour
			return m
		}
		output = plain
	}
	if line := closest(text, output); line != "" {
		m.Why = "closest line: " + quoted(line)
	}
	return m
}

// next is the ledger line with x as its value.
func next(x Expectation) string {
	line := "EXPECT: " + x.String()
	if utf8.RuneCountInString(line) > maxNext || !printable(line) {
		return ""
	}
	return line
}

// shown gives a value as written where that is legible, else quoted.
func shown(value string) string {
	if printable(value) && utf8.RuneCountInString(value) <= maxQuoted {
		return value
	}
	return quoted(value)
}

func printable(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) < 0
}

// quoted gives s in quotes, or its beginning and its length.
func quoted(s string) string {
	end, n := 0, 0
	for i := range s {
		if n == maxQuoted {
			end = i
			break
		}
		n++
	}
	if end == 0 {
		return strconv.Quote(s)
	}
	return fmt.Sprintf("%s… (%d bytes)", strconv.Quote(s[:end]), len(s))
}
