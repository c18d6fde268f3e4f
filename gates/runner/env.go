package runner

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gatesworn/gatesworn/gates/ledger"
)

// Mode says which of the parent's variables a check gets. The zero value is the narrow one.
type Mode int

// The modes of --env.
const (
	Clean   Mode = iota // what Env lists, and what was named
	Inherit             // everything, unchanged, as unlazy
)

// String gives the word of the flag and of the report's execution.env.
func (m Mode) String() string {
	if m == Inherit {
		return "inherit"
	}
	return "clean"
}

// passed are the variables that Clean takes from the parent; LC_* come with them.
// After the general ones, well-known locators: where a job's own set-up steps put
// compilers and caches.
var passed = [...]string{
	"PATH", "LANG", "LANGUAGE", "TZ", "TERM", "CI",
	"JAVA_HOME", "DOTNET_ROOT", "CARGO_HOME", "RUSTUP_HOME", "GOPATH", "GOROOT", "GOMODCACHE",
	"NVM_DIR", "VIRTUAL_ENV", "pythonLocation", "LD_LIBRARY_PATH",
}

// EnvConfig says what a check's environment is made of.
type EnvConfig struct {
	Mode   Mode
	Parent []string // NAME=value, as os.Environ gives it

	// The rest is for Clean only.
	Policy, Gate []string   // names that the policy and the gate's ENV add
	Home, Temp   string     // absolute paths of folders that are fresh and empty
	User, Shell  string     // synthetic: not the user's login
	Path         *PathRules // nil leaves PATH as it is
}

// PathRules say which entries of PATH a check must not get: empty and relative
// ones, and those in folders that the code under test can write. They compare
// cleaned paths; whoever knows of links names both ends.
type PathRules struct {
	Outside []string // absolute folders
	Allow   []string // entries that the policy lists, kept wherever they are
}

// EnvResult is a complete environment and what was left out of it.
type EnvResult struct {
	Vars        []string // sorted NAME=value for gates.Command.Env
	PathDropped []string // entries of PATH, as they stood there
	Refused     []string // names that must not be named, sorted
}

// Env builds the environment of a check. In Clean a name that may not be named
// (ledger.EnvNameAllowed) is refused even if policy and gate name it, and what is
// named cannot replace a synthetic variable. The error is for a Home or Temp that
// is not an absolute path.
func Env(c EnvConfig) (EnvResult, error) {
	if c.Mode == Inherit {
		return EnvResult{Vars: slices.Clone(c.Parent)}, nil
	}
	if !filepath.IsAbs(c.Home) || !filepath.IsAbs(c.Temp) {
		return EnvResult{}, errors.New("a clean environment needs absolute HOME and TMPDIR folders")
	}
	var res EnvResult
	wanted := map[string]bool{}
	for _, name := range passed {
		wanted[name] = true
	}
	for _, name := range systemNames {
		wanted[strings.ToUpper(name)] = true
	}
	for _, name := range slices.Concat(c.Policy, c.Gate) {
		if _, ok := ledger.EnvNameAllowed(name); ok {
			wanted[name] = true
		} else if !slices.Contains(res.Refused, name) {
			res.Refused = append(res.Refused, name)
		}
	}
	values := map[string]string{}
	for _, v := range c.Parent {
		name, value, ok := splitVar(v)
		if _, twice := values[name]; ok && !twice && (wanted[name] || wanted[systemName(name)] || strings.HasPrefix(name, "LC_")) {
			values[name] = value
		}
	}
	if path, ok := values["PATH"]; ok && c.Path != nil {
		if values["PATH"], res.PathDropped = c.Path.filter(path); values["PATH"] == "" {
			delete(values, "PATH") // an empty PATH means the working directory
		}
	}
	for name, value := range map[string]string{"HOME": c.Home, "TMPDIR": c.Temp, "USER": c.User, "LOGNAME": c.User, "SHELL": c.Shell} {
		values[name] = value
	}
	for _, name := range systemTemp {
		values[name] = c.Temp
	}
	for name, value := range values {
		res.Vars = append(res.Vars, name+"="+value)
	}
	slices.Sort(res.Vars)
	slices.Sort(res.Refused)
	return res, nil
}

// splitVar parts NAME=value. Windows has names that start with =; they are not passed.
func splitVar(v string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(v, "=")
	return name, value, ok && name != ""
}

func (r *PathRules) filter(path string) (kept string, dropped []string) {
	var entries []string
	for _, e := range strings.Split(path, string(os.PathListSeparator)) {
		if slices.Contains(r.Allow, e) && filepath.IsAbs(e) || r.harmless(e) {
			entries = append(entries, e)
		} else {
			dropped = append(dropped, e)
		}
	}
	return strings.Join(entries, string(os.PathListSeparator)), dropped
}

func (r *PathRules) harmless(entry string) bool {
	if !filepath.IsAbs(entry) {
		return false
	}
	for _, folder := range r.Outside {
		rel, err := filepath.Rel(folder, entry)
		if err != nil || rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return false
		}
	}
	return true
}

// NotPassed is a variable that a check may have missed.
type NotPassed struct {
	Name     string
	Nameable bool // a gate's ENV may name it
}

// shellNames are set by every shell and are words of their own.
var shellNames = [...]string{"_", "PWD", "OLDPWD", "SHLVL", "IFS", "PS1"}

// NotPassedOn returns the variables whose names stand in the output as whole
// words, that are set in parent and not in passed; sorted, at most ten. It is a
// hint for the message of a check that failed.
func NotPassedOn(output []byte, parent, passed []string) []NotPassed {
	missing := map[string]bool{}
	for _, v := range parent {
		if name, _, ok := splitVar(v); ok && len(name) > 2 && !slices.Contains(shellNames[:], name) {
			missing[name] = true
		}
	}
	for _, v := range passed {
		name, _, _ := splitVar(v)
		delete(missing, name)
	}
	var found []NotPassed
	for start := 0; start < len(output) && len(missing) > 0 && len(found) < 10; {
		end := start
		for end < len(output) && isNameByte(output[end]) {
			end++
		}
		if name := output[start:end]; missing[string(name)] {
			delete(missing, string(name))
			_, ok := ledger.EnvNameAllowed(string(name))
			found = append(found, NotPassed{Name: string(name), Nameable: ok})
		}
		start = end + 1
	}
	slices.SortFunc(found, func(a, b NotPassed) int { return strings.Compare(a.Name, b.Name) })
	return found
}

func isNameByte(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z'
}
