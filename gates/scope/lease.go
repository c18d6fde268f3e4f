package scope

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode"

	"github.com/gatesworn/gatesworn/gates/schedule"
	"github.com/gatesworn/gatesworn/internal/jsontext"
	"github.com/gatesworn/gatesworn/internal/lazyregexp"
	"github.com/gatesworn/gatesworn/internal/safefile"
)

// registry is what every claim and release locks, and maxLease a record's limit in bytes.
const (
	registry = baseDir + "/" + locksDir + "/lease-registry"
	maxLease = 64 << 10
)

// leaseTemp is a record that was being written when its process was killed.
var leaseTemp = lazyregexp.New(`^\.[0-9a-f]{24}\.lease\.[0-9a-f]{16}\.tmp$`)

// Lease says that a leaf's worker owns what its globs match.
type Lease struct {
	Scope, Leaf string
	Globs       []string  // relative to the root, normalised
	PID         int       // of the process that claimed; it has usually ended since
	Since       time.Time // when the record was written
	File        string    // the record, relative to the root
	// Invalid says why the record cannot be trusted. It then stands for a lease of
	// everything, so that no claim passes it by.
	Invalid string
	// Gone reports that the scope of the lease is no longer there.
	Gone bool
}

// leaseRecord is what a lease file holds, in unlazy's order.
type leaseRecord struct {
	Scope string   `json:"scope"`
	Leaf  string   `json:"leaf"`
	Globs []string `json:"globs"`
	PID   int      `json:"pid"`
}

// Conflict is one reason why a claim is refused.
type Conflict struct {
	Mine, Theirs string // the two globs; both "" when the leaf itself holds a lease
	Scope, Leaf  string // who holds it
}

// String is the line people and scripts know.
func (c Conflict) String() string {
	if c.Mine == "" {
		return fmt.Sprintf("CONFLICT %s/%s already holds a live lease; release it before claiming again", c.Scope, c.Leaf)
	}
	return fmt.Sprintf("CONFLICT %s overlaps %s held by %s/%s", c.Mine, c.Theirs, c.Scope, c.Leaf)
}

// ConflictError refuses a claim (exit status 3). Conflicts is never empty.
type ConflictError struct{ Conflicts []Conflict }

func (e *ConflictError) Error() string {
	return fmt.Sprintf("CLAIM REFUSED (%d conflict(s))", len(e.Conflicts))
}

func leaseName(scope, leaf string) string {
	sum := sha256.Sum256([]byte(scope + "::" + leaf))
	return hex.EncodeToString(sum[:])[:24] + ".lease"
}

// Claim takes the lease of the leaf's globs, or refuses with a *ConflictError. Of
// any number of processes that claim overlapping globs one succeeds. A *HeldError
// says that the registry's lock could not be had.
func (t Tree) Claim(ctx context.Context, scope, leaf string, globs []string) (Lease, error) {
	if err := errors.Join(checkID("scope", scope), checkID("leaf", leaf), checkGlobs(globs)); err != nil {
		return Lease{}, fmt.Errorf("cannot claim: %w", err)
	}
	rel := path.Join(baseDir, locksDir, leaseName(scope, leaf))
	mine := Lease{Scope: scope, Leaf: leaf, Globs: globs, PID: os.Getpid(), File: rel}
	// What is leased now is refused now; only a claim that may succeed takes the lock.
	seen, err := t.free(mine, nil)
	if err != nil {
		return Lease{}, err
	}
	err = t.locked(ctx, registry, func() error {
		if err := t.sweep(); err != nil {
			return err
		}
		if _, err := t.free(mine, seen); err != nil {
			return err
		}
		data, err := jsontext.Text(leaseRecord{scope, leaf, globs, mine.PID})
		if err != nil {
			return fmt.Errorf("cannot write lease: %w", err)
		}
		mine.Since = t.Now()
		return safefile.CreateBeneath(t.Root, rel, append(data, '\n'), 0o600)
	})
	if err != nil {
		return Lease{}, err
	}
	return mine, nil
}

