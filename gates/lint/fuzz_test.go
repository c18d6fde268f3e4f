package lint_test

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/gatesworn/gatesworn/gates/lint"
)

// FuzzCheck: whatever the ledger, advice points at a line of it, is a warning of
// a known rule, and is the same when asked twice.
func FuzzCheck(f *testing.F) {
	for _, e := range examples {
		f.Add([]byte(e.ledger()))
	}
	f.Add([]byte("- [ ] G1: a\n  CHECK: \"$(`'\n  EXPECT: /$/\n"))
	f.Add([]byte("- [ ] G1: a\n  CHECK: a >& | ; && ${ $((1)) <<< <(x) >\n  EXPECT: /[$\\/\n"))
	known := map[string]bool{}
	for _, r := range lint.Rules() {
		known[r.Name] = true
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<14 {
			t.Skip()
		}
		doc := ledger.Parse("GATES.md", data)
		findings := lint.Check(doc)
		lines := bytes.Count(data, []byte("\n")) + 1
		for _, one := range findings {
			if one.Line < 0 || one.Line > lines || one.Line > 0 && one.Column < 1 {
				t.Errorf("position %d:%d in %d lines", one.Line, one.Column, lines)
			}
			if one.Message == "" || one.Rule == "" || strings.ContainsAny(one.Message, "\n\r") {
				t.Errorf("finding %+v", one)
			}
			if known[one.Rule] && one.Level != ledger.Warning {
				t.Errorf("%s is an error", one.Rule)
			}
		}
		if !doc.OK() {
			return
		}
		again := lint.Check(ledger.Parse("GATES.md", data))
		same := func(a, b lint.Finding) bool { return a.Rule == b.Rule && a.Line == b.Line && a.Column == b.Column }
		if !slices.EqualFunc(findings, again, same) {
			t.Errorf("twice: %v, %v", findings, again)
		}
	})
}

// TestSlowPatterns: patterns that take too long to try are left alone after a few.
func TestSlowPatterns(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 40 {
		n := strconv.Itoa(i)
		b.WriteString("- [ ] G" + n + ": a\n  CHECK: npm test; echo " + strings.Repeat("a", 40) + "\n  EXPECT: /^(a+a*)+b" + n + "$/m\n")
	}
	if got := lint.Check(ledger.Parse("GATES.md", []byte(b.String()))); len(got) > 80 {
		t.Errorf("%d findings", len(got))
	}
}

// TestManyGates: a ledger as large as there are, with everything shared.
func TestManyGates(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	const n = 5000
	for i := range n {
		id := strconv.Itoa(i)
		b.WriteString("- [ ] G" + id + ": a\n  CHECK: npm ci && npm test -- " + id + "\n  EXPECT: /x" + id + "/\n  STATE: x\n")
		if i > 0 {
			b.WriteString("  NEEDS: G" + strconv.Itoa(i-1) + "\n")
		}
	}
	findings := lint.Check(ledger.Parse("GATES.md", []byte(b.String())))
	if len(findings) != n {
		t.Errorf("%d findings, want %d of unknown-key alone", len(findings), n)
	}
	if len(lint.Fold(findings)) != 1 {
		t.Error("not folded")
	}
}
