package lint

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gatesworn/gatesworn/gates/expect"
	"github.com/gatesworn/gatesworn/gates/ledger"

	"github.com/gatesworn/gatesworn/internal/lazyregexp"
)

// weakWords are unlazy's: each of them is common in the output of a failure.
var weakWords = []string{
	"ok", "okay", "done", "pass", "passed", "success", "successful", "succeeded", "complete", "completed",
	"finished", "yes", "true", "0", "good", "fine", "working",
}

var (
	number     = lazyregexp.New(`^[0-9]+$`)
	innerSlash = lazyregexp.New(`(^|[^\\])/`) // unlazy's test
	pathLike   = lazyregexp.New(`^[A-Za-z0-9_.~@+/ -]+$`)
	quoted     = lazyregexp.New("^(?:\"[^\"]*\"|'[^']*'|`[^`]*`)$")
	escapes    = lazyregexp.New(`\\[nrt]`)
	discards   = lazyregexp.New(`(?:2|&)>{1,2}\s*/dev/null|2>&-`)
)

// expectation looks at EXPECT.
func (l *linter) expectation(g *ledger.Gate) {
	x := expect.Parse(g.Expect)
	l.weak(g, x)
	if !x.Pattern {
		l.plain(g)
		return
	}
	l.slashes(g, x)
	if g.Expect == "/^/" {
		return
	}
	p := l.probe(g.Expect)
	switch {
	case p.any:
		l.at(g, ledger.Expect, anyOutput, "every output matches this; /^/ says plainly that exit status 0 is enough", "EXPECT: /^/")
	case p.empty && (x.Text != "^$" || discards.MatchString(g.Check)):
		says := "no output at all matches this: a command that did nothing passes; match a line that only success prints"
		if x.Text == "^$" {
			says = "no output is what EXPECT wants, and CHECK throws its messages away; let them be seen"
		}
		l.at(g, ledger.Expect, emptyOutput, says)
	case !p.empty && !strings.Contains(x.Flags, "m") && endsAtDollar(x.Text):
		l.at(g, ledger.Expect, anchor, "without m, $ stops before the newline that ends nearly every output",
			"EXPECT: /"+x.Text+"/"+sortedFlags(x.Flags+"m"))
	}
}

// weak warns of words that failures print too.
func (l *linter) weak(g *ledger.Gate, x expect.Expectation) {
	if !slices.Contains(weakWords, strings.ToLower(x.Text)) {
		return
	}
	fix := "EXPECT: /^/"
	if x.Text == "0" {
		fix = "EXPECT: /^0$/m"
	}
	l.at(g, ledger.Expect, weakExpect, fmt.Sprintf("failures print %q as well; match a line that only success prints, or /^/ if exit status 0 is enough", x.Text), fix)
}

// plain looks at an EXPECT that is a text.
func (l *linter) plain(g *ledger.Gate) {
	switch {
	case number.MatchString(g.Expect) && g.Expect != "0" && !slices.Contains(l.continued, g.ID):
		l.at(g, ledger.Expect, bareNumber,
			fmt.Sprintf("%s also matches %s; a pattern says exactly that line", short(g.Expect, 20), longer(g.Expect)), "EXPECT: /^"+g.Expect+"$/m")
	case quoted.MatchString(g.Expect):
		inner := g.Expect[1 : len(g.Expect)-1]
		if inner == "" {
			return
		}
		l.at(g, ledger.Expect, quotedExpect, "the marks around EXPECT are part of it: the output would have to hold them", "EXPECT: "+inner)
	case escapes.MatchString(g.Expect):
		m := escapes.FindString(g.Expect)
		l.at(g, ledger.Expect, escapedExpect, fmt.Sprintf("this is plain text: `%s` is a backslash and a letter; a pattern reads it as you mean", m),
			"EXPECT: /"+quotePattern(g.Expect)+"/")
	}
}

func longer(n string) string {
	if len(n) > 12 {
		return "longer numbers"
	}
	if n[0] == '0' {
		return "1" + n
	}
	return n + "0 and 2" + n
}

// quotePattern writes a text as the source of a pattern, its \n, \r and \t kept.
func quotePattern(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' && i+1 < len(s) && strings.IndexByte("nrt", s[i+1]) >= 0:
			b.WriteString(s[i : i+2])
			i++
		case strings.IndexByte(`\^$.*+?()[]{}|/`, c) >= 0:
			b.WriteByte('\\')
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// slashes warns of a pattern that holds slashes: it may be meant as a path.
func (l *linter) slashes(g *ledger.Gate, x expect.Expectation) {
	if !innerSlash.MatchString(x.Text) {
		return
	}
	escaped := innerSlash.ReplaceAllString(x.Text, `$1\/`)
	fix := "EXPECT: /" + escaped + "/" + x.Flags
	if pathLike.MatchString(x.Text) {
		l.at(g, ledger.Expect, pathPattern, "this looks like a path and is read as a pattern, in which a dot stands for anything; as a text it must not begin and end in a slash",
			"EXPECT: "+strings.Trim(x.Text, "/"))
		return
	}
	l.at(g, ledger.Expect, slashPattern, "EXPECT between slashes is a pattern, its dots are wildcards; escape the inner slashes to keep it, or drop the outer ones for a plain text", fix)
}

// endsAtDollar reports a pattern with a $ that stands for the end of the output
// and no white space before it.
func endsAtDollar(source string) bool {
	class := false
	for i := 0; i < len(source); i++ {
		switch source[i] {
		case '\\':
			i++
		case '[':
			class = true
		case ']':
			class = false
		case '$':
			before := source[:i]
			if !class && !strings.HasSuffix(before, `\n`) && !strings.HasSuffix(before, `\n?`) && !strings.HasSuffix(before, `\s`) &&
				!strings.HasSuffix(before, `\s*`) && !strings.HasSuffix(before, `\s+`) && !strings.HasSuffix(before, `\s?`) {
				return true
			}
		}
	}
	return false
}

func sortedFlags(flags string) string {
	b := []byte(flags)
	slices.Sort(b)
	return string(b)
}

// probe is what a pattern makes of some outputs.
type probe struct{ any, empty bool }

// failures are outputs that no check should pass with. Each ends in a newline, as
// nearly every output does: /^$/m finds the empty line behind it.
var failures = []string{"error\n", "FAIL: 1 of 2\n", "x\n", "panic: nil\n\nat a.js:1:2\n"}

// probe matches a pattern against no output and against failures.
func (l *linter) probe(value string) probe {
	if p, ok := l.probed[value]; ok {
		return p
	}
	p := probe{empty: l.match(value, "")}
	p.any = p.empty
	for _, f := range failures {
		p.any = p.any && l.match(value, f)
	}
	l.probed[value] = p
	return p
}

// maxSlow is how many patterns may be slow before none is tried any more.
const maxSlow = 3

// match is a match that answers false where it takes too long or cannot be made.
func (l *linter) match(value, output string) bool {
	if l.slow >= maxSlow {
		return false
	}
	ok, err := l.engine.Match(value, output)
	if errors.Is(err, expect.ErrTimeout) {
		l.slow++
	}
	return ok && err == nil
}

// everything reports an EXPECT that every output meets.
func (l *linter) everything(value string) bool {
	return value == "/^/" || expect.Parse(value).Pattern && l.probe(value).any
}
