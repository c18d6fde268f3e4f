package ledger_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata")

// TestCorpus reads every ledger under testdata and compares what is said about
// it. Those in ok hold no error, those in err at least one; mistakes are those
// of docs/ledger.md.
func TestCorpus(t *testing.T) {
	t.Parallel()
	for dir, least := range map[string]int{"ok": 10, "err": 40, "mistakes": 14} {
		files, err := filepath.Glob(filepath.Join("testdata", dir, "*.md"))
		if err != nil {
			t.Fatal(err)
		}
		if len(files) < least {
			t.Fatalf("only %d files in testdata/%s", len(files), dir)
		}
		for _, file := range files {
			t.Run(dir+"/"+filepath.Base(file), func(t *testing.T) {
				t.Parallel()
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				d := ledger.Parser{Top: "D:/repo/app"}.Parse(t.Context(), "GATES.md", data)
				if dir == "ok" && !d.OK() || dir == "err" && d.OK() {
					t.Errorf("OK = %v in testdata/%s", d.OK(), dir)
				}
				if !bytes.Equal(d.Bytes(), data) {
					t.Error("Bytes differ from the file")
				}
				var got strings.Builder
				if err := ledger.FormatFindings(&got, "GATES.md", d.Findings, 0); err != nil {
					t.Fatal(err)
				}
				golden(t, strings.TrimSuffix(file, ".md")+".golden", got.String())
			})
		}
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("findings differ (-golden +got); run with -update when that is meant:\n%s", diff)
	}
}
