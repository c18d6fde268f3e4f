package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/gatesworn/gatesworn/"

// listed is what go list says of a package.
type listed struct {
	ImportPath string
	Imports    []string
}

func (p listed) name() string { return strings.TrimPrefix(p.ImportPath, module) }

// ours are the packages of this module that p imports.
func (p listed) ours() []string {
	var out []string
	for _, i := range p.Imports {
		if n, ok := strings.CutPrefix(i, module); ok {
			out = append(out, n)
		}
	}
	return out
}

func packages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 10 {
		t.Fatalf("go list found %d packages", len(all))
	}
	return all
}

func under(name string, folders ...string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return name == f || strings.HasPrefix(name, f+"/") })
}

// allowed says whether the arrow from one package to another points down.
func allowed(from, to string) bool {
	switch {
	case under(to, "internal"):
		return true
	case under(from, "internal"):
		return false
	case under(from, "cmd"):
		return !under(to, "cmd")
	case under(from, "action"):
		return under(to, "action", "ghreport", "approval", "gates")
	case under(from, "ghreport"):
		return under(to, "ghreport", "gates")
	case under(from, "approval"):
		return under(to, "approval", "gates/ledger", "gates/evidence")
	case from == "gates":
		return under(to, "gates") && !under(to, "gates/runner", "gates/ledgerfile", "gates/render", "gates/hook", "gates/scope", "gates/lint")
	case under(from, "gates/ledger", "gates/expect", "gates/evidence", "gates/schedule"):
		return under(to, "gates/expect", "gates/ledger") // leaves: below the pipeline
	case under(from, "gates"):
		return under(to, "gates")
	default:
		return false
	}
}

// TestArrowsPointDown is the layout of docs/architecture.md as a test.
func TestArrowsPointDown(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		for _, to := range p.ours() {
			if !allowed(p.name(), to) {
				t.Errorf("%s must not import %s", p.name(), to)
			}
		}
	}
}

// TestSpecialImports keeps two privileges in their rooms: starting processes, and GitHub's API.
func TestSpecialImports(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		for _, i := range p.Imports {
			if i == "os/exec" && !under(p.name(), "gates/runner", "approval/signing", "action/e2e", "action/actiontest") {
				t.Errorf("%s must not start processes", p.name())
			}
			if strings.Contains(i, "google/go-github") && p.name() != "ghreport" {
				t.Errorf("%s must not import go-github", p.name())
			}
		}
	}
}

// TestFanOut keeps packages small in what they depend on; front ends only wire,
// and internal/ holds leaves that anyone may use, so neither counts.
func TestFanOut(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		limit := 4
		if p.name() == "gates" {
			limit = 5
		}
		ours := slices.DeleteFunc(p.ours(), func(n string) bool { return under(n, "internal") })
		if n := len(ours); n > limit && !under(p.name(), "cmd", "action") {
			t.Errorf("%s imports %d packages of this module, more than %d: %s", p.name(), n, limit, strings.Join(ours, ", "))
		}
	}
}

// TestNoVagueNames refuses rooms that anything could go into.
func TestNoVagueNames(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		for _, part := range strings.Split(p.name(), "/") {
			if slices.Contains([]string{"common", "util", "utils", "helper", "helpers", "types", "misc"}, part) {
				t.Errorf("%s: a name that says nothing", p.name())
			}
		}
	}
}
