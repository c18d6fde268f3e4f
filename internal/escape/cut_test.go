package escape

import (
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100)
	for _, c := range []struct {
		in   string
		max  int
		want string
	}{
		{"short", 5, "short"},
		{"short", 4, "s…"},
		{"short", 2, ""},
		{"short", 0, ""},
		{"short", -1, ""},
		{long, 40, strings.Repeat("x", 16) + "… (84 bytes left out)"},
		{"é漢" + long, 28, "é… (103 bytes left out)"},
	} {
		if got := Cut(c.in, c.max); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.in, c.max, got, c.want)
		}
	}
}

func TestShort(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		max  int
		want string
	}{
		{"漢字漢字", 4, "漢字漢字"}, {"漢字漢字", 3, "漢字…"}, {"a title", 3, "a…"}, {"ab", 1, "…"}, {"ab", 0, ""}, {"", 0, ""},
	} {
		if got := Short(c.in, c.max); got != c.want {
			t.Errorf("Short(%q, %d) = %q, want %q", c.in, c.max, got, c.want)
		}
	}
}

func TestCutUTF16(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		max  int
		want string
	}{
		{"abc", 3, "abc"}, {"abc", 2, "ab"}, {"a💻b", 2, "a"}, {"a💻b", 3, "a💻"}, {"漢字", 2, "漢字"}, {"漢字", 0, ""}, {"\xff\xff", 1, "\xff"},
	} {
		if got := CutUTF16(c.in, c.max); got != c.want {
			t.Errorf("CutUTF16(%q, %d) = %q, want %q", c.in, c.max, got, c.want)
		}
	}
}

func TestBMP(t *testing.T) {
	t.Parallel()
	if got := BMP("a💻漢"); got != "a\uFFFD漢" {
		t.Errorf("%q", got)
	}
}

func cutsHold(t fataler, s string, n int) {
	valid := utf8.ValidString(s)
	for what, got := range map[string]string{"Cut": Cut(s, n), "Short": Short(s, n), "CutUTF16": CutUTF16(s, n)} {
		if valid && !utf8.ValidString(got) {
			t.Fatalf("%s(%q, %d) = %q cuts a character", what, s, n, got)
		}
		kept, _, marked := strings.Cut(got, ellipsis)
		if what == "CutUTF16" || strings.Contains(s, ellipsis) {
			kept, marked = got, true
		}
		if !strings.Contains(s, ellipsis) && !strings.HasPrefix(s, kept) {
			t.Fatalf("%s(%q, %d) = %q is not its beginning", what, s, n, got)
		}
		if got != s && !marked && got != "" {
			t.Fatalf("%s(%q, %d) = %q is not marked", what, s, n, got)
		}
	}
	if got := Cut(s, n); len(got) > max(n, 0) {
		t.Fatalf("Cut(%q, %d) has %d bytes", s, n, len(got))
	}
	if got := Short(s, n); utf8.RuneCountInString(got) > max(n, 0) {
		t.Fatalf("Short(%q, %d) = %q", s, n, got)
	}
	if got := CutUTF16(s, n); len(utf16.Encode([]rune(got))) > max(n, 0) {
		t.Fatalf("CutUTF16(%q, %d) = %q", s, n, got)
	}
}

func TestCutsAtEveryOffset(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		s := text(r)
		for n := -1; n <= len(s)+1; n++ {
			cutsHold(r, s, n)
		}
	})
}

// Foreign text stays harmless when it is cut at any offset before its sink.
func TestSinksAfterEveryCut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		s := StripANSI(UTF8([]byte(text(r))))
		n := rapid.IntRange(0, len(s)+1).Draw(r, "n")
		cut := Cut(s, n)
		logIsQuiet(r, cut)
		fenceHolds(r, cut)
		cellHolds(r, cut)
		blockHides(r, cut)
	})
}

func FuzzCut(f *testing.F) {
	for i, p := range pieces {
		f.Add(p+pieces[(i+1)%len(pieces)], i)
	}
	f.Fuzz(func(t *testing.T, s string, n int) { cutsHold(t, s, n) })
}
