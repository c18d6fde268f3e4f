package approval

import (
	"fmt"
	"path"
	"sort"
	"strings"
)

// Entry is one line of a recursive listing: a file, a link or a submodule, never a folder.
type Entry struct {
	Path string // slash separated, relative to the top
	Mode string // 100644, 100755, 120000 or 160000
	OID  string // lower-case hex object id; "" for a file of a work tree
}

// Tree is a commit's tree, or a work tree's listing.
type Tree interface {
	// Entries returns every entry beneath the top, sorted by path bytewise. The
	// caller must not change the slice.
	Entries() []Entry
	// Blob returns the content of a regular entry.
	Blob(e Entry) ([]byte, error)
}

// find returns the entry at exactly this path.
func find(entries []Entry, p string) (Entry, bool) {
	i := sort.Search(len(entries), func(i int) bool { return entries[i].Path >= p })
	if i < len(entries) && entries[i].Path == p {
		return entries[i], true
	}
	return Entry{}, false
}

// beneath returns the entries whose path begins with prefix.
func beneath(entries []Entry, prefix string) []Entry {
	if prefix == "" {
		return entries
	}
	from := sort.Search(len(entries), func(i int) bool { return entries[i].Path >= prefix })
	n := sort.Search(len(entries)-from, func(i int) bool {
		return !strings.HasPrefix(entries[from+i].Path, prefix)
	})
	return entries[from : from+n]
}

func regular(e Entry) bool { return e.Mode == ModeFile || e.Mode == ModeExecutable }

// CheckPath returns an error if a component of p, which may hold "..", is a
// symbolic link or a submodule in the tree, or if p leaves the top. It does not
// ask that p exists. What is compared are names, never prefixes of text: "sub"
// says nothing about "sub-evil".
func CheckPath(t Tree, what, p string) error {
	if strings.HasPrefix(p, "/") {
		return fmt.Errorf("%s %q is not relative", what, p)
	}
	entries := t.Entries()
	at := ""
	for part := range strings.SplitSeq(p, "/") {
		switch part {
		case "", ".":
			continue
		case "..":
			if at == "" {
				return fmt.Errorf("%s %q leaves the repository", what, p)
			}
			if at = path.Dir(at); at == "." {
				at = ""
			}
			continue
		}
		at = path.Join(at, part)
		e, ok := find(entries, at)
		switch {
		case ok && e.Mode == ModeLink:
			return fmt.Errorf("%s %q is reached through the symbolic link %q; name the place it points to", what, p, at)
		case ok && e.Mode == ModeSubmodule:
			return fmt.Errorf("%s %q lies in the submodule %q", what, p, at)
		}
	}
	return nil
}

// ResolveCWD returns where a gate's check runs, relative to the top, "." for the
// top. Where there is a policy the base is the top for a ledger GATES.md at the
// top and for those beneath gates/ and .unlazy/, else the ledger's own folder
// (10-fine-print, CWD and roots). Links are CheckPath's business.
func ResolveCWD(ledgerPath, cwd string) (string, error) {
	base := path.Dir(ledgerPath)
	if strings.HasPrefix(ledgerPath, "gates/") || strings.HasPrefix(ledgerPath, ".unlazy/") {
		base = "."
	}
	if strings.HasPrefix(cwd, "/") {
		return "", fmt.Errorf("CWD %q is not relative", cwd)
	}
	dir := path.Join(base, cwd)
	if dir == ".." || strings.HasPrefix(dir, "../") {
		return "", fmt.Errorf("CWD %q leaves the repository", cwd)
	}
	return dir, nil
}
