package expect

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	e := newEngine(patient)
	defer e.Close()
	long := strings.Repeat("x", 90)
	for _, c := range []struct{ value, output, want string }{
		{"42 passed", "setup\n41 passed, 1 failed\ndone\n", `the output lacks "42 passed"; closest line: "41 passed, 1 failed"`},
		{"42 passed", "", `the output lacks "42 passed": it is empty`},
		{"42 passed", "nothing like it\n", `the output lacks "42 passed"`},
		{"42 passed", "\x1b[32m42\x1b[0m passed\n", `the output lacks "42 passed"; ` + colour},
		{"42 passed", "\x1b[31m41 passed\x1b[0m\n", `the output lacks "42 passed"; closest line: "41 passed"`},
		{"ALL FINE", "  all fine \n", `the output lacks "ALL FINE"; closest line: "all fine"`},
		{"x", "y", `the output lacks "x"`},
		{long, "y", `the output lacks "` + strings.Repeat("x", 80) + `"… (90 bytes)`},
		{"a\u202eb", "a\u202eC", `the output lacks "a\u202eb"; closest line: "a\u202eC"`},

		{"/^15$/", "15\n", `/^15$/ does not match "15\n": without m, $ stops before a final newline; next: EXPECT: /^15$/m`},
		{"/^15$/", "15\r\n", `/^15$/ does not match "15\r\n": without m, $ stops before a final newline; next: EXPECT: /^15$/m`},
		{"/^15$/", "n:\n15\n", `/^15$/ does not match "n:\n15\n": without m, ^ and $ mean the whole output, not a line; next: EXPECT: /^15$/m`},
		{"/^15$/i", "a\n15", `/^15$/i does not match "a\n15": without m, ^ and $ mean the whole output, not a line; next: EXPECT: /^15$/im`},
		{"/OK/", "ok\n", `/OK/ does not match "ok\n": only upper and lower case differ; next: EXPECT: /OK/i`},
		{"/a.b/", "a\nb", `/a.b/ does not match "a\nb": without s, . does not match a line break; next: EXPECT: /a.b/s`},
		{"/f(x)/", "f(x)", `/f(x)/ does not match "f(x)": the output holds this as plain text; next: EXPECT: f(x)`},
		{"/a b/", "a\x1b[1m b\x1b[0m", `/a b/ does not match "a\x1b[1m b\x1b[0m"; ` + colour},
		{"/15/", "", `/15/ does not match the empty output`},
		{"/15/", "16", `/15/ does not match "16"`},
		{"/15/", strings.Repeat("é", 100), `/15/ does not match "` + strings.Repeat("é", 80) + `"… (200 bytes)`},
		{"/" + strings.Repeat("x", 300) + "$/", strings.Repeat("x", 300) + "\n", `"/` + strings.Repeat("x", 79) + `"… (303 bytes) does not match "` + strings.Repeat("x", 80) + `"… (301 bytes): without m, $ stops before a final newline`},
		{"/a\x00$/", "a\x00\n", `"/a\x00$/" does not match "a\x00\n": without m, $ stops before a final newline`},
	} {
		if ok, err := e.Match(c.value, c.output); ok || err != nil {
			t.Fatalf("%q on %q: %v, %v; not a miss", c.value, c.output, ok, err)
		}
		if diff := cmp.Diff(c.want, e.Explain(c.value, c.output).String()); diff != "" {
			t.Errorf("%q on %q (-want +got):\n%s", c.value, c.output, diff)
		}
	}
}

// TestExplainKeepsItsWord: whatever the texts, the message is short and
// printable, and the corrected line matches.
func TestExplainKeepsItsWord(t *testing.T) {
	t.Parallel()
	e := New()
	defer e.Close()
	rapid.Check(t, func(t *rapid.T) {
		g := newGenerator(rapid.Uint64().Draw(t, "seed"))
		source, flags, output := g.pair()
		value := source
		if rapid.Bool().Draw(t, "pattern") {
			value = Expectation{Pattern: true, Text: source, Flags: flags}.String()
		}
		if ok, err := e.Match(value, output); ok || err != nil {
			t.Skip("not a miss")
		}
		m := e.Explain(value, output)
		if s := m.String(); !printable(s) || utf8.RuneCountInString(s) > 1100 {
			t.Errorf("%q on %q: %q", value, output, s)
		}
		if m.Next == "" {
			return
		}
		fixed, ok := strings.CutPrefix(m.Next, "EXPECT: ")
		if matched, err := e.Match(fixed, output); !ok || !matched && !errors.Is(err, ErrTimeout) {
			t.Errorf("%q on %q: %q does not match: %v", value, output, m.Next, err)
		}
	})
}

func TestExplainStopsWhenSlow(t *testing.T) {
	t.Parallel()
	e := New()
	defer e.Close()
	// Quick as it stands, slow with m: no hint rather than a wait for i and s as well.
	m := e.Explain("/^b(a+)+$/", "\nb"+strings.Repeat("a", 40)+"!")
	if m.Why != "" || m.Next != "" {
		t.Errorf("%+v", m)
	}
}

func TestClosest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, output, want string }{
		{"", "a\nb", ""},
		{"a", "a\nb", ""},
		{"abc", "", ""},
		{"abcd", "xbcx\n", ""}, // one of three pairs
		{"abcd", "abc1\nabc2\n", "abc2"},
		{"abcd", "abc1\nabc22\n", "abc1"},
		{"tests passed", "tests\npassed\n 3 tests  passed\n", "3 tests  passed"},
		{"needle here", strings.Repeat("x", 1000) + "needle hexe" + strings.Repeat("x", 1000), ""},
	} {
		got := closest(c.text, c.output)
		if c.want == "" && strings.Contains(c.text, "needle") {
			if !strings.Contains(got, "needle hexe") || len(got) > maxPiece {
				t.Errorf("the piece of a long line: %q", got)
			}
			continue
		}
		if got != c.want {
			t.Errorf("closest(%q, %q) = %q, want %q", c.text, c.output, got, c.want)
		}
	}
}

func TestClosestIsALineOfTheOutput(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		output := strings.Join(rapid.SliceOf(rapid.OneOf(rapid.String(), rapid.StringN(300, 900, -1))).Draw(t, "lines"), "\n")
		got := closest(text, output)
		if !strings.Contains(output, got) || len(got) > maxPiece+utf8.UTFMax || !utf8.ValidString(got) {
			t.Errorf("closest(%q, %q) = %q", text, output, got)
		}
	})
}
