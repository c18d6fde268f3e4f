package lint

import (
	"fmt"
	"strings"

	"github.com/gatesworn/gatesworn/gates/expect"
	"github.com/gatesworn/gatesworn/gates/ledger"

	"github.com/gatesworn/gatesworn/internal/lazyregexp"
)

var (
	// fixed is unlazy's test for a command that prints a fixed text; a command
	// substitution observes something and is looked at further on.
	fixed      = lazyregexp.New(`(?i)^\s*(?:(?:echo|printf)(?:\s+[^&|;]*)?|true|:|exit\s+0)\s*$`)
	substitute = lazyregexp.New("\\$\\(|`")
	wrapped    = lazyregexp.New("^(?:`[^`]+`|\"[^\"]+\"|'[^']+')$")
)

// command looks at whether CHECK can fail.
func (l *linter) command(g *ledger.Gate) {
	if wrapped.MatchString(g.Check) {
		inner := g.Check[1 : len(g.Check)-1]
		says := "the quotes around CHECK make one word of it, which is looked up as a command"
		if g.Check[0] == '`' {
			says = "backticks around CHECK run what the command prints, not the command alone"
		}
		l.at(g, ledger.Check, quotedCheck, says, "CHECK: "+inner)
		return
	}
	f, followed := parse(g.Check)
	if fixed.MatchString(g.Check) && !substitute.MatchString(g.Check) || followed && f.fixed() {
		l.at(g, ledger.Check, tautological, fmt.Sprintf("`%s` prints a fixed text: it observes nothing of the outcome", short(g.Check, maxQuoted)))
		return
	}
	if followed {
		l.canFail(g, &f)
		l.filtered(g, &f)
	}
}

// canFail compares what a CHECK prints and returns whatever happens with EXPECT.
func (l *linter) canFail(g *ledger.Gate, f *flow) {
	x := expect.Parse(g.Expect)
	regardless, fallback := f.printed()
	everything := l.everything(g.Expect)
	own := !everything && l.meets(x, g.Expect, regardless)
	c, always := f.always()
	told := l.meets(x, g.Expect, fallback)
	switch {
	case always && (everything || own):
		l.cannotFail(g, c)
	case always && told && !searches(c.left):
		l.cannotFail(g, c)
	case own:
		l.at(g, ledger.Expect, ownEcho, "CHECK prints this itself, whatever happens: only the exit status decides; /^/ says so", "EXPECT: /^/")
	case always && !told && !l.toldApart(x, g.Expect, f, c) && !harmless(c):
		l.at(g, ledger.Check, exitIgnored, fmt.Sprintf("`%s` hides the exit status: only EXPECT decides", short(c.text, maxQuoted)), c.fix(g.Check)...)
	}
}

func (l *linter) cannotFail(g *ledger.Gate, c culprit) {
	message := fmt.Sprintf("this check cannot fail; drop `%s`", short(c.text, maxQuoted))
	switch {
	case c.op == "":
		message = fmt.Sprintf("this check cannot fail: `%s` exits 0 whatever it finds", short(c.text, maxQuoted))
	case c.op == "|" && c.cut == 0:
		message = fmt.Sprintf("this check cannot fail: its exit status is that of `%s`", short(strings.TrimLeft(c.text, "| "), maxQuoted))
	case c.op == "&":
		message = "this check cannot fail: the `&` at its end means that nobody waits for the result"
	case c.op == ";" && c.left.name() != "true" && c.last.name() != "true" && c.last.name() != ":" && c.last.name() != "exit":
		message = fmt.Sprintf("this check cannot fail: `%s` runs whatever came before; && runs it after a success", short(strings.TrimLeft(c.text, "; "), maxQuoted))
		l.at(g, ledger.Check, cannotFail, message, "CHECK: "+strings.TrimSpace(g.Check[:c.cut])+" && "+strings.TrimLeft(c.text, "; "))
		return
	}
	l.at(g, ledger.Check, cannotFail, message, c.fix(g.Check)...)
}

// fix is the CHECK without the culprit.
func (c culprit) fix(check string) []string {
	if c.cut <= 0 || strings.TrimSpace(check[:c.cut]) == "" {
		return nil
	}
	return []string{"CHECK: " + strings.TrimSpace(check[:c.cut])}
}

// harmless reports a pipe whose left side only looks something up, and
// a fallback behind such a command: its failure is an answer.
func harmless(c culprit) bool {
	return (c.op == "|" || c.op == "||") && searches(c.left) || c.op == "" && c.last.name() != "echo" && c.last.name() != "printf"
}

// toldApart reports the form `a && echo yes || echo no` where EXPECT is yes: the
// output tells what the exit status does not.
func (l *linter) toldApart(x expect.Expectation, value string, f *flow, c culprit) bool {
	if c.op != "||" {
		return false
	}
	chain := f.lists[len(f.lists)-1]
	n := len(chain.ops)
	if n < 2 || chain.ops[n-2] != "&&" {
		return false
	}
	text, ok := echoes(chain.pipes[n-1].last())
	return ok && l.meets(x, value, []string{text})
}

// meets reports whether one of the texts, in which a NUL stands for what is not
// known, meets EXPECT.
func (l *linter) meets(x expect.Expectation, value string, texts []string) bool {
	for _, t := range texts {
		if !x.Pattern {
			if x.Text != "" && strings.Contains(t, x.Text) {
				return true
			}
			continue
		}
		if strings.IndexByte(t, 0) < 0 && l.match(value, t) {
			return true
		}
	}
	return false
}

// fixed reports a CHECK of which every command prints a fixed text, or only
// filters such a text.
func (f *flow) fixed() bool {
	for _, l := range f.lists {
		for _, p := range l.pipes {
			for i := range p {
				c := &p[i]
				if i > 0 && (filters(c) || c.name() == "grep" || c.name() == "xargs") && operands(c) <= 1 && c.name() != "tee" {
					continue
				}
				if !prints(c) {
					return false
				}
			}
		}
	}
	return true
}

// prints reports a command that observes nothing: its words are all literal.
func prints(c *command) bool {
	switch c.name() {
	case "echo", "printf", "true", ":":
	case "exit":
		return len(c.words) == 2 && c.words[1].text == "0"
	default:
		return false
	}
	for _, w := range c.words {
		if !w.literal() {
			return false
		}
	}
	for _, r := range c.redirects {
		if r.op != ">&" {
			return false // it writes a file
		}
	}
	return !c.group && !c.negated
}

// operands counts the words of a command that are no options.
func operands(c *command) int {
	n := 0
	for _, w := range c.words[min(1, len(c.words)):] {
		if !strings.HasPrefix(w.text, "-") {
			n++
		}
	}
	return n
}
