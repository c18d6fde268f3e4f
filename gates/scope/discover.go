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

	"github.com/gatesworn/gatesworn/internal/safefile"
)

// Options says what was asked for. Earlier fields win over later ones.
type Options struct {
	Files   []string // explicit ledgers, absolute or relative to the root
	Scope   string   // --scope, "" when not given
	Env     string   // the value of UNLAZY_SCOPE, "" when not set
	Session string   // id of the agent's session, "" when there is none

	// Top is the absolute top of the work tree, "" for the root itself. Paths are
	// relative to it, explicit files must lie beneath it, policy globs start there.
	Top string
	// Policy is nil where the repository has none.
	Policy *Policy
}

// Policy holds the policy's globs, relative to the top, doublestar syntax.
type Policy struct {
	Ledgers []string // standing ledgers
	Tasks   []string // task ledgers
}

// How says which rule chose the ledgers. The zero value chose nothing.
type How int

// The rules of discovery, in their order.
const (
	Nothing      How = iota
	Explicit         // files were named
	Named            // --scope
	Environment      // UNLAZY_SCOPE
	Sole             // the only scope present
	SessionBound     // the scope bound to the session
	ByPolicy         // the policy's globs
	Conventional     // GATES.md and gates/*.md
)

// Ledger is one ledger to judge. It need not be readable: links, FIFOs and
// folders with a ledger's name are listed, so that reading them refuses.
type Ledger struct {
	Path     string // slash separated, relative to the top
	Standing bool   // matches the policy's ledgers; everything else is a task ledger
}

// Stem is the ledger's name without folder and .md: the leaf it belongs to.
func (l Ledger) Stem() string { return strings.TrimSuffix(path.Base(l.Path), ".md") }

// Targets is the result of discovery.
type Targets struct {
	How     How
	Scope   string   // "" without a scope
	Top     string   // absolute; join it with a ledger's Path, or use safefile.ReadBeneath
	Ledgers []Ledger // in the order given or, discovered, GATES.md first and then sorted
	Missing []string // standing ledgers that the policy names without wildcards and that are not there
}

// ErrNone says that there is no ledger to judge; Targets are valid beside it.
var ErrNone = errors.New("no ledger found")

// AmbiguousError says that several scopes are present and nothing chooses one.
type AmbiguousError struct{ Scopes []string }

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%d scopes are present (%s); name one with --scope", len(e.Scopes), strings.Join(e.Scopes, ", "))
}

// UnknownError says that the scope asked for is not there.
type UnknownError struct {
	Scope string
	Have  []string
}

func (e *UnknownError) Error() string {
	have := "none"
	if len(e.Have) > 0 {
		have = strings.Join(e.Have, ", ")
	}
	return fmt.Sprintf("no scope %q under .unlazy (have: %s)", e.Scope, have)
}

// UnsafeError says that a folder is not a real folder beneath the root.
type UnsafeError struct{ Path string }

func (e *UnsafeError) Error() string {
	return fmt.Sprintf("%s: must be a real folder, not a link or a file", e.Path)
}

// Discover chooses the ledgers of the tree at root, an absolute path. It reads no
// ledger. Errors a caller may branch on: *IDError, *UnknownError, *AmbiguousError,
// *UnsafeError, ErrNone (wrapped).
func Discover(root string, o Options) (Targets, error) {
	t := Targets{Top: o.Top}
	if t.Top == "" {
		t.Top = root
	}
	prefix, err := beneath(t.Top, root)
	if err != nil {
		if real, realErr := filepath.EvalSymlinks(root); realErr == nil {
			prefix, err = beneath(t.Top, real) // the root may be an alias
		}
	}
	if err != nil {
		return Targets{}, err
	}
	switch {
	case len(o.Files) > 0:
		err = t.explicit(root, o.Files)
	default:
		err = t.search(root, prefix, o)
	}
	if err != nil {
		return Targets{}, err
	}
	for i := range t.Ledgers {
		t.Ledgers[i].Standing = o.Policy.standing(t.Ledgers[i].Path)
	}
	if len(t.Ledgers) == 0 && len(t.Missing) == 0 {
		return t, fmt.Errorf("%w%s", ErrNone, t.looked())
	}
	return t, nil
}

func (t *Targets) search(root, prefix string, o Options) error {
	scope, how, err := choose(root, o)
	if err != nil {
		return err
	}
	t.Scope, t.How = scope, how
	switch {
	case scope != "":
		dir := path.Join(baseDir, scope)
		if err := realDir(root, dir); err != nil {
			return err
		}
		t.Ledgers, err = conventional(root, dir, prefix)
		return err
	case o.Policy != nil:
		t.How = ByPolicy
		return t.byPolicy(o.Policy)
	default:
		t.How = Conventional
		t.Ledgers, err = conventional(root, ".", prefix)
		return err
	}
}

func (t *Targets) looked() string {
	switch {
	case t.Scope != "":
		return ": looked for .unlazy/" + t.Scope + "/GATES.md and .unlazy/" + t.Scope + "/gates/*.md"
	case t.How == ByPolicy:
		return ": looked for the policy's ledgers and tasks"
	default:
		return ": looked for .unlazy/<scope>/, GATES.md and gates/*.md"
	}
}