// free returns an error if something stands between a claim and the leases there
// are, and else the leases. Those seen before are not read again.
func (t Tree) free(mine Lease, seen []found) ([]found, error) {
	theirs, err := t.scan(seen)
	if err != nil {
		return nil, err
	}
	if conflicts := against(mine, theirs); len(conflicts) > 0 {
		return nil, &ConflictError{Conflicts: conflicts}
	}
	return theirs, nil
}

// against lists what stands between a claim and the leases there are.
func against(mine Lease, theirs []found) []Conflict {
	var all []Conflict
	for _, f := range theirs {
		l := f.lease
		if l.Scope == mine.Scope && l.Leaf == mine.Leaf || l.File == mine.File {
			all = append(all, Conflict{Scope: mine.Scope, Leaf: mine.Leaf})
			continue
		}
		for _, m := range mine.Globs {
			for _, g := range l.Globs {
				if Overlap(m, g) {
					all = append(all, Conflict{Mine: m, Theirs: g, Scope: l.Scope, Leaf: l.Leaf})
				}
			}
		}
	}
	return all
}

// Overlap reports whether two path globs may match the same file: they are
// disjoint only if some literal segment differs before the first wildcard. Case
// is folded, because some file systems fold it.
func Overlap(a, b string) bool {
	// "./" keeps a path such as @types/x from being taken for a named resource.
	return schedule.Overlap("./"+strings.ToLower(a), "./"+strings.ToLower(b))
}

// Release gives up the lease of a leaf, or all of the scope's when leaf is "", and
// returns what was released. The scope and its ledgers need not be there any more.
func (t Tree) Release(ctx context.Context, scope, leaf string) ([]Lease, error) {
	err := checkID("scope", scope)
	if leaf != "" {
		err = errors.Join(err, checkID("leaf", leaf))
	}
	if err != nil {
		return nil, fmt.Errorf("cannot release: %w", err)
	}
	if err := realDir(t.Root, path.Join(baseDir, locksDir)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var released []Lease
	err = t.locked(ctx, registry, func() error {
		if err := t.sweep(); err != nil {
			return err
		}
		all, err := t.scan(nil, only(scope, leaf)...)
		if err != nil {
			return err
		}
		dir, err := folder(t.Root, path.Join(baseDir, locksDir), false)
		if err != nil {
			return err
		}
		defer dir.Close()
		for _, f := range all {
			// A leaf's own record is released even if it is invalid: the name is its.
			if f.lease.Scope != scope && leaf == "" {
				continue
			}
			if err := dir.Remove(path.Base(f.lease.File)); err != nil {
				return fmt.Errorf("cannot release lease: %w", err)
			}
			released = append(released, f.lease)
		}
		return nil
	})
	return released, err
}

// only names the one record of a leaf; every record may be a scope's.
func only(scope, leaf string) []string {
	if leaf == "" {
		return nil
	}
	return []string{leaseName(scope, leaf)}
}

// Leases lists all leases, sorted by scope and leaf. A record that cannot be read,
// or is not named by its owner, is listed as Invalid.
func (t Tree) Leases() ([]Lease, error) {
	found, err := t.scan(nil)
	if err != nil {
		return nil, err
	}
	gone := map[string]bool{}
	var all []Lease
	for _, f := range found {
		l := f.lease
		if _, known := gone[l.Scope]; !known && l.Invalid == "" {
			gone[l.Scope] = realDir(t.Root, path.Join(baseDir, l.Scope)) != nil
		}
		l.Gone = gone[l.Scope]
		all = append(all, l)
	}
	sort.Slice(all, func(i, j int) bool {
		return all[i].Scope < all[j].Scope || all[i].Scope == all[j].Scope && all[i].Leaf < all[j].Leaf
	})
	return all, nil
}

// found is a lease and the file it was read from.
type found struct {
	lease Lease
	info  fs.FileInfo
}

// same reports whether a file is the one that was read. Records are written once
// and never changed in place.
func (f found) same(info fs.FileInfo) bool {
	return os.SameFile(f.info, info) && f.info.Size() == info.Size() && f.info.ModTime().Equal(info.ModTime())
}

// scan reads the lease records, or only those named, in the order of their names.
// Valid ones among seen are not read again if their file is the same.
func (t Tree) scan(seen []found, only ...string) ([]found, error) {
	if err := realDir(t.Root, path.Join(baseDir, locksDir)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	locks := filepath.Join(t.Root, baseDir, locksDir)
	entries, err := os.ReadDir(locks)
	if err != nil {
		return nil, fmt.Errorf("cannot list leases: %w", err)
	}
	before := map[string]found{}
	for _, f := range seen {
		before[path.Base(f.lease.File)] = f
	}
	var all []found
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".lease") || len(only) > 0 && !slices.Contains(only, e.Name()) {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // released meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("cannot list leases: %w", err)
		}
		if f, ok := before[e.Name()]; ok && f.lease.Invalid == "" && f.same(info) {
			all = append(all, f)
			continue
		}
		l, err := readLease(locks, e.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			l = Lease{Scope: "(invalid)", Leaf: e.Name(), Globs: []string{"**"}, Invalid: err.Error()}
		}
		l.File, l.Since = path.Join(baseDir, locksDir, e.Name()), info.ModTime()
		all = append(all, found{l, info})
	}
	return all, nil
}

