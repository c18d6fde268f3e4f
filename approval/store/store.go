package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/internal/safefile"
)

// Limits of the store.
const (
	MaxRecord    = 2 << 20 // bytes of one record: an oracle and a PATH
	MaxRecords   = 10_000  // kept in all; the oldest go first
	MaxVersions  = 32      // kept of one gate of one ledger
	maxNear      = 16      // records read to say what differs
	maxRemovals  = 256     // records removed by one call
	lockFile     = ".lock"
	recordMode   = 0o600
	idPrefix     = "sha256:"
	nameLen      = 12 + 1 + 12 + 1 + 64 + len(suffix)
	inRepository = "lies in the repository, where others can write; set GATESWORN_APPROVAL_DIR to a folder outside"
)

// ErrPlace is wrapped by Open when the folder must not hold approvals.
var ErrPlace = errors.New("approval folder is refused")

// Store is an approval folder. Its methods may be called concurrently by one
// process for Lookup; Put excludes other processes by a lock.
type Store struct {
	dir    string
	exists bool
	info   fs.FileInfo
	names  []string // of records, sorted; listed once
}

// Open looks at the folder and creates nothing. dir and repository are absolute;
// repository is the top that approvals are for, "" to skip that rule. A folder
// that is missing is an empty store. The error wraps ErrPlace or one of
// safefile's and names the folder; it never means "not approved".
func Open(dir, repository string) (*Store, error) {
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("%w: %q is not an absolute path", ErrPlace, dir)
	}
	s := &Store{dir: filepath.Clean(dir)}
	if repository != "" {
		if err := outside(s.dir, repository); err != nil {
			return nil, err
		}
	}
	info, err := os.Lstat(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at approval folder: %w", err)
	}
	if err := safefile.PrivateDir(s.dir); err != nil {
		return nil, err
	}
	s.exists, s.info = true, info
	s.names, err = listRecords(s.dir)
	return s, err
}

// outside refuses a folder that is the repository or lies beneath it once links
// are resolved. Folders are compared as files, not as text: a file system that
// folds case, or a second mount, has more than one spelling.
func outside(dir, repository string) error {
	repo, err := os.Stat(repository)
	if err != nil {
		return fmt.Errorf("look at repository: %w", err)
	}
	real, err := resolve(dir)
	if err != nil {
		return fmt.Errorf("resolve approval folder: %w", err)
	}
	for _, start := range []string{filepath.Clean(dir), real} {
		for at := start; ; at = filepath.Dir(at) {
			if info, err := os.Stat(at); err == nil && os.SameFile(info, repo) {
				return fmt.Errorf("%w: %q %s", ErrPlace, dir, inRepository)
			}
			if filepath.Dir(at) == at {
				break
			}
		}
	}
	return nil
}

// resolve resolves the links of the part of dir that exists.
func resolve(dir string) (string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		return real, nil
	}
	parent := filepath.Dir(dir)
	if !errors.Is(err, fs.ErrNotExist) || parent == dir {
		return "", err
	}
	if info, lerr := os.Lstat(dir); lerr == nil && info.Mode()&fs.ModeSymlink != 0 {
		return "", fmt.Errorf("%w: %q is a link to nothing", ErrPlace, dir)
	}
	up, err := resolve(parent)
	return filepath.Join(up, filepath.Base(dir)), err
}

func listRecords(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("list approval folder: %w", err)
	}
	defer f.Close()
	all, err := f.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list approval folder: %w", err)
	}
	names := all[:0]
	for _, n := range all {
		if len(n) == nameLen && strings.HasSuffix(n, suffix) {
			names = append(names, n)
		}
	}
	sort.Strings(names)
	return names, nil
}

// Lookup says whether exactly this was approved here and, if not, what differs
// from the nearest record. The error is for a store that cannot be read.
func (s *Store) Lookup(b Binding) (approval.Local, error) {
	if err := b.valid(); err != nil {
		return approval.Local{}, err
	}
	if !s.exists {
		return approval.Local{}, nil
	}
	if err := s.same(); err != nil {
		return approval.Local{}, err
	}
	k := b.key()
	name := k.name()
	if i := sort.SearchStrings(s.names, name); i < len(s.names) && s.names[i] == name {
		at, err := s.approved(name, b)
		switch {
		case err == nil:
			return approval.Local{Approved: true, ID: idPrefix + k.id, ApprovedAt: at}, nil
		case errors.Is(err, errDoubt):
			return approval.Local{Near: err.Error()}, nil
		case !errors.Is(err, fs.ErrNotExist):
			return approval.Local{}, err
		}
	}
	return approval.Local{Near: s.near(b, k)}, nil
}

