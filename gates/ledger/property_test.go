package ledger_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatesworn/gatesworn/gates/ledger"
	"pgregory.net/rapid"
)

// madeLedger is a generated ledger and what it must mean.
type madeLedger struct {
	text  string
	gates []ledger.Gate
}

func makeLedger(t *rapid.T) madeLedger {
	value := rapid.StringMatching(`[a-zA-Z0-9/.][a-zA-Z0-9 /."'$|&;<>()=_-]{0,30}[a-z0-9]`)
	var m madeLedger
	var b strings.Builder
	eol := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "eol")
	if rapid.Bool().Draw(t, "bom") {
		b.WriteString("\uFEFF")
	}
	b.WriteString("# Gates" + eol + eol)
	line := 3
	put := func(s string) {
		b.WriteString(s + eol)
		line++
	}
	n := rapid.IntRange(1, 6).Draw(t, "gates")
	for i := range n {
		g := ledger.Gate{ID: fmt.Sprintf("G%d", i+1), Outcome: "outcome " + value.Draw(t, "outcome"), Ticked: rapid.Bool().Draw(t, "ticked"), Line: line}
		box := map[bool]string{true: "x", false: " "}[g.Ticked]
		put("- [" + box + "] " + g.ID + ": " + g.Outcome)
		indent := rapid.SampledFrom([]string{"  ", "    ", "\t", " ", "      "}).Draw(t, "indent")
		if rapid.Bool().Draw(t, "runnable") {
			g.Check, g.Expect = value.Draw(t, "check"), value.Draw(t, "expect")
			if strings.HasPrefix(g.Expect, "/") {
				g.Expect = "x" + g.Expect
			}
			put(indent + "CHECK: " + g.Check)
			put(indent + "EXPECT: " + g.Expect + rapid.SampledFrom([]string{"", " ", "\t"}).Draw(t, "trailing"))
		}
		if rapid.Bool().Draw(t, "timeout") {
			g.Timeout = rapid.IntRange(1, ledger.MaxTimeout).Draw(t, "seconds")
			put(fmt.Sprintf("%sTIMEOUT: %d", indent, g.Timeout))
		}
		if rapid.Bool().Draw(t, "evidence") {
			g.Evidence = "pending"
			put(indent + "EVIDENCE: pending")
		}
		m.gates = append(m.gates, g)
		for range rapid.IntRange(0, 2).Draw(t, "blank") {
			put("")
		}
		switch rapid.IntRange(0, 4).Draw(t, "between") {
		case 0:
			put("")
			put("Prose.")
			put("")
		case 1:
			put("```")
			put("- [ ] G99: example")
			put("```")
		}
	}
	m.text = b.String()
	if rapid.Bool().Draw(t, "no final newline") {
		m.text = strings.TrimRight(m.text, "\r\n")
	}
	return m
}

func TestGeneratedLedgersRoundTrip(t *testing.T) {
	t.Parallel()
	accepted := 0
	rapid.Check(t, func(rt *rapid.T) {
		m := makeLedger(rt)
		d := ledger.Parse("GATES.md", []byte(m.text))
		if string(d.Bytes()) != m.text {
			rt.Fatal("Bytes differ from the input")
		}
		if !d.OK() {
			return // a value may look like hidden HTML
		}
		accepted++
		if len(d.Gates) != len(m.gates) {
			rt.Fatalf("%d gates of %d", len(d.Gates), len(m.gates))
		}
		for i, want := range m.gates {
			g := d.Gates[i]
			g.Attributes = nil
			if fmt.Sprintf("%+v", g) != fmt.Sprintf("%+v", want) {
				rt.Fatalf("read %+v\nmade %+v", g, want)
			}
		}
	})
	if accepted < 50 {
		t.Errorf("only %d generated ledgers were accepted", accepted)
	}
}

func TestEditsKeepEverythingElse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := makeLedger(rt)
		d := ledger.Parse("GATES.md", []byte(m.text))
		if !d.OK() {
			return
		}
		var edits []ledger.Edit
		want := map[string]ledger.Edit{}
		for _, g := range d.Gates {
			if rapid.Bool().Draw(rt, "edit") {
				e := ledger.Edit{ID: g.ID, Ticked: rapid.Bool().Draw(rt, "tick"), Evidence: rapid.StringMatching(`[a-z0-9=;/.][a-z0-9=;/. ]{0,20}[a-z]`).Draw(rt, "text")}
				edits = append(edits, e)
				want[g.ID] = e
			}
		}
		got, err := d.Apply(edits)
		if err != nil {
			rt.Fatalf("Apply: %v\n%q", err, m.text)
		}
		if a, b := stripped(t, d), stripped(t, got); a != b {
			rt.Fatalf("edits changed something else:\n%q\n%q", a, b)
		}
		if strings.HasSuffix(m.text, "\n") != strings.HasSuffix(string(got.Bytes()), "\n") {
			rt.Fatal("the final newline changed")
		}
		for i, g := range got.Gates {
			ticked, evidence := d.Gates[i].Ticked, d.Gates[i].Evidence
			if e, ok := want[g.ID]; ok {
				ticked, evidence = e.Ticked, e.Evidence
			}
			if g.Ticked != ticked || g.Evidence != evidence {
				rt.Fatalf("%s is %v %q, want %v %q", g.ID, g.Ticked, g.Evidence, ticked, evidence)
			}
		}
	})
}
