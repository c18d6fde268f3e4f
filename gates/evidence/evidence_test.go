package evidence

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/gatesworn/gatesworn/gates/ledger"
)

// TestReferenceLedgers runs cases/ledgers.json: claims and digests as the
// reference has them, for every ledger that both accept.
func TestReferenceLedgers(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/ledgers.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name, Text string
		Errors     int
		Gates      []struct{ ID, Claim, DefinitionSHA256 string }
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, c := range cases {
		d := ledger.Parse("GATES.md", []byte(c.Text))
		if c.Errors > 0 || !d.OK() { // where this parser is stricter is its own test's business
			continue
		}
		for i, want := range c.Gates {
			if i >= len(d.Gates) {
				t.Errorf("%s: %d gates", c.Name, len(d.Gates))
				break
			}
			g := d.Gates[i]
			if got := Judge(g).Claim.String(); g.ID != want.ID || got != want.Claim {
				t.Errorf("%s: %s is %s, want %s %s", c.Name, g.ID, got, want.ID, want.Claim)
			}
			if got := DefinitionDigest(g); got != want.DefinitionSHA256 {
				t.Errorf("%s: %s has the digest %s, want %s", c.Name, g.ID, got, want.DefinitionSHA256)
			}
			compared++
		}
	}
	if compared < 30 {
		t.Errorf("only %d gates compared", compared)
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	good := mustFormat(t, gate(), Run{Output: "all fine\n", Shell: "/bin/sh", Dir: "/x", Tree: tree40})
	definition := DefinitionDigest(gate())
	other := strings.Replace(good, definition, strings.Repeat("0", 64), 1)
	attributed := mustFormat(t, withTimeout(gate()), Run{Output: "all fine\n", Shell: "/bin/sh", Dir: "/x"})
	replace := func(old, by string) string {
		s := strings.Replace(good, old, by, 1)
		if s == good {
			t.Fatalf("%q is not in the line", old)
		}
		return s
	}
	longer := withTimeout(gate())
	longer.Attributes[0].Value = "60"
	manual := ledger.Gate{ID: "G1", Outcome: "looks right"}
	abandoned := gate()
	abandoned.Abandoned = "upstream is gone"
	for _, c := range []struct {
		name     string
		gate     ledger.Gate
		evidence string
		want     Worth
	}{
		{"bound", gate(), good, Worth{Met, None, tree40}},
		{"bound, no tree", gate(), replace("; tree="+tree40, ""), Worth{Met, None, ""}},
		{"bound, cut after the shell", gate(), good[:strings.Index(good, "/bin/sh")+1], Worth{Met, None, ""}},
		{"bound, odd words after the shell", gate(), replace("/bin/sh", "direct spawn; runner=x"), Worth{Met, None, ""}},
		{"bound, attributes", withTimeout(gate()), attributed, Worth{Met, None, ""}},
		{"bound, largest output", gate(), replace("output-bytes=9;", "output-bytes=1048576;"), Worth{Met, None, tree40}},
		{"abandoned", abandoned, good, Worth{Abandoned, None, ""}},

		{"empty", gate(), "", Worth{Stale, Pending, ""}},
		{"pending", gate(), "Pending", Worth{Stale, Pending, ""}},
		{"prose", gate(), "it worked", Worth{Stale, Unbound, ""}},
		{"pending with a reason", gate(), "pending: no time", Worth{Stale, Unbound, ""}},
		{"first generation", gate(), "exit=0; shell=/bin/sh; cwd=/x; path=abc/3 entries; output=all fine", Worth{Stale, Unbound, ""}},
		{"raw output", gate(), "all fine | 12 passed", Worth{Stale, Unbound, ""}},

		{"other definition", gate(), other, Worth{Stale, Other, tree40}},
		{"attributes missing", withTimeout(gate()), good, Worth{Stale, Other, tree40}},
		{"attributes gone", gate(), attributed, Worth{Stale, Other, ""}},
		{"attributes changed", longer, attributed, Worth{Stale, Other, ""}},

		{"version 2", gate(), replace("=v1", "=v2"), Worth{Stale, Malformed, ""}},
		{"upper-case digest", gate(), replace(definition, strings.ToUpper(definition)), Worth{Stale, Malformed, ""}},
		{"short digest", gate(), replace(definition, definition[1:]), Worth{Stale, Malformed, ""}},
		{"exit 1", gate(), replace("exit=0", "exit=1"), Worth{Stale, Malformed, ""}},
		{"not matched", gate(), replace("EXPECT=matched", "EXPECT=not matched"), Worth{Stale, Malformed, ""}},
		{"no output digest", gate(), replace("output-sha256=", "output-sha256=x"), Worth{Stale, Malformed, ""}},
		{"big output", gate(), replace("output-bytes=9;", "output-bytes=1048577;"), Worth{Stale, Malformed, ""}},
		{"leading zero", gate(), replace("output-bytes=9;", "output-bytes=09;"), Worth{Stale, Malformed, ""}},
		{"sign", gate(), replace("output-bytes=9;", "output-bytes=+9;"), Worth{Stale, Malformed, ""}},
		{"no number", gate(), replace("output-bytes=9;", "output-bytes=;"), Worth{Stale, Malformed, ""}},
		{"huge number", gate(), replace("output-bytes=9;", "output-bytes="+strings.Repeat("9", 30)+";"), Worth{Stale, Malformed, ""}},
		{"no shell", gate(), good[:strings.Index(good, "/bin/sh")], Worth{Stale, Malformed, ""}},
		{"line break for a shell", gate(), replace("shell=/bin/sh", "shell=\u2028"), Worth{Stale, Malformed, ""}},
		{"other order", gate(), replace("exit=0; EXPECT=matched", "EXPECT=matched; exit=0"), Worth{Stale, Malformed, ""}},
		{"bad attributes", gate(), replace("; tree=", "; attrs-sha256=abc; tree="), Worth{Stale, Malformed, ""}},
		{"bad tree", gate(), replace(tree40, "abc"), Worth{Stale, Malformed, ""}},
		{"901 characters", gate(), good + strings.Repeat("x", 901-len(good)), Worth{Stale, Malformed, ""}},
		{"900 characters", gate(), good + strings.Repeat("x", 900-len(good)), Worth{Met, None, tree40}},
		{"900 characters in more bytes", gate(), good + strings.Repeat("é", 900-len(good)), Worth{Met, None, tree40}},
		{"901 UTF-16 units", gate(), good + strings.Repeat("x", 899-len(good)) + "😀", Worth{Stale, Malformed, ""}},
		{"prefix alone", gate(), "automatic-evidence=", Worth{Stale, Malformed, ""}},

		{"manual, words", manual, "seen in review", Worth{Met, None, ""}},
		{"manual, pending with a reason", manual, "pending — waits for legal", Worth{Met, None, ""}},
		{"manual, nothing", manual, "", Worth{Unmet, Pending, ""}},
		{"manual, pending", manual, "PENDING", Worth{Unmet, Pending, ""}},
		{"manual, automatic", manual, good, Worth{Stale, Automatic, ""}},
		{"manual, first generation", manual, "exit=0; shell=/bin/sh", Worth{Stale, Automatic, ""}},
	} {
		if got := Judge(ticked(c.gate, c.evidence)); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
		empty := ticked(c.gate, c.evidence)
		empty.Ticked = false
		want := Worth{Claim: Unmet}
		if c.gate.Abandoned != "" {
			want.Claim = Abandoned
		}
		if got := Judge(empty); got != want {
			t.Errorf("%s, box empty: %+v, want %+v", c.name, got, want)
		}
	}
	if got := Judge(ledger.Gate{}); got != (Worth{}) {
		t.Errorf("the zero gate: %+v", got)
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for r := None; r <= Automatic; r++ {
		if s := r.String(); seen[s] || (s == "") != (r == None) {
			t.Errorf("reason %d: %q", r, s)
		}
		seen[r.String()] = true
	}
	if s := Claim(99).String(); s != "unmet" {
		t.Errorf("an unknown claim is %q", s)
	}
	if s := Reason(99).String(); s != "" {
		t.Errorf("an unknown reason is %q", s)
	}
}

func mustFormat(t *testing.T, g ledger.Gate, r Run) string {
	t.Helper()
	value, err := Format(g, r)
	if err != nil {
		t.Fatal(err)
	}
	return value
}
