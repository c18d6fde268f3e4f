package evidence

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"

	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var (
	tree40 = strings.Repeat("4b825dc6", 5)
	tree64 = strings.Repeat("6ef19b41", 8)
)

func gate() ledger.Gate {
	return ledger.Gate{ID: "G1", Outcome: "works", Ticked: true, Check: "node check.mjs", Expect: "all fine"}
}

func withTimeout(g ledger.Gate) ledger.Gate {
	g.Timeout = 30
	g.Attributes = append(g.Attributes, ledger.Attribute{Key: ledger.Timeout, Value: "30"})
	return g
}

func TestFormat(t *testing.T) {
	t.Parallel()
	run := Run{Output: "all fine\n", Shell: "/bin/sh", Dir: "/home/me/x", Path: "/usr/bin", Tree: tree40}
	const head = "automatic-evidence=v1; definition-sha256=a5b919a021feacf0e994e1ed059665b3a5d45290491060323c80eeae83b8ae94; exit=0; EXPECT=matched; " +
		"output-sha256=ac8bedf344abb0f3528d1106ce07dae569f929aa2bb7b0a082ddc47744312287; output-bytes=9; shell=/bin/sh"
	for _, c := range []struct {
		name string
		gate ledger.Gate
		edit func(*Run)
		want string
	}{
		{"all", withTimeout(gate()), nil, "; attrs-sha256=" + AttributesDigest(withTimeout(gate())) + "; tree=" + tree40 + "; cwd=/home/me/x; path=33629c0e6543/1 entries"},
		{"no tree", gate(), func(r *Run) { r.Tree = "" }, "; cwd=/home/me/x; path=33629c0e6543/1 entries"},
		{"SHA-256 tree", gate(), func(r *Run) { r.Tree = tree64 }, "; tree=" + tree64 + "; cwd=/home/me/x; path=33629c0e6543/1 entries"},
		{"no PATH", gate(), func(r *Run) { r.Tree, r.Path = "", "" }, "; cwd=/home/me/x; path=e3b0c44298fc/0 entries"},
		{"controls", gate(), func(r *Run) { r.Tree, r.Dir = "", "/a\nEVIDENCE: x\r\u2028\u202e<!--\x00é\xff\u200d" }, "; cwd=/a EVIDENCE: x   ?!-- é?\u200d; path=33629c0e6543/1 entries"},
	} {
		r := run
		if c.edit != nil {
			c.edit(&r)
		}
		got, err := Format(c.gate, r)
		if want := head + c.want; err != nil || got != want {
			t.Errorf("%s: %v\n%s", c.name, err, cmp.Diff(want, got))
		}
	}
}

func TestPathMark(t *testing.T) {
	t.Parallel()
	sep := string(filepath.ListSeparator)
	for path, want := range map[string]string{
		"":                           "e3b0c44298fc/0 entries",
		"/usr/bin":                   "33629c0e6543/1 entries",
		"a" + sep + "b" + sep:        pathMark("a" + sep + "b" + sep)[:12] + "/3 entries",
		strings.Repeat(sep+"x", 999): pathMark(strings.Repeat(sep+"x", 999))[:12] + "/1000 entries",
	} {
		if got := pathMark(path); got != want {
			t.Errorf("%.20q: %s, want %s", path, got, want)
		}
	}
}

func TestFormatRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		gate ledger.Gate
		run  Run
	}{
		"manual":         {ledger.Gate{ID: "G1"}, Run{Shell: "/bin/sh"}},
		"no shell":       {gate(), Run{}},
		"blank shell":    {gate(), Run{Shell: "\n\t"}},
		"long shell":     {gate(), Run{Shell: "/" + strings.Repeat("x", 300)}},
		"long in UTF-16": {gate(), Run{Shell: strings.Repeat("😀", 151)}},
		"two fields":     {gate(), Run{Shell: "/bin/sh; tree=" + tree40}},
		"hidden fields":  {gate(), Run{Shell: "/bin/sh;\ttree=" + tree40}},
		"big output":     {gate(), Run{Shell: "/bin/sh", Output: strings.Repeat("x", MaxOutput+1)}},
		"short tree":     {gate(), Run{Shell: "/bin/sh", Tree: "abc"}},
		"upper-case":     {gate(), Run{Shell: "/bin/sh", Tree: strings.ToUpper(tree40)}},
	} {
		if got, err := Format(c.gate, c.run); err == nil || got != "" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestLineRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g, r := drawGate(t), drawRun(t)
		value, err := Format(g, r)
		if err != nil {
			t.Fatal(err)
		}
		l, err := ParseLine(value)
		if err != nil {
			t.Fatalf("%q: %v", value, err)
		}
		want := Line{
			Definition: DefinitionDigest(g), Output: OutputDigest(r.Output), Bytes: len(r.Output),
			Shell: r.Shell, Attributes: AttributesDigest(g), Tree: r.Tree, Rest: l.Rest,
		}
		if diff := cmp.Diff(want, l); diff != "" {
			t.Errorf("%q (-want +got):\n%s", value, diff)
		}
		if !strings.HasPrefix(l.Rest, "cwd=") {
			t.Errorf("%q: the cap took more than cwd and path", value)
		}
		if n := len(utf16.Encode([]rune(value))); n > MaxLine || !strings.HasPrefix(value+" ", strings.TrimSpace(value)+" ") {
			t.Errorf("%d units: %q", n, value)
		}
		if i := strings.IndexFunc(value, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp) }); i >= 0 {
			t.Errorf("%q holds a control character", value)
		}
		if got, want := Judge(ticked(g, value)), (Worth{Claim: Met, Tree: r.Tree}); got != want {
			t.Errorf("%q: %+v, want %+v", value, got, want)
		}
	})
}

