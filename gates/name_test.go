package gates_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/gatesworn/gatesworn/gates"
)

func TestNamesLengthenOnlyAsFarAsTheyClash(t *testing.T) {
	t.Parallel()
	got := gates.Names([]string{"GATES.md", "gates/auth.md", "pkg/a/GATES.md", "pkg/b/GATES.md"})
	want := []string{"GATES", "auth", "a/GATES", "b/GATES"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNamesAreUnique(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		paths := rapid.SliceOfDistinct(rapid.StringMatching(`([ab]/){0,3}[xy]\.md`), rapid.ID[string]).Draw(t, "paths")
		seen := map[string]string{}
		for i, n := range gates.Names(paths) {
			if other, ok := seen[n]; ok {
				t.Fatalf("%q names both %q and %q", n, other, paths[i])
			}
			seen[n] = paths[i]
		}
	})
}

func TestIsGateName(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]bool{
		"G1": true, "GATES:G1": true, "GATES.md:G1": true, "gates/a.md:G1": true, "a:b:G1": true,
		"GATES.md": false, "gates/a.md": false, ":G1": false, "GATES:": false, "": false, "-x": false,
	} {
		if got := gates.IsGateName(arg); got != want {
			t.Errorf("IsGateName(%q) = %v", arg, got)
		}
	}
}
