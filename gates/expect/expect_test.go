package expect

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"pgregory.net/rapid"
)

// patient is the limit where a test is not about it: a loaded machine, or the
// race detector, takes ten times as long.
const patient = time.Minute

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value string
		want  Expectation
	}{
		{"", Expectation{}},
		{"all fine", Expectation{Text: "all fine"}},
		{"/", Expectation{Text: "/"}},
		{"//", Expectation{Pattern: true}},
		{"/a/", Expectation{Pattern: true, Text: "a"}},
		{"/a/im", Expectation{Pattern: true, Text: "a", Flags: "im"}},
		{"/a/I", Expectation{Text: "/a/I"}},
		{"/a/é", Expectation{Text: "/a/é"}},
		{"/a/ ", Expectation{Text: "/a/ "}},
		{"a/b/", Expectation{Text: "a/b/"}},
		{"/a/b/c", Expectation{Pattern: true, Text: "a/b", Flags: "c"}},
		{"/usr/bin/node", Expectation{Pattern: true, Text: "usr/bin", Flags: "node"}},
		{"/etc/app/conf/", Expectation{Pattern: true, Text: "etc/app/conf"}},
		{"/etc/app conf", Expectation{Text: "/etc/app conf"}},
		{"/a\nb/m", Expectation{Pattern: true, Text: "a\nb", Flags: "m"}},
		{`/a\/b/`, Expectation{Pattern: true, Text: `a\/b`}},
	} {
		if got := Parse(c.value); got != c.want {
			t.Errorf("Parse(%q) = %+v, want %+v", c.value, got, c.want)
		}
	}
}

func TestParseAndStringAreInverse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.RuneFrom([]rune("/aAim\n\\ é")))).Draw(t, "value")
		if got := Parse(value).String(); got != value {
			t.Errorf("%q came back as %q", value, got)
		}
	})
}

// TestReferenceAnswers runs cases/expect.json: answers of Node 20.
func TestReferenceAnswers(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/expect.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Source, Flags, Output string
		Valid, Match          bool
	}
	if err := json.Unmarshal(data, &cases); err != nil || len(cases) == 0 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	// Syntax that newer engines know: accepting it is fine.
	newer := map[string]bool{"(?i:A)": true, "(?<a>x)|(?<a>y)": true}
	e := newEngine(patient)
	defer e.Close()
	for _, c := range cases {
		value := Expectation{Pattern: true, Text: c.Source, Flags: c.Flags}.String()
		err := e.Validate(value)
		if (err == nil) != (c.Valid || newer[c.Source]) {
			t.Errorf("%q: %v, want valid %v", value, err, c.Valid)
		}
		if !c.Valid {
			continue
		}
		if got, err := e.Match(value, c.Output); got != c.Match || err != nil {
			t.Errorf("%q on %q: %v, %v, want %v", value, c.Output, got, err, c.Match)
		}
	}
}

func TestValidateRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ value, message string }{
		{"/a/q", `'q' is not a flag`},
		{"/usr/bin/node", `'n' is not a flag`},
		{"/a/mim", `flag 'm' is given twice`},
		{"/a/uv", `exclude each other`},
		{"/" + strings.Repeat("a", 1001) + "/", `has 1001 characters, the limit is 1000`},
		{"/" + strings.Repeat("😀", 501) + "/", `has 1002 characters`},
		{"/a\xff/", `not valid UTF-8`},
		{"/(/", `invalid regular expression: `},
		{"/*/", `invalid regular expression: `},
		{`/\-/u`, `invalid regular expression: `},
		{"/" + strings.Repeat("()", 400) + "/", `too many captures`},
		{"/(?<a>x|(?<a>y))/", `group "a" holds a group of the same name`},
		{`/(?<a>x(?<\u0061>y))/`, `group "a" holds`},
		{`/(?<𐐀>(?:[(]\((?<\ud801\udc00>y)))/`, `group "𐐀" holds`},
		{`/(?<a>[[b](]\](?<a>y))/v`, `group "a" holds`},
		{`/(?<a>x)[\k]/`, `\k between brackets`},
		{`/[\k](?<a>x)/i`, `\k between brackets`},
	} {
		err := Validate(c.value)
		if err == nil || !strings.Contains(err.Error(), c.message) {
			t.Errorf("Validate(%q) = %v, want …%s…", c.value, err, c.message)
		}
		if ok, err := Match(c.value, "a"); ok || err == nil {
			t.Errorf("Match(%q) = %v, %v, want an error", c.value, ok, err)
		}
	}
}

