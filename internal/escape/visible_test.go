package escape

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                          "",
		"plain text":                "plain text",
		"tab\there":                 "tab here",
		"two\nlines\r\n":            `two\nlines\r\n`,
		"\x1b[31mred\x07\x00\x7f":   `\x1b[31mred\x07\x00\x7f`,
		"\u009b1m":                  `\u009b1m`,
		"abc\u202edcba":             `abc\u202edcba`,
		"G\u200b1 \ufeff\u00ad":     `G\u200b1 \ufeff\u00ad`,
		"tag \U000e0041":            `tag \u{e0041}`,
		"\xff\xe2\x80x":             "\uFFFD\uFFFDx",
		"gr\u00fc\u00dfe 漢字 …":      "gr\u00fc\u00dfe 漢字 …",
		"👩\u200d💻 ❤\ufe0f 1\ufe0f⃣": "👩\u200d💻 ❤\ufe0f 1\ufe0f⃣",
		"❤\ufe0f\u200d🔥":            "❤\ufe0f\u200d🔥",
		"क\u094d\u200dष":            "क\u094d\u200dष",
		"a\u200db \u200d":           `a\u200db \u200d`,
		"漢\u200d字 👩\u200d\u200d💻":   `漢\u200d字 👩\u200d\u200d💻`,
		"G\ufe0f1 ❤\ufe0f\ufe0f":    `G\ufe0f1 ❤` + "\ufe0f" + `\ufe0f`,
		"\u3164\u034f\ufe01":        `\u3164\u034f\ufe01`,
	} {
		if got := Line(in); got != want {
			t.Errorf("Line(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestBlock(t *testing.T) {
	t.Parallel()
	in := "\x1b[1mone\x1b[0m\ttab\r\n10%\r20%\nbell\x07 \u202e\xff\n"
	if got, want := Block(in), "one\ttab\n20%\nbell\\x07 \\u202e\uFFFD\n"; got != want {
		t.Errorf("%q", got)
	}
}

func TestIsInvisible(t *testing.T) {
	t.Parallel()
	for _, r := range "\x00\n\r\x1f\x7f\u0085\u00ad\u061c\u115f\u1160\u200b\u200d\u2028\u2029\u202a\u2060\u2069\u3164\ufeff\uffa0\U000e0000\U000e0fff\U000e0100" {
		if !IsInvisible(r) {
			t.Errorf("%U is visible", r)
		}
	}
	for _, r := range "\t a~é漢\u00a0\u3000\u2800\ufe0f\uffff👩" {
		if IsInvisible(r) {
			t.Errorf("%U is invisible", r)
		}
	}
}

// hides says, from Unicode's tables and not from our code, whether a line of
// text holds something that a reader would not see as it is.
func hides(r rune) bool {
	joins := r == zeroWidthJoiner || r == emojiSelector
	return !joins && (unicode.In(r, unicode.Cc, unicode.Cf, unicode.Cs, unicode.Zl, unicode.Zp, unicode.Noncharacter_Code_Point) ||
		unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Variation_Selector, r))
}

func nothingHidden(t fataler, what, got, allowed string) {
	t.Helper()
	if !utf8.ValidString(got) {
		t.Fatalf("%s is not UTF-8: %q", what, got)
	}
	for _, r := range got {
		if hides(r) && !strings.ContainsRune(allowed, r) {
			t.Fatalf("%s holds %U: %q", what, r, got)
		}
	}
}

func lineHides(t fataler, s string) {
	got := Line(s)
	nothingHidden(t, "line", got, "")
	if again := Line(got); again != got {
		t.Fatalf("Line is not stable: %q then %q", got, again)
	}
	// Nothing is removed: every visible character is still there, in order.
	rest := got
	for _, r := range UTF8([]byte(s)) {
		if r == '\t' {
			r = ' '
		}
		if !hides(r) && r != emojiSelector && unicode.IsGraphic(r) {
			i := strings.IndexRune(rest, r)
			if i < 0 {
				t.Fatalf("Line(%q) = %q lost %q", s, got, r)
			}
			rest = rest[i+utf8.RuneLen(r):]
		}
	}
}

func blockHides(t fataler, s string) {
	got := Block(s)
	nothingHidden(t, "block", got, "\t\n")
	if again := Block(got); again != got {
		t.Fatalf("Block is not stable: %q then %q", got, again)
	}
}

func TestNothingHides(t *testing.T) {
	t.Parallel()
	everywhere(t, lineHides)
	everywhere(t, blockHides)
}

func TestUTF8(t *testing.T) {
	t.Parallel()
	// Answers of Node 20, Buffer.toString("utf8").
	for in, want := range map[string]string{
		"ok é":             "ok é",
		"\xff\xfe":         "\uFFFD\uFFFD",
		"\xe2\x82x":        "\uFFFDx",
		"\xf0\x9f\x92":     "\uFFFD",
		"\xed\xa0\x80":     "\uFFFD\uFFFD\uFFFD",
		"\xc0\xaf":         "\uFFFD\uFFFD",
		"\xf4\x90\x80\x80": "\uFFFD\uFFFD\uFFFD\uFFFD",
		"\xef\xbb\xbfx":    "\ufeffx",
	} {
		if got := UTF8([]byte(in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestCleanTextCostsNothing(t *testing.T) {
	clean := strings.Repeat("a line of plain text, 100 % clean. ", 10)
	words := clean + "größer, 漢字 …"
	for name, f := range map[string]func(){
		"Line": func() { Line(clean) }, "Line of words": func() { Line(words) }, "Block": func() { Block(words + "") },
		"LogLine": func() { LogLine(clean) }, "StripANSI": func() { StripANSI(clean) }, "Cut": func() { Cut(clean, 1000) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

func FuzzVisible(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, s string) {
		lineHides(t, s)
		blockHides(t, s)
	})
}

func BenchmarkLine(b *testing.B) {
	s := strings.Repeat("plain ", 20)
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		Line(s)
	}
}

func BenchmarkBlock(b *testing.B) {
	s := strings.Repeat("ok  \x1b[32mgithub.com/x\x1b[0m é 10%\r20%\n", 1<<15)
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		Block(s)
	}
}
