package approval

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gatesworn/gatesworn/gates/ledger"
)

// TestLedgerPatternsBind holds the two readers of INPUTS together: a pattern that a
// ledger may hold is one that can be signed. The reverse is not asked: a pattern
// that only approval would take never gets here.
func TestLedgerPatternsBind(t *testing.T) {
	t.Parallel()
	part := rapid.SampledFrom([]string{
		"a", "b.go", "*", "**", "***", "a*", "a**", "**b", "?", "[ab]", "[!a]", "[^a]", "[a-", "[]", "[", "]", ".", "..", "", ".x", "@n", "~", "C:", "é", "{a}", `\a`, "a b", "-x",
	})
	accepted, refused := 0, 0
	check := func(t interface{ Fatalf(string, ...any) }, text string) {
		doc := ledger.Parse("GATES.md", []byte("- [ ] G1: a\n  CHECK: true\n  EXPECT: /^/\n  INPUTS: "+text+"\n"))
		if !doc.OK() {
			refused++
			return
		}
		accepted++
		for _, p := range doc.Gates[0].Inputs {
			if _, err := parsePattern(p); err != nil {
				t.Fatalf("a ledger may hold %q, and it cannot be bound: %v", p, err)
			}
		}
	}
	for _, text := range []string{"**", "a/**", "**/a/**/b/**", "**/a/**/b/**/c/**", "**/**", "a**b", "***", "a***/*"} {
		check(t, text)
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, strings.Join(rapid.SliceOfN(part, 1, 8).Draw(t, "parts"), "/"))
	})
	if accepted < 10 || refused < 10 {
		t.Errorf("%d patterns accepted, %d refused: nothing was compared", accepted, refused)
	}
}
