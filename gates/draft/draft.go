// Package draft writes a first ledger for a project from what its own files say
// about tests, linters and builds.
//
// It promises that the ledger parses without a finding and lints clean, that it
// holds only commands the project declares (a script, a target, a configured
// tool) or that its language defines, and that the same files give the same
// bytes. It does no I/O and runs nothing; whether a command works is what
// `gatesworn check` finds out.
//
// It imports nothing of ours; cmd imports it.
package draft

import (
	"fmt"
	"slices"
	"strings"
)

// Files returns the names of the files that Ledger reads, all at the top of a
// project. Of those in Present only the existence matters.
func Files() []string {
	return []string{"package.json", "go.mod", "Cargo.toml", "pyproject.toml", "GNUmakefile", "Makefile", "makefile"}
}

// Present returns the names whose existence Ledger looks at.
func Present() []string {
	return []string{
		"pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb", // which package manager
		"uv.lock", "poetry.lock", "pdm.lock", // which runner
		"pytest.ini", "tests", "test", // Python tests
		"rustfmt.toml", ".rustfmt.toml", "clippy.toml", ".clippy.toml",
		".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json",
	}
}

// Project is what is known of a project: the content of Files that are there,
// and which of Present exist.
type Project struct {
	Content map[string][]byte
	Exists  map[string]bool
}

// Gate is one drafted gate.
type Gate struct {
	Outcome, Check string
	Source         string // the file it comes from
	Word           string // what it is called there: test, lint, …

	kind string // the word of known that it stands for, "" for Word itself
}

func (g Gate) is() string {
	if g.kind != "" {
		return g.kind
	}
	return g.Word
}

// Draft is a first ledger.
type Draft struct {
	Gates []Gate
	Text  []byte   // of the ledger, nil when there are no gates
	Notes []string // what was left out and why
}

// Ledger drafts a ledger. Makefile targets count only for what no other file
// names: they are usually front ends to it.
func Ledger(p Project) Draft {
	var d Draft
	for _, read := range []func(Project) ([]Gate, []string){node, golang, rust, python} {
		gates, notes := read(p)
		d.Gates = append(d.Gates, gates...)
		d.Notes = append(d.Notes, notes...)
	}
	for _, g := range makefile(p) {
		if !slices.ContainsFunc(d.Gates, func(o Gate) bool { return o.is() == g.is() }) {
			d.Gates = append(d.Gates, g)
		}
	}
	// `check` usually runs the others, the tests among them.
	if slices.ContainsFunc(d.Gates, func(g Gate) bool { return g.is() == "test" }) {
		d.Gates = slices.DeleteFunc(d.Gates, func(g Gate) bool { return g.is() == "check" })
	}
	if len(d.Gates) == 0 {
		return d
	}
	var b strings.Builder
	b.WriteString("# Gates\n\n")
	for i, g := range d.Gates {
		fmt.Fprintf(&b, "- [ ] G%d: %s\n  CHECK: %s\n  EXPECT: /^/\n", i+1, g.Outcome, g.Check)
	}
	d.Text = []byte(b.String())
	return d
}

// Sources says where the gates come from: "package.json (test, lint), go.mod (test)".
func (d Draft) Sources() string {
	var parts, words []string
	for i, g := range d.Gates {
		words = append(words, g.Word)
		if i+1 == len(d.Gates) || d.Gates[i+1].Source != g.Source {
			parts = append(parts, g.Source+" ("+strings.Join(words, ", ")+")")
			words = nil
		}
	}
	return strings.Join(parts, ", ")
}

// known are the words of scripts and targets that name an outcome, in the order
// of a ledger, with the outcome. The first name of a line that is there counts.
var known = []struct {
	word    string
	names   []string
	outcome string
}{
	{"test", []string{"test", "tests"}, "the test suite passes"},
	{"lint", []string{"lint"}, "the linter is silent"},
	{"types", []string{"typecheck", "type-check", "check-types", "check:types", "types:check", "tsc"}, "the types are consistent"},
	{"format", []string{"format:check", "format-check", "fmt-check", "fmt:check", "check-format", "check:format", "prettier:check"}, "the code is formatted"},
	{"vet", []string{"vet"}, "vet is silent"},
	{"build", []string{"build"}, "the build succeeds"},
	{"check", []string{"check"}, "every check of the project passes"},
}
