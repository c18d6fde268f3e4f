package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"
)

// prune keeps the store bounded, under the lock: it removes the oldest records
// of the gates that were just written beyond MaxVersions, and of the store beyond
// MaxRecords. Removing an approval can only refuse more. What was just written stays.
func (s *Store) prune(written []Binding) error {
	names, err := listRecords(s.dir)
	if err != nil {
		return err
	}
	s.names = names
	keep := map[string]bool{}
	places := map[string]bool{}
	for _, b := range written {
		k := b.key()
		keep[k.name()] = true
		places[k.place] = true
	}
	removed := map[string]bool{}
	for place := range places {
		from := sort.SearchStrings(names, place)
		to := from
		for to < len(names) && strings.HasPrefix(names[to], place) {
			to++
		}
		if err := s.removeOldest(names[from:to], MaxVersions, keep, removed); err != nil {
			return err
		}
	}
	if err := s.removeOldest(names, MaxRecords, keep, removed); err != nil {
		return err
	}
	kept := make([]string, 0, len(names))
	for _, n := range names {
		if !removed[n] {
			kept = append(kept, n)
		}
	}
	s.names = kept
	return nil
}

// removeOldest removes the records of names that are over the limit, oldest first.
func (s *Store) removeOldest(names []string, limit int, keep, removed map[string]bool) error {
	type aged struct {
		name string
		at   time.Time
	}
	over := len(names) - limit
	if over <= 0 {
		return nil
	}
	all := make([]aged, 0, len(names))
	for _, n := range names {
		if removed[n] {
			over--
			continue
		}
		info, err := os.Lstat(filepath.Join(s.dir, n))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("prune approvals: %w", err)
		}
		if !keep[n] {
			all = append(all, aged{n, info.ModTime()})
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].at.Before(all[j].at) })
	for _, a := range all[:max(0, min(over, len(all), maxRemovals-len(removed)))] {
		if err := os.Remove(filepath.Join(s.dir, a.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("prune approvals: %w", err)
		}
		removed[a.name] = true
	}
	return nil
}
