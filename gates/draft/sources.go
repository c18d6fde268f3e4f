package draft

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gatesworn/gatesworn/internal/lazyregexp"
)

// placeholder is the test script that `npm init` writes.
var placeholder = lazyregexp.New(`no test specified`)

// watching is a script that does not end by itself.
var watching = lazyregexp.New(`(?:^|\s)--watch(?:All)?(?:\s|=true|$)|(?:^|\s)(?:nodemon|vite|webpack-dev-server)\s*$`)

// node reads the scripts of package.json.
func node(p Project) ([]Gate, []string) {
	const file = "package.json"
	data, ok := p.Content[file]
	if !ok {
		return nil, nil
	}
	var doc struct {
		PackageManager string                     `json:"packageManager"`
		Scripts        map[string]json.RawMessage `json:"scripts"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, []string{fmt.Sprintf("%s cannot be read: %v", file, err)}
	}
	manager := packageManager(p, doc.PackageManager)
	var gates []Gate
	var notes []string
	for _, k := range known {
		for _, name := range k.names {
			var script string
			if raw, ok := doc.Scripts[name]; !ok || json.Unmarshal(raw, &script) != nil || strings.TrimSpace(script) == "" {
				continue
			}
			if why := unfit(script); why != "" {
				notes = append(notes, fmt.Sprintf("left out the script %s of %s: %s", name, file, why))
				continue
			}
			run := manager + " run " + name
			if name == "test" && manager != "bun" { // `bun test` is another program
				run = manager + " test"
			}
			gates = append(gates, Gate{Outcome: k.outcome, Check: run, Source: file, Word: name, kind: k.word})
			break
		}
	}
	return gates, notes
}

func unfit(script string) string {
	switch {
	case placeholder.MatchString(script):
		return "it is npm's placeholder"
	case watching.MatchString(script):
		return "it watches and never ends"
	}
	return ""
}

func packageManager(p Project, declared string) string {
	name, _, _ := strings.Cut(declared, "@")
	switch {
	case name == "npm" || name == "pnpm" || name == "yarn" || name == "bun":
		return name
	case p.Exists["pnpm-lock.yaml"]:
		return "pnpm"
	case p.Exists["yarn.lock"]:
		return "yarn"
	case p.Exists["bun.lock"] || p.Exists["bun.lockb"]:
		return "bun"
	}
	return "npm"
}

// golang: `go test` and `go vet` come with the language.
func golang(p Project) ([]Gate, []string) {
	const file = "go.mod"
	if _, ok := p.Content[file]; !ok {
		return nil, nil
	}
	gates := []Gate{
		{Outcome: "the Go tests pass", Check: "go test ./...", Source: file, Word: "test"},
		{Outcome: "go vet is silent", Check: "go vet ./...", Source: file, Word: "vet"},
	}
	for _, config := range []string{".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"} {
		if p.Exists[config] {
			return append(gates, Gate{Outcome: "golangci-lint is silent", Check: "golangci-lint run", Source: config, Word: "lint"}), nil
		}
	}
	return gates, nil
}

// rust: tests always, clippy and rustfmt where they are configured.
func rust(p Project) ([]Gate, []string) {
	const file = "Cargo.toml"
	data, ok := p.Content[file]
	if !ok {
		return nil, nil
	}
	tables := tomlTables(data)
	workspace := ""
	if tables.has("workspace") {
		workspace = " --workspace"
	}
	gates := []Gate{{Outcome: "the Rust tests pass", Check: "cargo test" + workspace, Source: file, Word: "test"}}
	if tables.has("lints.clippy") || tables.has("workspace.lints.clippy") || p.Exists["clippy.toml"] || p.Exists[".clippy.toml"] {
		gates = append(gates, Gate{Outcome: "clippy is silent", Check: "cargo clippy --all-targets" + workspace + " -- -D warnings", Source: file, Word: "lint"})
	}
	if p.Exists["rustfmt.toml"] || p.Exists[".rustfmt.toml"] {
		gates = append(gates, Gate{Outcome: "the Rust code is formatted", Check: "cargo fmt --check", Source: file, Word: "format"})
	}
	return gates, nil
}

// python: the tools that pyproject.toml configures or depends on.
func python(p Project) ([]Gate, []string) {
	const file = "pyproject.toml"
	data, ok := p.Content[file]
	if !ok {
		return nil, nil
	}
	tables := tomlTables(data)
	prefix := ""
	for _, r := range []struct{ lock, run string }{{"uv.lock", "uv run "}, {"poetry.lock", "poetry run "}, {"pdm.lock", "pdm run "}} {
		if p.Exists[r.lock] {
			prefix = r.run
			break
		}
	}
	module := prefix
	if module == "" {
		module = "python -m "
	}
	pytest := tables.has("tool.pytest") || p.Exists["pytest.ini"] ||
		(p.Exists["tests"] || p.Exists["test"]) && lazyregexp.New(`(?m)["']?\bpytest\b`).Match(data)
	var gates []Gate
	add := func(when bool, outcome, check, word string) {
		if when {
			gates = append(gates, Gate{Outcome: outcome, Check: check, Source: file, Word: word})
		}
	}
	add(pytest, "the Python tests pass", module+"pytest", "test")
	add(tables.has("tool.ruff"), "ruff is silent", prefix+"ruff check .", "lint")
	add(tables.has("tool.black"), "the Python code is formatted", prefix+"black --check .", "format")
	add(tables.has("tool.mypy"), "the Python types are consistent", module+mypy(data), "types")
	return gates, nil
}

// mypy names the folder unless the configuration does.
func mypy(data []byte) string {
	if lazyregexp.New(`(?m)^(?:files|packages|modules)\s*=`).Match(data) {
		return "mypy"
	}
	return "mypy ."
}

// tables are the names of the tables of a TOML file, as far as lines show them.
// A table inside a string of several lines is taken for one: the gate would be
// drafted, and seen.
type tables []string

var tableLine = lazyregexp.New(`(?m)^[ \t]*\[\[?[ \t]*([A-Za-z0-9_."' \t-]+?)[ \t]*\]\]?[ \t]*(?:#.*)?\r?$`)

func tomlTables(data []byte) tables {
	var t tables
	for _, m := range tableLine.FindAllSubmatch(data, -1) {
		t = append(t, strings.NewReplacer(" ", "", "\t", "", `"`, "", "'", "").Replace(string(m[1])))
	}
	return t
}

// has reports a table or one beneath it.
func (t tables) has(name string) bool {
	return slices.ContainsFunc(t, func(n string) bool { return n == name || strings.HasPrefix(n, name+".") })
}

// rule is a line that names targets: not an assignment, not a recipe.
var rule = lazyregexp.New(`(?m)^([A-Za-z0-9_./:% -]+?)[ \t]*::?(?:[^=:].*)?\r?$`)

// makefile reads the targets of the file that make would read.
func makefile(p Project) []Gate {
	for _, file := range []string{"GNUmakefile", "makefile", "Makefile"} { // make's order
		data, ok := p.Content[file]
		if !ok {
			continue
		}
		targets := map[string]bool{}
		for _, m := range rule.FindAllSubmatch(data, -1) {
			for _, name := range strings.Fields(string(m[1])) {
				targets[name] = true
			}
		}
		var gates []Gate
		for _, k := range known {
			for _, name := range k.names {
				if targets[name] && !strings.Contains(name, ":") {
					gates = append(gates, Gate{Outcome: k.outcome, Check: "make " + name, Source: file, Word: name, kind: k.word})
					break
				}
			}
		}
		return gates
	}
	return nil
}
