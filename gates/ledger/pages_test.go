package ledger

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A parser that read other pages before, or beside, reads the next one as a new one does:
// footnotes and references of one page are nothing on another.
func TestPagesRemembersNothing(t *testing.T) {
	t.Parallel()
	var files [][]byte
	for _, glob := range []string{"testdata/ok/*", "testdata/err/*"} {
		names, err := filepath.Glob(glob)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			if data, err := os.ReadFile(n); err == nil {
				files = append(files, data)
			}
		}
	}
	if len(files) < 20 {
		t.Fatalf("%d files", len(files))
	}
	files = append(files, []byte("- [ ] G1: x[^a]\n\n[^a]: note\n\n[b]: c\n"), []byte("- [ ] G1: x[^a] and [b]\n  CHECK: a [^a] [b]\n  EXPECT: /^/\n"))
	var pages Pages
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for _, data := range files {
				alone := Parser{}.Parse(t.Context(), "GATES.md", data)
				shared := Parser{Pages: &pages}.Parse(t.Context(), "GATES.md", data)
				if d := cmp.Diff(alone.Findings, shared.Findings); d != "" {
					t.Errorf("%.60q: %s", data, d)
				}
			}
		})
	}
	workers.Wait()
}