// explicit takes the files as they were named; a file named twice counts once.
func (t *Targets) explicit(root string, files []string) error {
	t.How = Explicit
	var seen []fs.FileInfo
	names := map[string]bool{}
next:
	for _, f := range files {
		abs := f
		if !filepath.IsAbs(abs) {
			abs = filepath.Join(root, f)
		}
		rel, err := beneath(t.Top, abs)
		if err != nil {
			return err
		}
		if rel == "." {
			return fmt.Errorf("%s: is a folder, not a ledger", f)
		}
		if names[rel] {
			continue
		}
		names[rel] = true
		if info, err := os.Lstat(abs); err == nil {
			for _, s := range seen {
				if os.SameFile(s, info) { // another spelling, or a hard link, which reading refuses
					continue next
				}
			}
			seen = append(seen, info)
		}
		t.Ledgers = append(t.Ledgers, Ledger{Path: rel})
	}
	return nil
}

// choose picks the scope, "" when there is none to pick.
func choose(root string, o Options) (string, How, error) {
	asked, how := o.Scope, Named
	if asked == "" {
		asked, how = o.Env, Environment
	}
	if asked != "" {
		if err := checkID("scope", asked); err != nil {
			return "", Nothing, err
		}
		return asked, how, known(root, asked)
	}
	scopes, err := List(root)
	switch {
	case err != nil:
		return "", Nothing, err
	case len(scopes) == 0:
		return "", Nothing, nil
	case len(scopes) == 1:
		return scopes[0], Sole, nil
	}
	if bound := boundTo(root, scopes, o.Session); bound != "" {
		return bound, SessionBound, nil
	}
	return "", Nothing, &AmbiguousError{Scopes: scopes}
}

// known returns nil if the scope's entry exists, safe or not.
func known(root, scope string) error {
	scopes, err := List(root)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(root, baseDir, scope)); errors.Is(err, fs.ErrNotExist) {
		return &UnknownError{Scope: scope, Have: scopes}
	} else if err != nil {
		return fmt.Errorf("cannot inspect scope %q: %w", scope, err)
	}
	return nil
}

// List returns the scopes of the tree at root, sorted: real folders beneath a real
// .unlazy with a valid name. No .unlazy means none; one that is no real folder is
// an *UnsafeError.
func List(root string) ([]string, error) {
	err := realDir(root, baseDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(filepath.Join(root, baseDir))
	if err != nil {
		return nil, fmt.Errorf("cannot list scopes: %w", err)
	}
	var scopes []string
	for _, e := range entries {
		if e.IsDir() && checkID("scope", e.Name()) == nil {
			scopes = append(scopes, e.Name())
		}
	}
	sort.Strings(scopes)
	return scopes, nil
}

// conventional lists GATES.md and gates/*.md of root/dir. prefix leads from the top to root.
func conventional(root, dir, prefix string) ([]Ledger, error) {
	var found []Ledger
	name := path.Join(dir, "GATES.md")
	if _, err := os.Lstat(filepath.Join(root, filepath.FromSlash(name))); err == nil {
		found = append(found, Ledger{Path: path.Join(prefix, name)})
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot inspect ledger %s: %w", name, err)
	}
	gates := path.Join(dir, "gates")
	err := realDir(root, gates)
	if errors.Is(err, fs.ErrNotExist) {
		return found, nil
	}
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(gates)))
	if err != nil {
		return nil, fmt.Errorf("cannot list ledgers: %w", err)
	}
	for _, e := range entries { // ReadDir sorts
		if strings.HasSuffix(e.Name(), ".md") {
			found = append(found, Ledger{Path: path.Join(prefix, gates, e.Name())})
		}
	}
	return found, nil
}

// realDir returns nil if every component of root/rel, below root, is a folder and
// no link. rel is slash separated. A missing one wraps fs.ErrNotExist.
func realDir(root, rel string) error {
	at := ""
	for _, part := range strings.Split(rel, "/") {
		at = path.Join(at, part)
		info, err := os.Lstat(filepath.Join(root, filepath.FromSlash(at)))
		if err != nil {
			return fmt.Errorf("cannot inspect folder %s: %w", at, err)
		}
		if !info.IsDir() {
			return &UnsafeError{Path: at}
		}
	}
	return nil
}

// beneath returns abs relative to top, slash separated. A folder on the way may be
// spelled through links outside top (a home folder, macOS's /tmp); the last
// component is never followed.
func beneath(top, abs string) (string, error) {
	rel, err := filepath.Rel(top, abs)
	if err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel), nil
	}
	realTop, err1 := filepath.EvalSymlinks(top)
	realDir, err2 := filepath.EvalSymlinks(filepath.Dir(abs))
	if err1 == nil && err2 == nil {
		rel, err = filepath.Rel(realTop, filepath.Join(realDir, filepath.Base(abs)))
		if err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), nil
		}
	}
	return "", fmt.Errorf("%s: %w %s", abs, safefile.ErrOutside, top)
}
