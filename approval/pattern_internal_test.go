package approval

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestMatchImpliesReach: whatever a pattern matches beneath a folder, it is known
// to reach into that folder. Submodules are refused by that.
func TestMatchImpliesReach(t *testing.T) {
	t.Parallel()
	part := rapid.SampledFrom([]string{"a", "b", "ab", "*", "?", "a*", "**", "[ab]", "[!a]", "a*b", `\a`, "*.x", "a.x"})
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(part, 1, 4).Draw(t, "parts"), "/")
	}).Filter(func(s string) bool { return !strings.Contains(s, "**/**") }) // refused; of four parts two can be ** then
	name := rapid.SampledFrom([]string{"a", "b", "ab", "a.x", "*", "abb"})
	matched := 0
	rapid.Check(t, func(t *rapid.T) {
		p, err := parsePattern(text.Draw(t, "pattern"))
		if err != nil {
			t.Fatal(err)
		}
		path := rapid.SliceOfN(name, 1, 4).Draw(t, "path")
		full := strings.Join(path, "/")
		if !p.match(full) {
			return
		}
		matched++
		if !strings.HasPrefix(full, p.literal) {
			t.Fatalf("%q matches %q, which does not begin with %q", p.text, full, p.literal)
		}
		for i := 1; i < len(path); i++ {
			if folder := strings.Join(path[:i], "/"); !p.reaches(folder, true) {
				t.Fatalf("%q matches %q and does not reach %q", p.text, full, folder)
			}
		}
	})
	if matched == 0 {
		t.Error("no pattern matched anything")
	}
}

func FuzzPattern(f *testing.F) {
	for _, p := range []string{"a/**/b", "[a-", "a/*.go", "**", `a\*`, "[^a]/b", "a//b"} {
		f.Add(p, "a/x/b")
	}
	f.Fuzz(func(t *testing.T, text, path string) {
		p, err := parsePattern(text)
		if err != nil || len(text) > 100 || len(path) > 100 {
			return
		}
		if !cleanPath(path) || !p.match(path) {
			return
		}
		for i := range path {
			if path[i] == '/' && !p.reaches(path[:i], true) {
				t.Fatalf("%q matches %q and does not reach %q", text, path, path[:i])
			}
		}
	})
}
