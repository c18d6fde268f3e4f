package gitobj

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkClean is what a run does before anything starts: open, list HEAD's
// tree, compare 2000 files of 4 KiB, look for untracked ones, read attributes.
func BenchmarkClean(b *testing.B) {
	r := newRepo(b, "sha1")
	body := strings.Repeat("some text on a line of a file\n", 140)
	for i := range 2000 {
		r.write(fmt.Sprintf("d%d/e%d/f%d.txt", i%10, i%50, i), fmt.Sprint(i, body))
	}
	r.commit("c")
	r.git("gc", "-q")
	for _, stat := range []bool{false, true} {
		b.Run(fmt.Sprintf("statcache=%v", stat), func(b *testing.B) {
			for b.Loop() {
				g, entries := r.headEntries()
				c, err := g.Compare(b.Context(), entries, CompareOptions{StatCache: stat})
				if err != nil || len(c.Differences) != 0 {
					b.Fatal(c, err)
				}
				if _, err := g.WorkFiles(b.Context(), NewPathSet(entries), WorkOptions{}); err != nil {
					b.Fatal(err)
				}
				if _, err := g.Attributes(b.Context(), entries); err != nil {
					b.Fatal(err)
				}
				g.Close()
			}
		})
	}
}
