package schedule

import (
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
	"pgregory.net/rapid"
)

func TestOverlap(t *testing.T) {
	t.Parallel()
	tests := []struct {
		a, b string
		want bool
	}{
		{"a", "a", true},
		{"a", "b", false},
		{"a", "A", false},
		{"a/b", "a/c", false},
		{"a", "a/b", true},
		{"a/", "a", true},
		{"./a//b", "a/b", true},
		{"ab", "a", false},
		{"src/**", "src/x/y", true},
		{"src/**", "docs/**", false},
		{"src/*/a", "src/b/c", true},
		{"*", "x/y", true},
		{"**", "anything", true},
		{"a*", "b*", true},
		{"a*", "b", true},
		{"a?c/x", "abd/y", true},
		{"a[0]", "b", true},
		{"{a,b}/x", "c", true},
		{`a\*`, "b", true},
		{"", "a", true},
		{".", "a", true},
		{"..", "a", true},
		{"a/../b", "b", true},
		{"a/../b", "c", true},
		{"a/*/../../b", "c", true},
		{"a/..b", "c", false},
		{"@db", "@db", true},
		{"@db", "@db2", false},
		{"@db", "@DB", false},
		{"@db", "@db/x", false},
		{"@db", "**", false},
		{"@db", "db", false},
	}
	for _, tt := range tests {
		if Overlap(tt.a, tt.b) != tt.want || Overlap(tt.b, tt.a) != tt.want {
			t.Errorf("%q and %q: want %v", tt.a, tt.b, tt.want)
		}
	}
}

// Whatever two patterns match together, they overlap: disjoint is never said of
// patterns that share a file.
func TestOverlapIsSound(t *testing.T) {
	t.Parallel()
	segment := rapid.SampledFrom([]string{"a", "b", "ab", "*", "**", "a*", "?", "[ab]"})
	literal := rapid.SampledFrom([]string{"a", "b", "ab"})
	shared := 0
	rapid.Check(t, func(t *rapid.T) {
		a := strings.Join(rapid.SliceOfN(segment, 1, 4).Draw(t, "a"), "/")
		b := strings.Join(rapid.SliceOfN(segment, 1, 4).Draw(t, "b"), "/")
		path := strings.Join(rapid.SliceOfN(literal, 1, 4).Draw(t, "path"), "/")
		inA, errA := doublestar.Match(a, path)
		inB, errB := doublestar.Match(b, path)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if inA && inB {
			shared++
			if !Overlap(a, b) {
				t.Fatalf("%q and %q both match %q", a, b, path)
			}
		}
	})
	if shared == 0 {
		t.Error("no two patterns matched the same file")
	}
}

func FuzzOverlap(f *testing.F) {
	f.Add("a/b", "a/*")
	f.Add("@x", "@x")
	f.Add("", "..")
	f.Fuzz(func(t *testing.T, a, b string) {
		if Overlap(a, b) != Overlap(b, a) {
			t.Errorf("%q and %q: not symmetric", a, b)
		}
		if !Overlap(a, a) {
			t.Errorf("%q does not overlap itself", a)
		}
		// The queue's tree must agree with the rule.
		q := New([]Task{{Writes: []string{a}}, {Reads: []string{b}}}, 2)
		q.Next()
		if _, together := q.Next(); together == Overlap(a, b) {
			t.Errorf("%q and %q: overlap %v, together %v", a, b, Overlap(a, b), together)
		}
	})
}
