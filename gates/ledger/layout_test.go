package ledger

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// seated is where each mark of a text appears, with parts of the given size,
// and what is said about inline structure.
func seated(t *testing.T, data []byte, step int) ([]seat, []remark, []tag) {
	t.Helper()
	s := newScan(Parser{}, &Document{}, string(data))
	defer s.release()
	s.run()
	if s.guards.refused || s.tooMany || s.ambiguousLines() {
		return nil, nil, nil
	}
	l := &layout{ctx: t.Context(), source: pageSource(data), marks: s.marks, step: step}
	l.blocks()
	l.inlines()
	return l.seats, l.remarks, l.tags
}

// sameInParts: a page that is read in parts is read as the whole page is.
func sameInParts(t *testing.T, data []byte) {
	t.Helper()
	opts := cmp.AllowUnexported(seat{}, remark{}, tag{})
	seats, remarks, tags := seated(t, data, len(data)+1)
	for _, step := range []int{1, 40} {
		s, r, g := seated(t, data, step)
		if diff := cmp.Diff(seats, s, opts); diff != "" {
			t.Fatalf("parts of %d: seats differ (-whole +parts):\n%s\n%q", step, diff, data)
		}
		if diff := cmp.Diff(remarks, r, opts); diff != "" {
			t.Fatalf("parts of %d: remarks differ (-whole +parts):\n%s\n%q", step, diff, data)
		}
		if diff := cmp.Diff(tags, g, opts); diff != "" {
			t.Fatalf("parts of %d: tags differ (-whole +parts):\n%s\n%q", step, diff, data)
		}
	}
}

func corpus(t testing.TB) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	files, err := filepath.Glob("testdata/*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[file] = data
	}
	if len(all) < 80 {
		t.Fatalf("only %d files", len(all))
	}
	return all
}

func TestPartsReadAsTheWhole(t *testing.T) {
	t.Parallel()
	all := corpus(t)
	var together strings.Builder
	for _, file := range []string{"ok/plain", "err/comment-block", "ok/fences", "err/script-block", "err/footnote", "ok/nested-list", "err/link-definition", "err/table", "err/quote"} {
		data, ok := all["testdata/"+file+".md"]
		if !ok {
			t.Fatal(file)
		}
		together.Write(data)
		together.WriteString("\n")
	}
	all["several together"] = []byte(together.String())
	for name, data := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sameInParts(t, data)
		})
	}
}

func FuzzParts(f *testing.F) {
	for _, data := range corpus(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 1<<16 {
			sameInParts(t, data)
		}
	})
}
