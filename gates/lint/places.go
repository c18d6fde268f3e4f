package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/gatesworn/gatesworn/gates/ledger"

	"github.com/gatesworn/gatesworn/internal/lazyregexp"
)

// machine finds a path that begins where only one machine has it. What stands
// in front tells it from part of an address or of a longer path.
var machine = lazyregexp.New("(?:^|[\\s\"'`=:(,>])(" + `(?:/home|/Users)/[A-Za-z0-9._-]+[^\s"']*|/root/[^\s"']+|/mnt/[a-z]/[^\s"']*|[A-Z]:[\\/][^\s"']*|[a-z]:\\[^\s"']*)`)

// containers run commands where such a path may be right.
var containers = lazyregexp.New(`(?:^|[\s;&|])(?:docker|podman|nerdctl|kubectl)\s`)

// places warns of paths that exist on one machine.
func (l *linter) places(g *ledger.Gate) {
	for _, a := range []struct {
		key   ledger.Key
		value string
	}{{ledger.Check, g.Check}, {ledger.Expect, g.Expect}, {ledger.CWD, g.CWD}} {
		m := machine.FindStringSubmatch(a.value)
		if m == nil && a.key == ledger.CWD && strings.HasPrefix(a.value, "/") {
			m = []string{"", a.value}
		}
		if m == nil || a.key == ledger.Check && containers.MatchString(a.value) {
			continue
		}
		l.at(g, a.key, machinePath, fmt.Sprintf("%s exists on one machine; use a path relative to the repository", short(strings.TrimRight(m[1], ");,`"), maxQuoted)))
	}
}

// tools read files that their command line does not name: any of each group.
var tools = map[string][][]string{
	"make": {{"Makefile", "makefile", "GNUmakefile"}}, "gmake": {{"GNUmakefile", "Makefile", "makefile"}},
	"just": {{"justfile", "Justfile", ".justfile"}},
	"npm":  {{"package.json"}}, "pnpm": {{"package.json"}}, "yarn": {{"package.json"}}, "bun": {{"package.json"}},
	"pytest": {{"pyproject.toml", "pytest.ini", "tox.ini", "setup.cfg"}, {"conftest.py"}}, "tox": {{"tox.ini", "pyproject.toml"}},
	"cargo": {{"Cargo.toml"}}, "go": {{"go.mod"}},
	"tsc": {{"tsconfig.json"}}, "mvn": {{"pom.xml"}}, "gradle": {{"build.gradle", "build.gradle.kts"}},
	"docker-compose": {{"compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"}},
}

// inputs warns where INPUTS is given and leaves out what CHECK reads or runs: an
// approval would then stay valid while that file changes.
func (l *linter) inputs(g *ledger.Gate) {
	if len(g.Inputs) == 0 {
		return
	}
	commands, ok := split(g.Check)
	if !ok {
		return
	}
	var missing []string
	for i := range commands {
		for _, group := range reads(&commands[i]) {
			if !bound(g, group) && !slices.Contains(missing, group[0]) {
				missing = append(missing, group[0])
			}
		}
	}
	if len(missing) == 0 {
		return
	}
	list := strings.Join(missing, ", ")
	if g.CWD == "" || g.CWD == "." {
		l.at(g, ledger.Inputs, implicitInputs, fmt.Sprintf("CHECK also reads %s, which may change without a new approval", list),
			"INPUTS: "+strings.Join(append(slices.Clone(g.Inputs), missing...), ", "))
		return
	}
	l.at(g, ledger.Inputs, implicitInputs, fmt.Sprintf("CHECK also reads %s (in %s), which may change without a new approval", list, short(g.CWD, 40)))
}

// bound reports whether INPUTS matches one of the files, as seen from CWD, from
// the top, or by its name alone: where a `cd` leads is not followed.
func bound(g *ledger.Gate, files []string) bool {
	for _, f := range files {
		for _, p := range g.Inputs {
			for _, candidate := range []string{f, path.Join(g.CWD, f)} {
				if ok, err := doublestar.Match(p, path.Clean(candidate)); err == nil && ok {
					return true
				}
			}
			if ok, err := path.Match(path.Base(p), path.Base(f)); err == nil && ok && path.Base(p) != "**" {
				return true
			}
		}
	}
	return false
}

// runners run what follows them.
var runners = map[string]bool{"npx": true, "bunx": true, "uv": true, "poetry": true, "pdm": true, "hatch": true, "nice": true, "run": true}

// interpreters run the script that is their first operand.
var interpreters = map[string]bool{
	"sh": true, "bash": true, "zsh": true, "dash": true, "node": true, "python": true, "python3": true,
	"ruby": true, "perl": true, "php": true, "lua": true, "tsx": true, "ts-node": true, "pwsh": true, "powershell": true,
}

// reads lists the files, in groups of alternatives, that a command reads or runs.
func reads(c *command) [][]string {
	words := c.words
	for len(words) > 1 && runners[words[0].text] {
		words = words[1:]
	}
	if len(words) == 0 || c.group {
		return nil
	}
	name := words[0].text
	switch {
	case interpreters[name]:
		return script(words)
	case (name == "docker" || name == "podman") && len(words) > 1 && words[1].text == "compose":
		return tools["docker-compose"]
	case strings.Contains(name, "/") && !strings.HasPrefix(name, "/") && words[0].literal():
		return [][]string{{path.Clean(name)}}
	case name == "make" || name == "gmake":
		for i, w := range words[:len(words)-1] {
			if w.text == "-f" {
				return [][]string{{path.Clean(words[i+1].text)}}
			}
			if w.text == "-C" {
				return [][]string{{path.Join(words[i+1].text, "Makefile")}}
			}
		}
	}
	return tools[name]
}

// script is the file an interpreter runs, or what its -m names.
func script(words []word) [][]string {
	for i, w := range words[1:] {
		switch {
		case w.text == "-m" && i+2 < len(words):
			return tools[words[i+2].text]
		case w.text == "-c" || w.text == "-e" || w.text == "-p" || w.text == "--eval" || strings.EqualFold(w.text, "-Command"):
			return nil // the script is in the ledger itself
		case strings.HasPrefix(w.text, "-"):
		case !w.literal() || strings.HasPrefix(w.text, "/") || !strings.ContainsAny(w.text, "./"):
			return nil
		default:
			return [][]string{{path.Clean(w.text)}}
		}
	}
	return nil
}
