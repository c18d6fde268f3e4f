package lint

import (
	"slices"
	"strings"

	"github.com/gatesworn/gatesworn/gates/expect"
	"github.com/gatesworn/gatesworn/gates/ledger"
)

// What the test runners print, with status 0, where a filter matches no test.
const (
	cargoNone = "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 12 filtered out; finished in 0.00s\n"
	goNone    = "ok  \texample.org/x\t0.002s [no tests to run]\n"
)

// filtered warns of a test run that is narrowed to some tests and met by none:
// renaming the test would leave the gate green.
func (l *linter) filtered(g *ledger.Gate, f *flow) {
	x := expect.Parse(g.Expect)
	for _, list := range f.lists {
		for _, p := range list.pipes {
			none, fix := noTests(&p[0])
			if none == "" || !l.meets(x, g.Expect, []string{none}) {
				continue
			}
			var fixes []string
			if fix != "" {
				fixes = []string{fix}
			}
			l.at(g, ledger.Expect, zeroTests, "this is met as well when the filter in CHECK matches no test; match a number of tests that is not 0", fixes...)
			return
		}
	}
}

// noTests returns what a narrowed test run prints when no test matches, "" for
// any other command, and an EXPECT that tells it apart.
func noTests(c *command) (output, fix string) {
	if len(c.words) < 3 || c.words[1].text != "test" {
		return "", ""
	}
	args := c.words[2:]
	switch c.name() {
	case "cargo":
		if named := cargoFilter(args); named {
			return cargoNone, `EXPECT: /test result: ok\. [1-9]/`
		}
	case "go":
		if slices.ContainsFunc(args, func(w word) bool { return w.text == "-run" || strings.HasPrefix(w.text, "-run=") }) {
			return goNone, ""
		}
	}
	return "", ""
}

// cargoValued are options of cargo test that take the next word.
var cargoValued = []string{
	"-p", "--package", "--exclude", "--test", "--bin", "--example", "--bench", "--features", "-F",
	"--manifest-path", "--target", "--target-dir", "-j", "--jobs", "--profile", "--color",
}

// cargoFilter reports a test name among the arguments of cargo test.
func cargoFilter(args []word) bool {
	for i := 0; i < len(args); i++ {
		t := args[i].text
		switch {
		case slices.Contains(cargoValued, t):
			i++
		case t == "--":
			return i+1 < len(args) && !strings.HasPrefix(args[i+1].text, "-")
		case !strings.HasPrefix(t, "-"):
			return true
		}
	}
	return false
}
