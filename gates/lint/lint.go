package lint

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gatesworn/gatesworn/gates/expect"
	"github.com/gatesworn/gatesworn/gates/ledger"
)

// Finding is one thing to say about a ledger.
type Finding struct {
	File string // the document's path
	ledger.Finding
}

// Rule is one kind of advice.
type Rule struct {
	Name string // stable
	Says string // what it looks for, for docs
}

// Rules returns the rules of this package, unlazy's first. The findings of
// ledger.Parse have rules of their own.
func Rules() []Rule {
	return []Rule{
		{tautological, "CHECK prints a fixed text or only succeeds: it observes nothing"},
		{weakExpect, "EXPECT is a word that failures print as well (`ok`, `done`, `true`, …)"},
		{pathPattern, "EXPECT between slashes looks like a path and is read as a pattern"},
		{manualGate, "no CHECK: a person judges the outcome"},
		{unmeasured, "a manual gate whose title states a number"},
		{activity, "the title names an activity (`improve …`), not an outcome"},
		{mostlyManual, "fewer than half of a ledger's gates have a CHECK"},
		{cannotFail, "the command succeeds whatever happens, and EXPECT does not tell"},
		{exitIgnored, "a fallback or a pipe hides the exit status; only EXPECT decides"},
		{ownEcho, "CHECK itself prints what EXPECT wants, whatever happens"},
		{anyOutput, "every output matches EXPECT; `/^/` says so plainly"},
		{emptyOutput, "EXPECT is met by no output at all"},
		{zeroTests, "a test run narrowed by a filter, with an EXPECT that is met when no test matches"},
		{bareNumber, "EXPECT is a number, which is part of longer numbers"},
		{anchor, "`$` without the flag `m` stops before the final newline"},
		{slashPattern, "EXPECT between slashes is a pattern, with slashes inside"},
		{escapedExpect, "`\\n` in a plain EXPECT is a backslash and an n"},
		{quotedExpect, "quotes or backticks around EXPECT are part of it"},
		{quotedCheck, "backticks or quotes around the whole CHECK"},
		{machinePath, "a path that exists on one machine"},
		{implicitInputs, "INPUTS leaves out a file that CHECK reads or runs (package.json, Makefile, a script)"},
		{sharedWrites, "several gates write the same thing and say nothing of it in WRITES"},
		{unknownKey, "an upper-case key that is no attribute"},
	}
}

// The names of the rules. The first seven are unlazy's.
const (
	tautological = "tautological-check"
	weakExpect   = "weak-expect"
	pathPattern  = "path-read-as-regex"
	manualGate   = "manual-gate"
	unmeasured   = "unmeasured-number"
	activity     = "activity-not-outcome"
	mostlyManual = "mostly-manual"

	cannotFail     = "cannot-fail"
	exitIgnored    = "exit-ignored"
	ownEcho        = "own-echo"
	anyOutput      = "any-output"
	emptyOutput    = "empty-output"
	zeroTests      = "zero-tests"
	bareNumber     = "bare-number"
	anchor         = "anchor-without-m"
	slashPattern   = "slash-pattern"
	escapedExpect  = "escaped-expect"
	quotedExpect   = "quoted-expect"
	quotedCheck    = "quoted-check"
	machinePath    = "machine-path"
	implicitInputs = "implicit-inputs"
	sharedWrites   = "shared-writes"
	unknownKey     = "unknown-key"
)

