package render

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/gatesworn/gatesworn/internal/escape"
)

// Cuts of a block, in characters (10-fine-print: a block stays under 700 bytes).
const (
	maxTitle   = 120
	maxCheck   = 160
	maxExpect  = 80
	maxReason  = 200
	maxOutput  = 300
	maxNamed   = 12 // gates named in a verdict line
	passColumn = 58 // titles are padded to here on a terminal
)

// Style says who reads.
type Style struct {
	Terminal bool // titles on PASS, deeper indent, progress
	Color    bool // of the first word only
	Verbose  bool // whole outputs, titles everywhere
	AsPR     bool // signed, not approved
	Approve  bool // withheld gates are being approved: say nothing of what to do next
}

// Text prints a run as it goes on. It implements gates.Observer; its methods are
// called from one goroutine, Tick from any.
type Text struct {
	out   *bufio.Writer
	style Style
	live  *Progress
	err   error
}

// NewText prints to w; live may be nil.
func NewText(w io.Writer, style Style, live *Progress) *Text {
	return &Text{out: bufio.NewWriter(w), style: style, live: live}
}

// Err returns the first error of a write, so that a full disk or a closed pipe is not mistaken for silence.
func (t *Text) Err() error { return t.err }

// Withheld prints a gate whose command may not run.
func (t *Text) Withheld(g gates.Gate) {
	t.print(func(b *strings.Builder) { t.withheld(b, g) })
}

func (t *Text) withheld(b *strings.Builder, g gates.Gate) {
	word := "APPROVAL REQUIRED"
	if t.style.AsPR {
		word = "NOT SIGNED"
	}
	t.head(b, word, g, "")
	if g.Check != "" {
		t.command(b, g)
		if g.CWD != "" && g.CWD != "." {
			t.line(b, "in "+short(g.CWD, maxExpect))
		}
	}
	t.ending(b, "NOT RUN: "+g.Reason, readAll(g))
}

// readAll is the next step of a withheld gate. Who reads a block that cuts the
// command has not read the command.
func readAll(g gates.Gate) string {
	rest, ok := strings.CutPrefix(g.Next, "read it, ")
	if !ok || whole(g.Check, maxCheck) && whole(g.Expect, maxExpect) {
		return g.Next
	}
	return "read all of it with gatesworn explain " + g.Name + ", " + rest
}

// Planned tells the progress line how much there is to do.
func (t *Text) Planned(checks int) {
	if t.live != nil {
		t.live.grow(checks)
	}
}

// Started feeds the progress line.
func (t *Text) Started(name string, at time.Time) {
	if t.live != nil {
		t.live.started(name, at)
	}
}

// Ended feeds the progress line.
func (t *Text) Ended(name string) {
	if t.live != nil {
		t.live.ended(name)
	}
}

// Result prints one gate's outcome; a gate that is met by its claim prints nothing.
func (t *Text) Result(g gates.Gate) {
	if g.State == gates.Blocked && t.live != nil {
		t.live.ended(g.Name) // it was planned and never started
	}
	t.print(func(b *strings.Builder) { t.result(b, g) })
}

func (t *Text) result(b *strings.Builder, g gates.Gate) {
	switch {
	case g.State == gates.Met && g.Run != nil:
		t.passed(b, g)
	case g.State == gates.Met, g.State == gates.Abandoned, g.State == gates.Unapproved:
	case g.State == gates.Failed:
		t.failed(b, g)
	case g.Stale:
		t.head(b, "STALE", g, "")
		t.ending(b, "NOT RUN: "+g.Reason, g.Next)
	case g.State == gates.Removed:
		t.head(b, "REMOVED", g, "")
		t.ending(b, g.Reason, g.Next)
	default:
		t.head(b, "UNMET", g, "")
		t.ending(b, "NOT RUN: "+g.Reason, g.Next)
	}
}

func (t *Text) passed(b *strings.Builder, g gates.Gate) {
	after := ""
	if g.Run.Reused != nil {
		after = "reused, from " + g.Run.Reused.At
	}
	if t.style.Terminal || t.style.Verbose {
		t.head(b, "PASS", g, strings.TrimSpace(took(g)+" "+after))
		return
	}
	t.word(b, "PASS")
	fmt.Fprintf(b, " %s %s\n", g.Name, strings.TrimSpace(took(g)+" "+after))
}

