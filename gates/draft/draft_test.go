package draft_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/gatesworn/gatesworn/gates/draft"
	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/gatesworn/gatesworn/gates/lint"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata")

// project reads a txtar archive as the top of a project; its comment is the
// expected summary, the file GATES.md the expected ledger.
func project(a *txtar.Archive) draft.Project {
	p := draft.Project{Content: map[string][]byte{}, Exists: map[string]bool{}}
	for _, f := range a.Files {
		switch {
		case slices.Contains(draft.Files(), f.Name):
			p.Content[f.Name] = f.Data
		case slices.Contains(draft.Present(), f.Name):
			p.Exists[f.Name] = true
		}
	}
	return p
}

func TestProjects(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 10 {
		t.Fatalf("only %d projects", len(files))
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			d := draft.Ledger(project(a))
			clean(t, d)
			comment := d.Sources() + "\n" + strings.Join(d.Notes, "\n") + "\n"
			if *update {
				a.Comment = []byte(comment)
				a.Files = slices.DeleteFunc(a.Files, func(f txtar.File) bool { return f.Name == "GATES.md" })
				a.Files = append(a.Files, txtar.File{Name: "GATES.md", Data: d.Text})
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(strings.TrimSpace(string(a.Comment)), strings.TrimSpace(comment)); diff != "" {
				t.Errorf("summary (-want +got):\n%s", diff)
			}
			for _, f := range a.Files {
				if f.Name != "GATES.md" {
					continue
				}
				if diff := cmp.Diff(string(f.Data), string(d.Text)); diff != "" {
					t.Errorf("ledger (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// clean: the draft parses without a finding, holds the gates it says, and lint
// has nothing to say.
func clean(t *testing.T, d draft.Draft) {
	t.Helper()
	if len(d.Gates) == 0 {
		if d.Text != nil || d.Sources() != "" {
			t.Errorf("no gates, but %q from %q", d.Text, d.Sources())
		}
		return
	}
	doc := ledger.Parse("GATES.md", d.Text)
	for _, f := range lint.Check(doc) {
		t.Errorf("line %d: %s: %s\n%s", f.Line, f.Rule, f.Message, d.Text)
	}
	if len(doc.Gates) != len(d.Gates) {
		t.Fatalf("%d gates, want %d", len(doc.Gates), len(d.Gates))
	}
	for i, g := range doc.Gates {
		if g.Check != d.Gates[i].Check || g.Outcome != d.Gates[i].Outcome || g.Expect != "/^/" {
			t.Errorf("gate %d is %+v, want %+v", i, g, d.Gates[i])
		}
	}
}

// FuzzLedger: no content of a project's files gets anything into the ledger
// but what the draft's own words say.
func FuzzLedger(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		p := project(a)
		f.Add(p.Content["package.json"], p.Content["Cargo.toml"], p.Content["pyproject.toml"], p.Content["Makefile"])
	}
	f.Fuzz(func(t *testing.T, node, rust, python, makefile []byte) {
		d := draft.Ledger(draft.Project{Content: map[string][]byte{
			"package.json": node, "Cargo.toml": rust, "pyproject.toml": python, "Makefile": makefile, "go.mod": nil,
		}})
		clean(t, d)
	})
}
