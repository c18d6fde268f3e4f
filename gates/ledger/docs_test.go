package ledger_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocsShowTheMistakes: docs/ledger.md shows what the checker says about each
// mistake under testdata, word for word.
func TestDocsShowTheMistakes(t *testing.T) {
	t.Parallel()
	const doc = "../../docs/ledger.md"
	data, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- mistakes: written by a test -->\n", "<!-- /mistakes -->"
	before, rest, ok := strings.Cut(string(data), begin)
	_, after, found := strings.Cut(rest, end)
	if !ok || !found {
		t.Fatalf("no %q … %q in %s", begin, end, doc)
	}
	want := before + begin + mistakes(t) + end + after
	if *update {
		if err := os.WriteFile(doc, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(data) != want {
		t.Errorf("%s does not show what the checker says; run with -update", doc)
	}
}

func mistakes(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("testdata/mistakes/*.golden")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 15 {
		t.Fatalf("only %d mistakes", len(files))
	}
	var b strings.Builder
	b.WriteString("```text\n")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(data)
	}
	b.WriteString("```\n")
	return b.String()
}