func TestValidateAccepts(t *testing.T) {
	t.Parallel()
	e := newEngine(patient)
	defer e.Close()
	for _, value := range []string{
		"", "plain", "/", "(", "//", "/^/", "/a/dgimsuy", "/a/dgimsvy", "/é😀|$^./u", "/]}/",
		"/" + strings.Repeat("a", 1000) + "/", "/" + strings.Repeat("😀", 500) + "/",
		"/" + strings.Repeat("(", 254) + strings.Repeat(")", 254) + "/",
		"/" + strings.Repeat("(?:", 249) + strings.Repeat(")", 249) + "/",
		"/(?<a>x)|(?<a>y)/", "/(?<a>x(?<b>y))/", "/(?<a>x)(?=(?<b>y))(?<=(?<c>z))(?<!w)/",
		`/[\k](?=x)\k(?<=y)/`, `/(?<a>x)\k<a>[k]/`, `/(?<a>x)(?<b>[(?<a>])/`, `/(?<a>[)])|(?<a>\()/`,
	} {
		if err := e.Validate(value); err != nil {
			t.Errorf("%q: %v", value, err)
		}
	}
}

// TestPlainPatternsAreValid asks the engine about what Validate answers alone.
func TestPlainPatternsAreValid(t *testing.T) {
	t.Parallel()
	e := newEngine(patient)
	defer e.Close()
	rapid.Check(t, func(t *rapid.T) {
		x := Expectation{
			Pattern: true,
			Text:    rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.RuneFrom([]rune("^$.|/-&!#,:;<=>@`~'\"%_0a \n\u2028")))).Draw(t, "source"),
			Flags:   rapid.SampledFrom([]string{"", "i", "m", "u", "dgimsuy", "s", "y"}).Draw(t, "flags"),
		}
		if !x.plain() {
			t.Skip("not plain")
		}
		if _, _, err := e.run(x, nil); err != nil {
			t.Errorf("%q: %v", x, err)
		}
	})
}

func TestMatchSubstring(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value, output string
		want          bool
	}{
		{"", "anything", false}, // the zero Expectation matches nothing
		{"ok", "", false},
		{"ok", "not ok\n", true},
		{"OK", "ok", false},
		{"(", "f(", true},
		{"a b", "a  b", false},
		{"/", "a/b", true},
		{"é", "e\u0301", false},
	} {
		if got, err := Match(c.value, c.output); got != c.want || err != nil {
			t.Errorf("Match(%q, %q) = %v, %v", c.value, c.output, got, err)
		}
	}
}

func TestSubstringsAndPlainPatternsStartNoEngine(t *testing.T) {
	t.Parallel()
	e := New()
	defer e.Close()
	for _, value := range []string{"ok", "(", "/^15$/m", "//", "/a/q"} {
		_ = e.Validate(value)
	}
	if _, err := e.Match("ok", "ok"); err != nil {
		t.Fatal(err)
	}
	e.Explain("42 passed", "41 passed")
	if len(e.idle) != 0 {
		t.Error("a machine was started")
	}
	if _, err := e.Match("/ok/", "ok"); err != nil || len(e.idle) != 1 {
		t.Errorf("%d machines after a pattern, %v", len(e.idle), err)
	}
}

func TestMatchText(t *testing.T) {
	t.Parallel()
	e := newEngine(patient)
	defer e.Close()
	big := strings.Repeat("abcdefghij klmno\n", 1<<20/17)
	for _, c := range []struct {
		value, output string
		want          bool
	}{
		{`/a\0b/`, "a\x00b", true},
		{"/a\x00b/", "a\x00b", true},
		{"/a.b/", "a\u2028b", false},
		{"/a.b/s", "a\u2028b", true},
		{"/^b/m", "a\u2029b", true},
		{`/\u2028/`, "\u2028", true},
		{"/\u2028/", "\u2028", true},
		{"/a\nb/", "a\nb", true},
		{`/\ud83d/`, "😀", true}, // half of a pair, seen without u only
		{`/\ud83d/u`, "😀", false},
		{`/^.{2}$/`, "😀", true},
		{`/^.$/u`, "😀", true},
		{`/\ude00$/`, "😀", true},
		{"/\ufffd/", "\ufffd", true},
		{"/^\ufeffa/", "\ufeffa", true},
		{"/END$/", big + "END", true},
		{"/^klmno$/m", big, false},
		{`/é\nEND$/`, big + "é\nEND", true},
		{"/a/g", "ba", true},
		{"/a/y", "ba", false},
		{"/a/gy", "ab", true},
	} {
		for range 2 { // a fresh RegExp each time: lastIndex is 0 again
			if got, err := e.Match(c.value, c.output); got != c.want || err != nil {
				t.Errorf("%q on %d bytes: %v, %v", c.value, len(c.output), got, err)
			}
		}
	}
	if ok, err := e.Match("/a/", "a\xff"); ok || err == nil {
		t.Error("an output that is not canonical was matched")
	}
}

