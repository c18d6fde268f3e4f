package escape

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

func TestStripANSI(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain é":                               "plain é",
		"\x1b[1;31mred\x1b[0m":                  "red",
		"\x1b[38:2::1:2:3mx\x1b[?25l\x1b[1 q":   "x",
		"\x1b]8;;https://x\x1b\\link\x1b]8;;\a": "link",
		"\x1b]0;title ✜ more\x07text":           "text",
		"\x1bPq#0;data\x1b\\a\x1b_apc\x1b\\b":   "ab",
		"\x1bPnot ended by bell\x07 x\x1b\\y":   "y",
		"\u009b31mred\u009b0m \u009d0;t\u009cx": "red x",
		"\x9b31mred\x9b0m \x9d0;t\x9cx":         "red x",
		"\x1b(Bset\x1b7\x1bM\x1b#8":             "set",
		"cut in \x1b[3":                         "cut in ",
		"cut in \x1b":                           "cut in ",
		"cut in \x1b]8;;http://x":               "cut in 8;;http://x",
		"open \x1b]0;one\ntwo":                  "open 0;one\ntwo",
		"cancelled \x1b]0;t\x18x \x1b]t\x1b[mx": "cancelled x x",
		"broken \x1b[1\x01;2mx":                 "broken \x01;2mx",
		"\x1b\x1b[31m[31mx":                     "[31mx",
		"10%\r 50%\r100%\r\ndone\r\n":           "100%\ndone\n",
		"long line\rshort":                      "shortline",
		"long line\r\x1b[Kshort":                "short",
		"long line\x1b[2K\rshort":               "short",
		"long line\r\x1b[2Kshort":               "short",
		"|\b/\b-\bdone":                         "done",
		"N\bNA\bAM\bM":                          "NAM",
		"\b\bx":                                 "x",
		"keep \x00\x07\x0b":                     "keep \x00\x07\x0b",
		"raw \xff\xc2":                          "raw \xff\xc2",
		"\xff\x1b[m":                            "\xff",
	} {
		if got := StripANSI(in); got != want {
			t.Errorf("StripANSI(%q) = %q, want %q", in, got, want)
		}
	}
}

func stripped(t fataler, s string) {
	got := StripANSI(s)
	if again := StripANSI(got); again != got {
		t.Fatalf("StripANSI(%q) = %q, then %q", s, got, again)
	}
	if strings.ContainsAny(got, "\x1b\r\b") {
		t.Fatalf("StripANSI(%q) = %q", s, got)
	}
	for _, r := range UTF8([]byte(got)) {
		if isC1(r) {
			t.Fatalf("StripANSI(%q) = %q holds %U", s, got, r)
		}
	}
	if a, b := strings.Count(s, "\n"), strings.Count(got, "\n"); a != b {
		t.Fatalf("StripANSI(%q) = %q has %d lines, not %d", s, got, b, a)
	}
	// Stripped, cut anywhere and stripped again, nothing of a sequence is left.
	for n := range len(got) {
		if cut := Cut(got, n); StripANSI(cut) != cut {
			t.Fatalf("cut at %d: %q", n, cut)
		}
	}
}

func TestStripANSIProperties(t *testing.T) {
	t.Parallel()
	everywhere(t, stripped)
}

// Where sequences are well formed, the result is that of another implementation.
func TestStripANSIAgreesWithAnother(t *testing.T) {
	t.Parallel()
	well := []string{
		"a", "text ", "é", "漢", "\n", "\x1b[31m", "\x1b[0m", "\x1b[1;38;5;200m", "\x1b[?25h", "\x1b]0;title\x07", "\x1b]8;;http://x/\x1b\\",
		"\x1bPq1;2\x1b\\", "\x1b(B", "\x1b7", "\x1b_x\x1b\\", "\x1b^x\x1b\\", "\x1bXx\x1b\\", "\x1b[10;20H", "\x1b[2J",
	}
	rapid.Check(t, func(r *rapid.T) {
		s := strings.Join(rapid.SliceOf(rapid.SampledFrom(well)).Draw(r, "pieces"), "")
		if got, want := StripANSI(s), ansi.Strip(s); got != want {
			r.Fatalf("%q: %q, the other says %q", s, got, want)
		}
	})
}

// Hostile rows of introducers take time in proportion: 8 MiB of them would take
// hours otherwise. The test only ends.
func TestStripANSIIsLinear(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{"\u009d", "\u0090", "\x9d\x90", "\x1b]", "\x1b[", "\r", "\b", "a\b", "x\x1b[2K", "\x1b[K\r"} {
		s := strings.Repeat(piece, 8<<20/len(piece)/8)
		if len(StripANSI(s)) > len(s) {
			t.Error("longer than before")
		}
	}
}

func FuzzStripANSI(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, s string) { stripped(t, s) })
}
