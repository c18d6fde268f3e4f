package gates

import (
	"fmt"
	"path"
	"strings"
)

// Selection names the gates a run is asked about; empty means all of them.
// A name is what any surface printed: GATES:G4, GATES.md:G4, or G4 if unique.
type Selection []string

// AmbiguousError is returned for a name that fits several gates.
type AmbiguousError struct {
	Name  string
	Gates []string
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%q fits %d gates: %s", e.Name, len(e.Gates), strings.Join(e.Gates, ", "))
}

// UnknownError is returned for a name that fits no gate.
type UnknownError struct{ Name string }

func (e *UnknownError) Error() string { return fmt.Sprintf("no gate is called %q", e.Name) }

// Names returns, for each ledger path, the stem its gates are qualified with:
// the path without .md, from the file name leftwards only as far as no other
// ledger's path ends the same way.
func Names(paths []string) []string {
	count := map[string]int{}
	for _, p := range paths {
		for d := 1; d <= levels(p); d++ {
			count[stem(p, d)]++
		}
	}
	out := make([]string, len(paths))
	for i, p := range paths {
		for d := 1; d <= levels(p); d++ {
			if out[i] = stem(p, d); count[out[i]] == 1 {
				break
			}
		}
	}
	return out
}

func levels(p string) int { return strings.Count(p, "/") + 1 }

func stem(p string, depth int) string {
	parts := strings.Split(strings.TrimSuffix(p, path.Ext(p)), "/")
	return strings.Join(parts[max(0, len(parts)-depth):], "/")
}

// IsGateName reports whether an argument names a gate rather than a ledger: it
// has the form LEDGER:ID or ID. It looks only at the form.
func IsGateName(arg string) bool {
	ledgerPart, id, ok := strings.Cut(arg, ":")
	if i := strings.LastIndex(arg, ":"); i >= 0 {
		ledgerPart, id = arg[:i], arg[i+1:]
	}
	if !ok {
		return validID(arg) && !strings.HasSuffix(strings.ToLower(arg), ".md")
	}
	return ledgerPart != "" && validID(id)
}

func validID(s string) bool {
	for i := range len(s) {
		c := s[i]
		alnum := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !alnum && (i == 0 || !strings.ContainsRune("._-", rune(c))) {
			return false
		}
	}
	return s != ""
}

// resolve maps every name of the selection to an index into gates.
func (s Selection) resolve(gates []*item) (map[int]bool, error) {
	asked := map[int]bool{}
	for _, name := range s {
		fits := fitting(gates, func(it *item) bool { return it.isCalled(name) })
		if len(fits) == 0 {
			fits = fitting(gates, func(it *item) bool { return it.answersTo(name) })
		}
		switch len(fits) {
		case 0:
			return nil, &UnknownError{Name: name}
		case 1:
			asked[fits[0]] = true
		default:
			e := &AmbiguousError{Name: name}
			for _, i := range fits {
				e.Gates = append(e.Gates, gates[i].out.Name)
			}
			return nil, e
		}
	}
	return asked, nil
}

func fitting(gates []*item, fits func(*item) bool) []int {
	var out []int
	for i, it := range gates {
		if fits(it) {
			out = append(out, i)
		}
	}
	return out
}

// isCalled compares a name with the two that surfaces print in full. They are
// unique; the shorter forms of answersTo need not be.
func (it *item) isCalled(name string) bool {
	return name == it.out.Name || name == it.src.Path+":"+it.gate.ID
}

// answersTo compares a name with every form a surface may have printed.
func (it *item) answersTo(name string) bool {
	i := strings.LastIndex(name, ":")
	if i < 0 {
		return name == it.gate.ID
	}
	if name[i+1:] != it.gate.ID {
		return false
	}
	where := strings.TrimPrefix(path.Clean(strings.ReplaceAll(name[:i], `\`, "/")), "./")
	p := it.src.Path
	bare := strings.TrimSuffix(p, path.Ext(p))
	return where == it.stem || where == p || where == bare ||
		strings.HasSuffix("/"+p, "/"+where) || strings.HasSuffix("/"+bare, "/"+where)
}
