package scope

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// standing reports whether the policy lists the ledger among those that always hold.
func (p *Policy) standing(ledger string) bool {
	if p == nil {
		return false
	}
	for _, g := range p.Ledgers {
		if ok, err := doublestar.Match(g, ledger); ok && err == nil {
			return true
		}
	}
	return false
}

// byPolicy expands ledgers and tasks. A standing ledger named without wildcards is
// required: it is listed in Missing when it is not there.
func (t *Targets) byPolicy(p *Policy) error {
	found := map[string]bool{}
	for i, g := range append(append([]string(nil), p.Ledgers...), p.Tasks...) {
		hits, err := expand(t.Top, g)
		if err != nil {
			return err
		}
		if len(hits) == 0 && i < len(p.Ledgers) && !strings.ContainsAny(g, `*?[\`) {
			t.Missing = append(t.Missing, g)
		}
		for _, h := range hits {
			found[h] = true
		}
	}
	for f := range found {
		t.Ledgers = append(t.Ledgers, Ledger{Path: f})
	}
	sort.Slice(t.Ledgers, func(i, j int) bool { return t.Ledgers[i].Path < t.Ledgers[j].Path })
	sort.Strings(t.Missing)
	return nil
}

// expand returns what a glob matches beneath top: everything that is no folder, and
// folders with a ledger's name, so that they fail closed. Links are not followed
// and .git is not searched.
func expand(top, glob string) ([]string, error) {
	if !doublestar.ValidatePattern(glob) || strings.ContainsAny(glob, "{}") || !fs.ValidPath(glob) {
		return nil, fmt.Errorf("policy glob %q is not valid", glob)
	}
	base, rest := doublestar.SplitPattern(glob)
	if rest == "" || rest == "." {
		base = path.Dir(glob)
	}
	start := filepath.Join(top, filepath.FromSlash(base))
	if base != "." {
		// A missing folder matches nothing; a link is not searched.
		if err := realDir(top, base); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil, nil
			}
			return nil, err
		}
	}
	deep := strings.Contains(rest, "**")
	depth := strings.Count(rest, "/")
	var hits []string
	err := filepath.WalkDir(start, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(top, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		ok, err := doublestar.Match(glob, rel)
		if err != nil {
			return err
		}
		if ok && (!e.IsDir() || strings.HasSuffix(rel, ".md")) {
			hits = append(hits, rel)
		}
		if e.IsDir() && name != start && (e.Name() == ".git" || (!deep && below(base, rel) > depth)) {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("cannot expand policy glob %q: %w", glob, err)
	}
	return hits, nil
}

// below counts how many folders rel lies beneath base.
func below(base, rel string) int {
	n := strings.Count(rel, "/") + 1
	if base == "." {
		return n
	}
	return n - strings.Count(base, "/") - 1
}