// TestUTF16 checks that the engine sees UTF-16 units: without u, a pattern of
// n times [^] matches exactly the texts of at least n units.
func TestUTF16(t *testing.T) {
	t.Parallel()
	e := newEngine(patient)
	defer e.Close()
	rapid.Check(t, func(t *rapid.T) {
		output := rapid.StringN(0, 20, -1).Draw(t, "output")
		units := len(utf16.Encode([]rune(output)))
		if n := utf16Len(output); n != units {
			t.Fatalf("utf16Len(%q) = %d, want %d", output, n, units)
		}
		exact := "/^" + strings.Repeat("[^]", units) + "$/"
		if ok, err := e.Match(exact, output); !ok || err != nil {
			t.Errorf("%q does not have %d units: %v", output, units, err)
		}
	})
}

func TestBacktrackingIsStopped(t *testing.T) {
	t.Parallel()
	e := New()
	defer e.Close()
	for _, c := range []struct{ value, output string }{
		{"/^(a+)+$/", strings.Repeat("a", 40) + "!"},
		{"/(x+x+)+y/", strings.Repeat("x", 100)},
		{"/.*.*=x/", strings.Repeat("a", 100_000)},
		{"/(?:(?:(?:(?:a?){100}){100}){100}){100}b/", strings.Repeat("a", 1000)},
		{"/(?=(a+)+$)b/", strings.Repeat("a", 40) + "!"},
		{"/(?<=!(a+)+)b/", strings.Repeat("a", 40) + "b"},
	} {
		if ok, err := e.Match(c.value, c.output); ok || !errors.Is(err, ErrTimeout) {
			t.Errorf("%q: %v, %v", c.value, ok, err)
		}
		if ok, err := e.Match("/a+/", "a"); !ok || err != nil {
			t.Errorf("the next match after %q: %v, %v", c.value, ok, err)
		}
	}
}

// TestMemoryIsBounded: each step of the group is kept for backtracking.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	e := New()
	defer e.Close()
	ok, err := e.Match("/^(?:(a)(a)(a)(a)|b)*$/", strings.Repeat("a", 1<<20)+"c")
	if ok || err == nil {
		t.Errorf("%v, %v", ok, err)
	}
	if ok, err := e.Match("/a+/", "a"); !ok || err != nil {
		t.Errorf("the next match: %v, %v", ok, err)
	}
}

func TestZeroAndClosedEngineRefuse(t *testing.T) {
	t.Parallel()
	closed := New()
	if ok, err := closed.Match("/a+/", "a"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	closed.Close()
	closed.Close()
	for name, e := range map[string]*Engine{"zero": {}, "closed": closed} {
		if ok, err := e.Match("/a+/", "a"); ok || err == nil {
			t.Errorf("%s: matched %v, %v", name, ok, err)
		}
		if err := e.Validate("/a+/"); err == nil {
			t.Errorf("%s: valid", name)
		}
	}
}

func TestEngineIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	e := newEngine(patient)
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			for j := range 30 {
				output := strings.Repeat("a", i+j)
				ok, err := e.Match("/^(?:a{2})*$/", output)
				if ok != (len(output)%2 == 0) || err != nil {
					t.Errorf("%d: %v, %v", len(output), ok, err)
				}
				if err := e.Validate("/(a)(/"); err == nil {
					t.Error("an invalid pattern is valid")
				}
			}
		})
	}
	group.Wait()
	if len(e.idle) > cap(e.slots) {
		t.Errorf("%d machines for %d slots", len(e.idle), cap(e.slots))
	}
	e.Close()
}

func TestValidationHasABudget(t *testing.T) {
	t.Parallel()
	e := newEngine(patient)
	defer e.Close()
	if err := e.Validate("/a+/"); err != nil {
		t.Fatal(err)
	}
	e.spent = readLimit + 1
	if err := e.Validate("/a+/"); err != nil {
		t.Errorf("a known pattern: %v", err)
	}
	if err := e.Validate("/b/"); err != nil {
		t.Errorf("a plain pattern: %v", err)
	}
	if err := e.Validate("/b+/"); !errors.Is(err, errBudget) {
		t.Errorf("a new pattern: %v", err)
	}
}
