package gitobj

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// store is the objects folder: loose objects and packs.
type store struct {
	dir    string
	format Format
	pool   inflaters

	mu     sync.Mutex
	listed bool
	packs  map[string]*pack // by path without extension
	order  []*pack          // the packs, the last one that had a hit first
	cache  baseCache
}

func (s *store) init(dir string, f Format) {
	s.dir, s.format = dir, f
	s.packs = map[string]*pack{}
}

func (s *store) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, p := range s.order {
		errs = append(errs, p.close())
	}
	s.packs, s.order, s.listed = map[string]*pack{}, nil, false
	return errors.Join(errs...)
}

// object reads an object of at most max bytes and hashes it again.
func (r *Repo) object(oid OID, max int64) (string, []byte, error) {
	if oid.Format() != r.format {
		return "", nil, fmt.Errorf("object id %s %w in a %s repository", oid, ErrName, r.format)
	}
	kind, data, err := r.store.read(oid, max)
	if isNotFound(err) {
		return "", nil, r.missing(oid)
	}
	if err != nil {
		return "", nil, fmt.Errorf("object %s: %w", oid, err)
	}
	if r.format.hashObject(kind, data) != oid {
		return "", nil, fmt.Errorf("object %s %w: its bytes have another hash", oid, ErrCorrupt)
	}
	return kind, data, nil
}

func (r *Repo) missing(oid OID) error {
	e := &MissingError{OID: oid}
	if fi, err := os.Lstat(filepath.Join(r.common, "objects", "info", "alternates")); err == nil {
		e.Alternates = fi.Size() > 0 || !fi.Mode().IsRegular()
	}
	_, err := os.Lstat(filepath.Join(r.common, "shallow"))
	e.Shallow = err == nil
	_, e.Partial = r.config.Get("extensions.partialclone")
	for _, s := range r.config.settings {
		e.Partial = e.Partial || s.section == "remote" && s.key == "promisor"
	}
	return e
}

var errNoObject = fmt.Errorf("object %w", ErrNotFound)

// read looks in the packs, where most objects are, then among the loose ones, then
// for new packs: git may have repacked meanwhile.
func (s *store) read(oid OID, max int64) (string, []byte, error) {
	for range 2 {
		p, at, err := s.locate(oid)
		if err == nil {
			return p.object(at, max, &s.cache)
		}
		if !isNotFound(err) {
			return "", nil, err
		}
		kind, data, err := s.loose(oid, max)
		if !isNotFound(err) {
			return kind, data, err
		}
		fresh, err := s.list()
		if err != nil {
			return "", nil, err
		}
		if !fresh {
			break
		}
	}
	return "", nil, errNoObject
}

// locate finds the pack that holds an object, and opens it.
func (s *store) locate(oid OID) (*pack, int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.listed {
		if _, err := s.listLocked(); err != nil {
			return nil, 0, err
		}
		s.listed = true
	}
	for i, p := range s.order {
		at, err := p.find(oid)
		if isNotFound(err) {
			continue
		}
		if err == nil {
			err = p.open()
		}
		if err != nil {
			return nil, 0, err
		}
		// Objects that are asked for together mostly lie together.
		copy(s.order[1:i+1], s.order[:i])
		s.order[0] = p
		return p, at, nil
	}
	return nil, 0, errNoObject
}

func (s *store) list() (fresh bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listLocked()
}

// listLocked looks for packs and reports whether there are new ones.
func (s *store) listLocked() (fresh bool, err error) {
	dir := filepath.Join(s.dir, "pack")
	if err := realDir(dir); err != nil {
		if absent(err) {
			err = nil
		}
		return false, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false, err
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".idx")
		if !ok || !strings.HasPrefix(name, "pack-") {
			continue
		}
		base := filepath.Join(dir, name)
		if s.packs[base] != nil {
			continue
		}
		if len(s.packs) >= maxPacks {
			return false, fmt.Errorf("%s %w: %d packs", dir, ErrLimit, maxPacks)
		}
		p := &pack{base: base, format: s.format, pool: &s.pool}
		s.packs[base] = p
		s.order = append(s.order, p)
		fresh = true
	}
	return fresh, nil
}

// baseCache keeps inflated objects of packs, so that a chain of deltas is not
// inflated again for every object on it.
type baseCache struct {
	mu      sync.Mutex
	size    int
	entries map[packAt]inflated
}

type packAt struct {
	p  *pack
	at int64
}

type inflated struct {
	kind string
	data []byte
}

func (c *baseCache) get(p *pack, at int64) (inflated, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.entries[packAt{p, at}]
	return v, ok
}

// put stores v, forgetting everything when the cache is full: chains are walked
// in clusters, so an exact order of use would not pay.
func (c *baseCache) put(p *pack, at int64, v inflated) {
	if len(v.data) > cacheBytes/4 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil || c.size+len(v.data) > cacheBytes {
		c.entries, c.size = map[packAt]inflated{}, 0
	}
	if _, ok := c.entries[packAt{p, at}]; !ok {
		c.entries[packAt{p, at}] = v
		c.size += len(v.data)
	}
}