func (t *Text) failed(b *strings.Builder, g gates.Gate) {
	after := took(g)
	if g.Claimed == gates.ClaimedMet && t.style.AsPR {
		after += "   ticked, but fails"
	}
	t.head(b, "FAIL", g, after)
	t.line(b, "$ "+short(g.Check, maxCheck))
	t.line(b, short(g.Reason, maxReason))
	tail := ""
	if g.Run != nil {
		tail = g.Run.Tail
	}
	limit := maxOutput
	if t.style.Verbose {
		limit = len(tail)
	}
	lines, more := gates.Decisive(escape.StripANSI(tail), limit, t.style.Verbose)
	for _, l := range lines {
		t.line(b, "| "+escape.LogLine(l))
	}
	left := ""
	if more > 0 {
		left = fmt.Sprintf("(%d more %s: --verbose)", more, plural(more, "line", "lines"))
	}
	t.ending(b, left, g.Next)
}

// head prints the first line of a block: word, name, title, and what stands after it.
func (t *Text) head(b *strings.Builder, word string, g gates.Gate, after string) {
	t.word(b, word)
	rest := fmt.Sprintf(" %s  %s", g.Name, short(g.Title, maxTitle))
	b.WriteString(rest)
	if after != "" {
		pad := 2
		if t.style.Terminal {
			pad = max(2, passColumn+len(word)-len([]rune(word+rest))+4)
		}
		b.WriteString(strings.Repeat(" ", pad) + after)
	}
	b.WriteByte('\n')
}

// colors of the first word: ANSI 32 green, 31 red, 33 yellow.
func (t *Text) word(b *strings.Builder, word string) {
	if !t.style.Color {
		b.WriteString(word)
		return
	}
	code := "33"
	switch word {
	case "PASS", "ALL MET":
		code = "32"
	case "FAIL", "REMOVED", "UNMET:":
		code = "31"
	}
	b.WriteString("\x1b[" + code + "m" + word + "\x1b[0m")
}

func (t *Text) command(b *strings.Builder, g gates.Gate) {
	t.line(b, "$ "+short(g.Check, maxCheck))
	t.line(b, expectation(g.Expect))
}

// expectation names the blessed way to say that the exit status is enough.
func expectation(value string) string {
	if value == gates.ExitStatusOnly {
		return "EXPECT /^/ (exit status 0 is enough)"
	}
	return "EXPECT " + short(value, maxExpect)
}

func (t *Text) line(b *strings.Builder, s string) {
	b.WriteString(t.indent() + s + "\n")
}

// ending closes a block with what was not done and the one next command.
func (t *Text) ending(b *strings.Builder, what, next string) {
	what = short(what, maxReason)
	switch {
	case next == "":
		if what != "" {
			t.line(b, what)
		}
	case what == "":
		t.line(b, "next: "+short(next, maxReason))
	case len(what)+len(next) > 100:
		t.line(b, what)
		t.line(b, "next: "+short(next, maxReason))
	default:
		t.line(b, what+"   next: "+next)
	}
}

func (t *Text) indent() string {
	if t.style.Terminal {
		return "     "
	}
	return "  "
}

// print writes one block whole and flushes it.
func (t *Text) print(fill func(*strings.Builder)) {
	var b strings.Builder
	fill(&b)
	if b.Len() == 0 {
		return
	}
	if t.live != nil {
		t.live.hide()
	}
	_, err := t.out.WriteString(b.String())
	if flush := t.out.Flush(); err == nil {
		err = flush
	}
	if t.err == nil {
		t.err = err
	}
}

func took(g gates.Gate) string {
	if g.Run == nil {
		return ""
	}
	d := time.Duration(g.Run.DurationMS) * time.Millisecond
	if d >= 100*time.Second {
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%.1fs", d.Seconds())
}

// short makes text safe for one line and cuts it to n characters, marked.
func short(s string, n int) string {
	return escape.Short(escape.LogLine(escape.StripANSI(s)), n)
}

// whole reports whether short leaves s as it is.
func whole(s string, n int) bool {
	return utf8.RuneCountInString(escape.LogLine(escape.StripANSI(s))) <= n
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Approving prints in full what is about to be recorded as approved: nothing is
// cut, and what could not be seen is made visible.
func (t *Text) Approving(g gates.GateRef, files []string, shell string) {
	t.print(func(b *strings.Builder) {
		t.word(b, "APPROVED")
		fmt.Fprintf(b, " %s  %s\n", g.Name, escape.LogLine(g.Gate.Outcome))
		t.line(b, "$ "+escape.LogLine(g.Gate.Check))
		t.line(b, "EXPECT "+escape.LogLine(g.Gate.Expect))
		t.line(b, "in "+escape.LogLine(g.RelDir)+" with "+escape.LogLine(shell))
		for _, a := range g.Gate.Attributes {
			switch a.Key {
			case ledger.Needs, ledger.Inputs, ledger.Timeout, ledger.Env, ledger.Reads, ledger.Writes:
				t.line(b, string(a.Key)+" "+escape.LogLine(a.Value))
			}
		}
		if len(files) > 0 {
			t.line(b, "binds "+escape.LogLine(strings.Join(files, ", ")))
		}
	})
}