// readLease reads a record. Members that are not known are left alone: a newer
// tool may have added them.
func readLease(locks, name string) (Lease, error) {
	f, err := safefile.ReadBeneath(locks, name, maxLease)
	if err != nil {
		return Lease{}, err
	}
	ms, err := jsontext.Object(f.Data)
	if err != nil {
		return Lease{}, err
	}
	var l Lease
	for _, m := range ms {
		switch m.Name {
		case "scope":
			l.Scope, err = jsontext.String(m.Value)
		case "leaf":
			l.Leaf, err = jsontext.String(m.Value)
		case "globs":
			l.Globs, err = jsontext.Strings(m.Value)
		case "pid":
			err = json.Unmarshal(m.Value, &l.PID)
		}
		if err != nil {
			return Lease{}, fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	err = errors.Join(checkID("scope", l.Scope), checkID("leaf", l.Leaf), checkGlobs(l.Globs))
	switch {
	case err != nil:
		return Lease{}, err
	case l.PID <= 0:
		return Lease{}, errors.New("pid must be a positive number")
	case name != leaseName(l.Scope, l.Leaf):
		return Lease{}, errors.New("is not named after its scope and leaf")
	}
	return l, nil
}

// checkGlobs repeats the ledger's rules for OWNS, for records that others wrote.
func checkGlobs(globs []string) error {
	if len(globs) == 0 {
		return errors.New("no paths are owned")
	}
	for _, g := range globs {
		switch {
		case g == "" || strings.TrimSpace(g) != g:
			return fmt.Errorf("path %q is blank or has blanks around it", g)
		case strings.HasPrefix(g, "/") || strings.Contains(g, `\`) || len(g) > 1 && g[1] == ':':
			return fmt.Errorf("path %q is not relative", g)
		case strings.ContainsFunc(g, unicode.IsControl):
			return fmt.Errorf("path %q has control characters", g)
		}
		for part := range strings.SplitSeq(g, "/") {
			if part == ".." || part == "." {
				return fmt.Errorf("path %q is not normalised", g)
			}
		}
	}
	return nil
}

// sweep removes what a killed process left of a record it was writing. The caller
// holds the registry's lock, so nobody is writing one now.
func (t Tree) sweep() error {
	dir, err := folder(t.Root, path.Join(baseDir, locksDir), false)
	if err != nil {
		return err
	}
	defer dir.Close()
	entries, err := os.ReadDir(filepath.Join(t.Root, baseDir, locksDir))
	if err != nil {
		return fmt.Errorf("cannot list leases: %w", err)
	}
	for _, e := range entries {
		if leaseTemp.MatchString(e.Name()) {
			if err := dir.Remove(e.Name()); err != nil {
				return fmt.Errorf("cannot remove a record left behind: %w", err)
			}
		}
	}
	return nil
}