// TestCapCutsBetweenCharacters moves the cap over every unit of a path of
// characters of one and two units.
func TestCapCutsBetweenCharacters(t *testing.T) {
	t.Parallel()
	cut := 0
	for n := range 8 {
		value, err := Format(gate(), Run{Shell: "/" + strings.Repeat("s", n), Dir: strings.Repeat("/é😀", 400)})
		if err != nil {
			t.Fatal(err)
		}
		units := len(utf16.Encode([]rune(value)))
		if units > MaxLine || units < MaxLine-1 || strings.ContainsRune(value, '\ufffd') {
			t.Errorf("%d units, ends in %q", units, value[len(value)-8:])
		}
		if units < MaxLine {
			cut++
		}
	}
	if cut == 0 || cut == 8 {
		t.Errorf("%d of 8 lines end before a pair", cut)
	}
}

func drawGate(t *rapid.T) ledger.Gate {
	text := rapid.StringN(1, 30, -1)
	g := ledger.Gate{ID: "G1", Outcome: "works", Check: text.Draw(t, "check"), Expect: text.Draw(t, "expect")}
	if rapid.Bool().Draw(t, "cwd") {
		g.CWD = text.Draw(t, "folder")
	}
	for _, k := range []ledger.Key{ledger.Needs, ledger.Inputs, ledger.Timeout, ledger.Env, ledger.Reads} {
		if rapid.IntRange(0, 3).Draw(t, string(k)) == 0 {
			g.Attributes = append(g.Attributes, ledger.Attribute{Key: k, Value: text.Draw(t, "value")})
		}
	}
	return g
}

func drawRun(t *rapid.T) Run {
	return Run{
		Output: rapid.String().Draw(t, "output"),
		Shell:  "/" + rapid.StringMatching(`[a-z/;=é😀]{1,150}`).Draw(t, "shell"),
		Dir:    "/" + rapid.OneOf(rapid.StringN(0, 30, -1), rapid.StringN(200, 900, -1)).Draw(t, "dir"),
		Path:   rapid.String().Draw(t, "path"),
		Tree:   rapid.SampledFrom([]string{"", tree40, tree64}).Draw(t, "tree"),
	}
}

func ticked(g ledger.Gate, evidence string) ledger.Gate {
	g.Ticked, g.Evidence = true, evidence
	return g
}

// accepts is unlazy 2.1's rule (reference, section 4), written down a second
// time from its description.
func accepts(evidence, definition string) bool {
	if len(utf16.Encode([]rune(evidence))) > 900 {
		return false
	}
	rest, ok := strings.CutPrefix(evidence, "automatic-evidence=v1; definition-sha256="+definition+";")
	m := peerRule.FindStringSubmatch(rest)
	if !ok || m == nil {
		return false
	}
	n, err := strconv.Atoi(m[1])
	return err == nil && n <= 1048576
}

var peerRule = regexp.MustCompile(`^ exit=0; EXPECT=matched; output-sha256=[a-f0-9]{64}; output-bytes=(0|[1-9][0-9]{0,6}); shell=[^\n\r\x{2028}\x{2029}]`)

// TestPeerAcceptsOurLines: what is written here counts there.
func TestPeerAcceptsOurLines(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g, r := drawGate(t), drawRun(t)
		value, err := Format(g, r)
		if err != nil {
			t.Fatal(err)
		}
		if !accepts(value, DefinitionDigest(g)) {
			t.Errorf("refused: %q", value)
		}
	})
}

// TestPeerLinesCountHere: what unlazy writes for a gate of its own counts here.
func TestPeerLinesCountHere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := drawGate(t)
		g.Attributes = nil
		clean := func(label string) string {
			return strings.Map(func(r rune) rune {
				if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
					return ' '
				}
				return r
			}, rapid.OneOf(rapid.String(), rapid.StringN(100, 1000, -1)).Draw(t, label))
		}
		value := "automatic-evidence=v1; definition-sha256=" + DefinitionDigest(g) + "; exit=0; EXPECT=matched; output-sha256=" +
			strings.Repeat("0", 64) + "; output-bytes=" + strconv.Itoa(rapid.IntRange(0, MaxOutput).Draw(t, "bytes")) +
			"; shell=/" + clean("shell") + "; cwd=/" + clean("dir") + "; path=0123456789ab/9 entries"
		units := utf16.Encode([]rune(value))
		value = strings.TrimSpace(string(utf16.Decode(units[:min(len(units), 900)])))
		if got := Judge(ticked(g, value)); got.Claim != Met {
			t.Errorf("%q: %+v", value, got)
		}
	})
}
