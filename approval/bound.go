package approval

import (
	"fmt"
	"sort"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Limits of what one gate binds.
const (
	MaxBoundFiles = 4096
	MaxBoundFile  = 256 << 20 // bytes of one file
)

// Bind returns the files of a tree that INPUTS matches, sorted by path, each
// with its mode and the digest of its bytes. No patterns bind nothing: nil.
//
// It refuses what would leave open which bytes are meant: a pattern that matches
// nothing, a symbolic link among the matches or on a pattern's way, a pattern
// that reaches into a submodule (naming the submodule itself binds its commit),
// a path that is not UTF-8, and two matches that are equal once case and
// Unicode form are folded, because some file systems keep only one of them.
func Bind(t Tree, patterns []string) ([]BoundFile, error) {
	if len(patterns) == 0 {
		return nil, nil
	}
	entries := t.Entries()
	matched := map[string]Entry{}
	for _, text := range patterns {
		p, err := parsePattern(text)
		if err != nil {
			return nil, fmt.Errorf("INPUTS: %w", err)
		}
		if err := collect(entries, p, matched); err != nil {
			return nil, err
		}
	}
	if len(matched) > MaxBoundFiles {
		return nil, fmt.Errorf("INPUTS matches %d files, more than %d; name fewer", len(matched), MaxBoundFiles)
	}
	if err := refuseTwins(matched); err != nil {
		return nil, err
	}
	return digestAll(t, matched)
}

func collect(entries []Entry, p pattern, matched map[string]Entry) error {
	if err := refuseOnTheWay(entries, p); err != nil {
		return err
	}
	found := false
	for _, e := range beneath(entries, p.literal) {
		if !p.match(e.Path) {
			continue
		}
		switch {
		case !utf8.ValidString(e.Path):
			return fmt.Errorf("INPUTS %q matches %q, whose name is not UTF-8", p.text, e.Path)
		case e.Mode == ModeLink:
			return fmt.Errorf("INPUTS %q matches the symbolic link %q; name the file it points to", p.text, e.Path)
		case !regular(e) && e.Mode != ModeSubmodule:
			return fmt.Errorf("INPUTS %q matches %q, which is no regular file (mode %s)", p.text, e.Path, e.Mode)
		}
		found = true
		matched[e.Path] = e
	}
	if !found {
		return fmt.Errorf("INPUTS %q matches no file", p.text)
	}
	return nil
}

// refuseOnTheWay looks at links and submodules that a pattern would go through.
// "**" does not follow links (git's listing has nothing beneath them), but a
// part that is spelled out would; into a submodule every pattern is refused.
func refuseOnTheWay(entries []Entry, p pattern) error {
	for _, e := range entries {
		switch {
		case e.Mode == ModeLink && p.reaches(e.Path, false):
			return fmt.Errorf("INPUTS %q goes through the symbolic link %q; name the place it points to", p.text, e.Path)
		case e.Mode == ModeSubmodule && p.reaches(e.Path, true):
			return fmt.Errorf("INPUTS %q reaches into the submodule %q; INPUTS: %s binds its commit", p.text, e.Path, e.Path)
		}
	}
	return nil
}

func refuseTwins(matched map[string]Entry) error {
	fold := cases.Fold()
	seen := make(map[string]string, len(matched))
	for _, path := range sorted(matched) {
		key := norm.NFC.String(fold.String(norm.NFC.String(path)))
		if other, ok := seen[key]; ok {
			return fmt.Errorf("INPUTS matches both %q and %q, which are one file on some machines; rename one", other, path)
		}
		seen[key] = path
	}
	return nil
}

func digestAll(t Tree, matched map[string]Entry) ([]BoundFile, error) {
	files := make([]BoundFile, 0, len(matched))
	for _, path := range sorted(matched) {
		e := matched[path]
		if e.Mode == ModeSubmodule {
			if e.OID == "" {
				return nil, fmt.Errorf("submodule %q, which INPUTS binds, is not checked out at a commit", path)
			}
			files = append(files, BoundFile{Path: path, Mode: e.Mode, SHA256: hexDigest([]byte(e.OID))})
			continue
		}
		data, err := t.Blob(e)
		if err != nil {
			return nil, fmt.Errorf("read %q, which INPUTS binds: %w", path, err)
		}
		if len(data) > MaxBoundFile {
			return nil, fmt.Errorf("%q, which INPUTS binds, is over %d bytes", path, MaxBoundFile)
		}
		files = append(files, BoundFile{Path: path, Mode: e.Mode, SHA256: hexDigest(data)})
	}
	return files, nil
}

// sorted returns the keys of a map in order.
func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
