package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatesworn/gatesworn/approval"
)

const good = `on:
  pull_request:
    types: [opened, synchronize, reopened, edited]
  merge_group:
  push:
    branches: [main]
permissions: {}
jobs:
  gatesworn:
    runs-on: ubuntu-latest
    permissions:
      contents: read
    steps:
      - uses: actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683
        with:
          persist-credentials: false
      - uses: gatesworn/gatesworn@0000000000000000000000000000000000000000
        with:
          mode: measure
`

func sound() Repository {
	return Repository{
		Workflows:  map[string][]byte{".github/workflows/gatesworn.yml": []byte(good)},
		CodeOwners: []byte("/.github/ @alice\n/.gatesworn/ @alice\nGATES.md @alice\n"), Default: "main",
		Root:    approval.TrustRoot{Ref: "main", State: approval.RootValid, Principals: []string{"alice"}},
		Ledgers: []string{"GATES.md"},
	}
}

func TestSound(t *testing.T) {
	t.Parallel()
	if r := Examine(sound()); len(r.Weak)+len(r.Unknown) > 0 || len(r.Looked) != 4 {
		t.Errorf("%+v", r)
	}
}

// TestWeak changes one thing at a time; exactly that is found.
func TestWeak(t *testing.T) {
	t.Parallel()
	edit := func(old, new string) func(*Repository) {
		return func(r *Repository) {
			text := strings.Replace(good, old, new, 1)
			if text == good {
				t.Fatalf("%q is not there", old)
			}
			r.Workflows[".github/workflows/gatesworn.yml"] = []byte(text)
		}
	}
	for want, change := range map[string]func(*Repository){
		"no workflow measures":        func(r *Repository) { r.Workflows = nil },
		"edited is missing":           edit(", edited]", "]"),
		"merge queue":                 edit("  merge_group:\n", ""),
		"does not run on the default": edit("[main]", "[master]"),
		"paths: a request":            edit("    types:", "    paths: [src/**]\n    types:"),
		"branches: a request":         edit("    types:", "    branches: [main]\n    types:"),
		"pull_request_target would":   edit("  merge_group:\n", "  merge_group:\n  pull_request_target:\n"),
		"cancelled run":               edit("permissions: {}", "permissions: {}\nconcurrency: {group: x, cancel-in-progress: true}"),
		"continue-on-error":           edit("    runs-on", "    continue-on-error: true\n    runs-on"),
		"has an if:":                  edit("    runs-on", "    if: github.actor != 'bot'\n    runs-on"),
		"a machine of yours":          edit("ubuntu-latest", "[self-hosted, linux]"),
		"can be moved":                edit("@0000000000000000000000000000000000000000", "@v1"),
		"keeps the token":             edit("persist-credentials: false", "fetch-depth: 0"),
		"checks: write":               edit("      contents: read", "      contents: read\n      checks: write"),
		"no permissions:": func(r *Repository) {
			edit("permissions: {}\n", "")(r)
			w := string(r.Workflows[".github/workflows/gatesworn.yml"])
			r.Workflows[".github/workflows/gatesworn.yml"] = []byte(strings.Replace(w, "    permissions:\n      contents: read\n", "", 1))
		},
		"may run the request's code": func(r *Repository) {
			r.Workflows[".github/workflows/gatesworn.yml"] = []byte(strings.Replace(strings.Replace(good, "gatesworn/gatesworn@", "gatesworn/gatesworn/host@", 1), "      - uses: gatesworn", "      - run: npm ci\n      - uses: gatesworn", 1))
		},
		"is also in": func(r *Repository) {
			r.Workflows[".github/workflows/z.yml"] = []byte("on: push\njobs: {x: {name: gatesworn, runs-on: u, steps: []}}\n")
		},
		"there are no code owners":      func(r *Repository) { r.CodeOwners = nil },
		"nobody owns .gatesworn":        func(r *Repository) { r.CodeOwners = []byte("/.github/ @a\nGATES.md @a\n") },
		"nobody owns GATES.md":          func(r *Repository) { r.CodeOwners = []byte("* @a\nGATES.md\n") },
		"has no .gatesworn/":            func(r *Repository) { r.Root.State = approval.RootMissing },
		"cannot be read":                func(r *Repository) { r.Root.State = approval.RootBroken },
		"nobody may sign":               func(r *Repository) { r.Root.Principals = nil },
		"other rules or signers":        func(r *Repository) { r.RootBehind = true },
		"Prettier may rewrite GATES.md": func(r *Repository) { r.Prettier, r.PrettierIgnore = true, []byte(".gatesworn\n") },
		"Prettier may rewrite signed":   func(r *Repository) { r.Prettier, r.PrettierIgnore = true, []byte("/GATES.md\n") },
	} {
		r := sound()
		change(&r)
		got := Examine(r)
		if len(got.Weak) != 1 || !strings.Contains(got.Weak[0].Text, want) || got.Weak[0].Next == "" {
			t.Errorf("%s: %+v", want, got.Weak)
		}
	}
}

// TestUnknown: what cannot be read is said, never passed over.
func TestUnknown(t *testing.T) {
	t.Parallel()
	r := sound()
	r.Workflows[".github/workflows/broken.yml"] = []byte("a: [")
	r.Root.State = approval.RootUnread
	if got := Examine(r); len(got.Unknown) != 2 {
		t.Errorf("%+v", got)
	}
}

// TestExamples: the workflows that we show have no weakness of their own but what
// they say themselves.
func TestExamples(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("..", "..", "examples", "two-jobs.yml"))
	if err != nil {
		t.Fatal(err)
	}
	r := sound()
	r.Workflows = map[string][]byte{".github/workflows/gatesworn.yml": []byte(strings.ReplaceAll(string(data), "@v0.1.0", "@"+strings.Repeat("0", 40)))}
	if got := Examine(r); len(got.Weak)+len(got.Unknown) > 0 {
		t.Errorf("%+v", got)
	}
}

func FuzzExamine(f *testing.F) {
	f.Add([]byte(good), []byte("* @a\n"))
	f.Add([]byte("on: push"), []byte("\n#"))
	f.Fuzz(func(_ *testing.T, flow, owners []byte) {
		r := sound()
		r.Workflows["x.yml"], r.CodeOwners = flow, owners
		Examine(r)
	})
}
