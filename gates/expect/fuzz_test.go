package expect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzMatch looks for panics, for answers that change, and for answers that
// differ from what plain text and refused patterns must give.
func FuzzMatch(f *testing.F) {
	seeds, err := filepath.Glob("testdata/fuzz/FuzzMatch/*")
	if err != nil || len(seeds) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	e := New()
	f.Cleanup(e.Close)
	f.Fuzz(func(t *testing.T, value, output string) {
		x := Parse(value)
		if x.String() != value {
			t.Fatalf("Parse(%q) = %+v", value, x)
		}
		invalid := e.Validate(value)
		got, err := e.Match(value, output)
		again, errAgain := e.Match(value, output)
		if err == nil && errAgain == nil && got != again {
			t.Errorf("%q on %q: %v, then %v", value, output, got, again)
		}
		if got && err != nil {
			t.Errorf("%q on %q: matched with the error %v", value, output, err)
		}
		switch {
		case !x.Pattern:
			if want := value != "" && strings.Contains(output, value); got != want || err != nil || invalid != nil {
				t.Errorf("%q on %q: %v, %v, %v; want %v", value, output, got, err, invalid, want)
			}
		case invalid != nil || !utf8.ValidString(output):
			if err == nil {
				t.Errorf("%q on %q: no error; Validate says %v", value, output, invalid)
			}
		case !strings.ContainsAny(x.Text, `\^$.*+?()[]{}|`) && !strings.ContainsAny(x.Flags, "iyv"):
			if want := strings.Contains(output, x.Text); got != want || err != nil {
				t.Errorf("%q on %q: %v, %v; want %v", value, output, got, err, want)
			}
		}
		if err == nil && !got && utf8.ValidString(output) {
			if s := e.Explain(value, output).String(); !printable(s) {
				t.Errorf("%q on %q: %q", value, output, s)
			}
		}
	})
}

// TestSeedsAreThere: a fuzz target whose seeds are gone would pass with none.
func TestSeedsAreThere(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir("testdata/fuzz/FuzzMatch")
	if err != nil || len(entries) == 0 {
		t.Fatalf("%d seeds, %v", len(entries), err)
	}
}