// same refuses a folder that was swapped since Open.
func (s *Store) same() error {
	info, err := os.Lstat(s.dir)
	if err != nil {
		return fmt.Errorf("look at approval folder: %w", err)
	}
	if !os.SameFile(info, s.info) || info.Mode() != s.info.Mode() {
		return fmt.Errorf("%w: %q changed during use", ErrPlace, s.dir)
	}
	return nil
}

// errDoubt marks a record that is there and does not count.
var errDoubt = errors.New("a record is there but does not count")

// approved returns when exactly the binding was approved, from the record of this name.
func (s *Store) approved(name string, b Binding) (time.Time, error) {
	data, err := s.data(name)
	if err != nil {
		return time.Time{}, err
	}
	at, ok := b.date(data)
	if !ok {
		return time.Time{}, fmt.Errorf("%w: %q does not say what its name says; remove it", errDoubt, filepath.Join(s.dir, name))
	}
	return at, nil
}

// data reads a record that nobody else can have written. What is wrong with it is an errDoubt.
func (s *Store) data(name string) ([]byte, error) {
	path := filepath.Join(s.dir, name)
	info, err := os.Lstat(path)
	if err != nil {
		return nil, fmt.Errorf("read approval: %w", err)
	}
	if err := ours(info); err != nil {
		return nil, fmt.Errorf("%w: %q %w; remove it", errDoubt, path, err)
	}
	f, err := safefile.Read(path, MaxRecord)
	for _, doubt := range []error{safefile.ErrLink, safefile.ErrKind, safefile.ErrHardLink, safefile.ErrSize, safefile.ErrChanged} {
		if errors.Is(err, doubt) {
			return nil, fmt.Errorf("%w: %q %w; remove it", errDoubt, path, doubt)
		}
	}
	return f.Data, err
}

// near reads a bounded number of records of the same gate, then of the same
// oracle elsewhere, and says what the nearest one binds otherwise. It explains;
// whatever it cannot read it leaves out.
func (s *Store) near(b Binding, k key) string {
	from := sort.SearchStrings(s.names, k.place)
	best, least, seen := "", 0, 0
	try := func(name string) {
		seen++
		data, err := s.data(name)
		if err != nil {
			return
		}
		was, at, err := parse(name, data)
		if err != nil {
			return
		}
		if text, d := nearer(was, at, b); best == "" || d < least {
			best, least = text, d
		}
	}
	for _, n := range s.names[from:] {
		if !strings.HasPrefix(n, k.place) || seen == maxNear {
			break
		}
		try(n)
	}
	if best != "" {
		return best
	}
	for _, n := range s.names {
		if n[13:25] == k.kin {
			if try(n); seen >= maxNear {
				break
			}
		}
	}
	return best
}

// Put records approvals, each complete or not at all, and returns their ids in
// order. ctx bounds the wait for another process that writes. What stands there
// already and counts is left as it is.
func (s *Store) Put(ctx context.Context, now time.Time, bindings ...Binding) ([]string, error) {
	for _, b := range bindings {
		if err := b.valid(); err != nil {
			return nil, err
		}
	}
	if err := s.create(); err != nil {
		return nil, err
	}
	lock, err := safefile.Acquire(ctx, filepath.Join(s.dir, lockFile))
	if err != nil {
		return nil, err
	}
	defer func() { _ = lock.Release() }()
	var ids []string
	for _, b := range bindings {
		if err := s.put(b, now); err != nil {
			return ids, err
		}
		ids = append(ids, idPrefix+b.key().id)
	}
	return ids, s.prune(bindings)
}

func (s *Store) create() error {
	if s.exists {
		return s.same()
	}
	if err := safefile.PrivateDir(s.dir); err != nil {
		return err
	}
	info, err := os.Lstat(s.dir)
	if err != nil {
		return fmt.Errorf("look at approval folder: %w", err)
	}
	s.exists, s.info = true, info
	return nil
}

func (s *Store) put(b Binding, now time.Time) error {
	data, err := b.bytes(now)
	if err != nil {
		return err
	}
	if len(data) > MaxRecord {
		return fmt.Errorf("record approval of %s: over %d bytes", b.Oracle.Gate, MaxRecord)
	}
	name := b.key().name()
	err = safefile.Create(filepath.Join(s.dir, name), data, recordMode)
	if errors.Is(err, fs.ErrExist) {
		_, err = s.approved(name, b)
	}
	return err
}
