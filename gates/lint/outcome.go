package lint

import (
	"fmt"
	"strings"

	"github.com/gatesworn/gatesworn/gates/ledger"

	"github.com/gatesworn/gatesworn/internal/lazyregexp"
)

var (
	digit = lazyregexp.New(`[0-9]`)
	// activities are unlazy's.
	activities = lazyregexp.New(`(?i)^(?:work on|improve|enhance|handle|support|ensure|make sure|try|attempt|look at|look into|investigate|consider|` +
		`review|refactor|clean up|polish|update|tidy|address|deal with|add support)\b`)
)

// maxQuoted is how much of a title, command or value a message repeats.
const maxQuoted = 60

// outcome looks at what a gate promises.
func (l *linter) outcome(g *ledger.Gate) {
	if m := activities.FindString(g.Outcome); m != "" {
		l.at(g, "", activity, fmt.Sprintf("%q is an activity: nobody can say when it is met; say what is true afterwards", strings.ToLower(m)))
	}
	if g.Runnable() {
		return
	}
	l.at(g, "", manualGate, "no CHECK: a person judges this, and the evidence is worth what they wrote")
	if digit.MatchString(g.Outcome) {
		l.at(g, "", unmeasured, "the title states a number that nothing measures; give it a CHECK that prints the number")
	}
}

// together looks at a ledger as a whole.
func (l *linter) together() {
	runnable, all := 0, 0
	for i := range l.doc.Gates {
		g := &l.doc.Gates[i]
		if g.AbandonedLine > 0 {
			continue
		}
		all++
		if g.Runnable() {
			runnable++
		}
	}
	if 2*runnable >= all {
		return
	}
	l.out = append(l.out, ledger.Finding{
		Level: ledger.Warning, Rule: mostlyManual,
		Message: fmt.Sprintf("only %d of %d gates have a CHECK: most of this ledger is measured by nobody", runnable, all),
	})
}
