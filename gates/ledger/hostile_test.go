package ledger_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gatesworn/gatesworn/gates/ledger"
)

const okGate = "- [ ] G1: a\n  CHECK: x\n  EXPECT: y\n"

// hostile are inputs made to hurt; refused says whether they must be.
func hostile() map[string]struct {
	text    string
	refused bool
} {
	binary := make([]byte, 1<<20)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range binary {
		binary[i] = byte(r.Uint32())
	}
	staircase := func(step int, n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.Repeat(" ", i*step) + "- x\n")
		}
		return b.String()
	}
	definitions := func(format string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	cycle := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "- [ ] G%d: a\n  NEEDS: G%d\n", i, (i+1)%n)
		}
		return b.String()
	}
	type input = struct {
		text    string
		refused bool
	}
	return map[string]input{
		"binary":                    {string(binary), true},
		"NULs":                      {strings.Repeat("\x00", 1<<20), true},
		"a line of 10 MB":           {strings.Repeat("x", 10<<20), true},
		"a line of 8 MB":            {okGate + strings.Repeat("x", 8_000_000), false},
		"100 000 gates without ids": {strings.Repeat("- [ ] no id\n", 100_000), true},
		"100 000 orphans":           {strings.Repeat("# h\n  CHECK: x\n", 100_000), true},
		"100 000 repeats":           {strings.Repeat(okGate, 100_000), true},
		"100 000 hidden gates":      {"<!--\n" + definitions("- [ ] G%d: a\n", 100_000) + "-->\n", true},
		"100 001 gates":             {definitions("- [ ] G%d: a\n", 100_001), true},
		"quotes":                    {okGate + "\n" + strings.Repeat("> ", 5000) + "x\n", true},
		"quotes on many lines":      {okGate + "\n" + strings.Repeat(strings.Repeat("> ", 32)+"x\n", 5000), false},
		"list markers on a line":    {okGate + "\n" + strings.Repeat("- ", 32<<10) + "x\n", true},
		"a staircase of lists":      {okGate + "\n" + staircase(2, 2000), true},
		"a short staircase":         {okGate + "\n" + staircase(2, 33) + strings.Repeat("\n", 200_000), false},
		"link definitions":          {definitions("[a%d]: /x\n", 100_000) + "\n" + okGate, true},
		"999 link definitions":      {definitions("[a%d]: /x\n", 999) + "\n" + okGate, false},
		"labels over two lines":     {definitions("[a\nb%d]: /x\n", 50_000) + "\n" + okGate, true},
		"footnotes":                 {definitions("[^a%d]: x\n", 100_000) + "\n" + okGate, true},
		"references":                {definitions("[^a%d]: x\n", 900) + "\n- [ ] G1: a " + strings.Repeat("[^a899]", 2000) + "\n", false},
		"brackets":                  {"[a]: /x\n\n- [ ] G1: " + strings.Repeat("[", 16000) + "\n", false},
		"link starts":               {"- [ ] G1: " + strings.Repeat("[a](", 3900) + "\n", false},
		"angle brackets":            {"- [ ] G1: " + strings.Repeat("<a ", 5000) + "\n", false},
		"comment starts":            {"- [ ] G1: " + strings.Repeat("<!-- ", 3000) + "\n", false},
		"emphasis":                  {"- [ ] G1: < " + strings.Repeat("*a _b ", 2500) + "\n", false},
		"backticks":                 {"- [ ] G1: < " + strings.Repeat("` `` ``` ", 1700) + "\n", false},
		"a long paragraph":          {"- [ ] G1: < " + strings.Repeat("a ", 10_000) + "\n", true},
		"table rows":                {okGate + "\n| a | b |\n|---|---|\n" + strings.Repeat("| - [ ] G1: x |\n", 50_000), false},
		"delimiter rows":            {okGate + "\n" + strings.Repeat("a | b\n", 20_000), false},
		"needs in a circle":         {cycle(50_000), true},
		"needs twice over":          {"- [ ] G1: a\n  NEEDS: " + strings.Repeat("G1,", 300_000) + "\n", true},
		"carriage returns":          {strings.Repeat("\r", 1<<20), true},
		"setext":                    {okGate + "\n" + strings.Repeat("a\n", 100_000) + "---\n", false},
		"fences":                    {okGate + "\n" + strings.Repeat("```\n", 100_000), false},
		"HTML lines":                {okGate + "\n" + strings.Repeat("<details>\n\n", 100_000), false},
		"patterns":                  {definitions("- [ ] G%d: a\n  CHECK: x\n  EXPECT: /(a|b)+[c]?/\n", 5000), false},
	}
}

func TestHostileInputEnds(t *testing.T) {
	t.Parallel()
	for name, in := range hostile() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := ledger.Parser{}.Parse(t.Context(), "GATES.md", []byte(in.text))
			if d.OK() == in.refused {
				t.Errorf("OK = %v; findings %v", d.OK(), head(d.Findings))
			}
			if len(d.Findings) > 200 {
				t.Errorf("%d findings", len(d.Findings))
			}
			if string(d.Bytes()) != in.text {
				t.Error("Bytes differ from the input")
			}
			var b bytes.Buffer
			if err := ledger.FormatFindings(&b, "GATES.md", d.Findings, 20); err != nil {
				t.Fatal(err)
			}
			if b.Len() > 40_000 {
				t.Errorf("%d bytes of findings", b.Len())
			}
		})
	}
}

func head(fs []ledger.Finding) []ledger.Finding { return fs[:min(len(fs), 5)] }

// TestParseGivesUp: a context that is done is an error among the findings, never
// a ledger that passes unchecked.
func TestParseGivesUp(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d := ledger.Parser{}.Parse(ctx, "GATES.md", []byte(okGate))
	if d.OK() {
		t.Fatal("OK though the page was not looked at")
	}
	if _, err := d.Apply([]ledger.Edit{{ID: "G1", Evidence: "e"}}); err == nil {
		t.Error("Apply accepts it")
	}
	good := ledger.Parse("GATES.md", []byte(okGate))
	if _, err := good.ApplyContext(ctx, []ledger.Edit{{ID: "G1", Evidence: "e"}}); err == nil {
		t.Error("ApplyContext goes on after its context is done")
	}
}