// Check returns everything there is to say about a document, in line order: what
// Parse found, and advice on every gate that is not abandoned. A document with
// an error gets no advice: its gates are only what could be read. Where Parse
// and a rule of this package look at the same thing, the rule speaks, because
// Parse folds repeats.
func Check(doc *ledger.Document) []Finding {
	l := &linter{doc: doc, engine: expect.New(), probed: map[string]probe{}}
	defer l.engine.Close()
	for _, f := range doc.Findings {
		if !doc.OK() || !redone(f.Rule) {
			l.out = append(l.out, f)
		}
		if f.Rule == "expect-continues" {
			l.continued = append(l.continued, f.Gate)
		}
	}
	if doc.OK() {
		l.advise()
	}
	slices.SortStableFunc(l.out, func(a, b ledger.Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	findings := make([]Finding, len(l.out))
	for i, f := range l.out {
		findings[i] = Finding{File: doc.Path, Finding: f}
	}
	return findings
}

// redone reports the rules of Parse that a rule of this package replaces.
func redone(rule string) bool {
	return rule == cannotFail || rule == bareNumber || rule == slashPattern || rule == unknownKey
}

// linter is one Check.
type linter struct {
	doc       *ledger.Document
	engine    *expect.Engine
	probed    map[string]probe
	slow      int // matches that took too long
	starts    []int
	continued []string // gates whose EXPECT goes on over a second line
	out       []ledger.Finding
}

func (l *linter) advise() {
	for i := range l.doc.Gates {
		g := &l.doc.Gates[i]
		if g.AbandonedLine > 0 {
			continue
		}
		l.outcome(g)
		if !g.Runnable() {
			continue
		}
		l.command(g)
		l.expectation(g)
		l.places(g)
		l.inputs(g)
	}
	l.unknownKeys()
	l.together()
	l.share()
}

// at adds a finding at an attribute of the gate, or at its title where the
// attribute is missing.
func (l *linter) at(g *ledger.Gate, key ledger.Key, rule, message string, fix ...string) {
	line, title := g.Line, true
	for _, a := range g.Attributes {
		if a.Key == key {
			line, title = a.Line, false
		}
	}
	source := l.source(line)
	indent := len(source) - len(strings.TrimLeft(source, " \t"))
	column := indent + 1
	if title {
		column = len("- [ ] ") + 1
	}
	for i := range fix {
		if !title {
			fix[i] = source[:indent] + fix[i]
		}
	}
	l.out = append(l.out, ledger.Finding{
		Line: line, Column: column, Level: ledger.Warning, Gate: g.ID, Rule: rule,
		Message: message, Source: source, Fix: fix,
	})
}

// maxSource is how many code points of a line a finding keeps.
const maxSource = 1000

// source returns a line of the ledger without its ending.
func (l *linter) source(line int) string {
	data := l.doc.Bytes()
	if l.starts == nil {
		l.starts = []int{0}
		for i, c := range data {
			if c == '\n' {
				l.starts = append(l.starts, i+1)
			}
		}
	}
	if line < 1 || line > len(l.starts) {
		return ""
	}
	rest := data[l.starts[line-1]:]
	if i := bytes.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	s := strings.TrimSuffix(string(rest[:min(len(rest), 4*maxSource)]), "\r")
	return short(strings.ToValidUTF8(s, "\uFFFD"), maxSource)
}

// short cuts s to n code points, the cut marked.
func short(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	count := 0
	for i := range s {
		if count == n-1 {
			return s[:i] + "…"
		}
		count++
	}
	return s
}

// unknownKeys warns of every key that means nothing here.
func (l *linter) unknownKeys() {
	for _, u := range l.doc.UnknownKeys {
		source := l.source(u.Line)
		body := strings.TrimLeft(source, " \t")
		indent := source[:len(source)-len(body)]
		f := ledger.Finding{
			Line: u.Line, Column: len(indent) + 1, Level: ledger.Warning, Gate: u.Gate, Rule: unknownKey, Source: source,
			Message: fmt.Sprintf("%s is not an attribute and changes nothing", short(u.Key, 40)),
		}
		if u.Nearest != "" {
			_, value, _ := strings.Cut(body, ":")
			f.Message += fmt.Sprintf("; did you mean %s?", u.Nearest)
			f.Fix = []string{indent + string(u.Nearest) + ": " + strings.TrimSpace(value)}
		}
		l.out = append(l.out, f)
	}
}

// Fold makes one finding of four or more of a rule in one file, in order: the
// first, with the number of the others. It is for people; editors want each.
func Fold(findings []Finding) []Finding {
	type kind struct{ file, rule string }
	count := map[kind]int{}
	for _, f := range findings {
		count[kind{f.File, f.Rule}]++
	}
	var out []Finding
	seen := map[kind]int{} // index into out, plus one
	for _, f := range findings {
		k := kind{f.File, f.Rule}
		if count[k] < 4 || f.Level != ledger.Warning {
			out = append(out, f)
			continue
		}
		if i := seen[k]; i > 0 {
			continue
		}
		f.Message += fmt.Sprintf(" … and %d more: %s", count[k]-1, named(findings, f))
		out = append(out, f)
		seen[k] = len(out)
	}
	return out
}

// named lists the gates, or else the lines, of the other findings like f.
func named(findings []Finding, f Finding) string {
	var names []string
	for _, o := range findings {
		if o.File != f.File || o.Rule != f.Rule || o.Line == f.Line && o.Column == f.Column {
			continue
		}
		if len(names) == 8 {
			names = append(names, "…")
			break
		}
		if o.Gate != "" {
			names = append(names, o.Gate)
		} else {
			names = append(names, fmt.Sprintf("line %d", o.Line))
		}
	}
	return strings.Join(names, ", ")
}
