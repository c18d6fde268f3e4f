package gitobj

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// Ref is a resolved ref.
type Ref struct {
	Name string // the full name that holds the object id, symbolic refs followed
	OID  OID
}

// CheckRefName reports an error unless name is HEAD or a full ref name
// ("refs/…") that git-check-ref-format(1) allows.
func CheckRefName(name string) error {
	bad := func() error { return fmt.Errorf("ref %.200q %w", name, ErrName) }
	if name == "HEAD" {
		return nil
	}
	if !strings.HasPrefix(name, "refs/") || len(name) > MaxPath || strings.HasSuffix(name, ".") {
		return bad()
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") ||
			strings.Contains(part, "..") || strings.Contains(part, "@{") {
			return bad()
		}
	}
	for i := range len(name) {
		if c := name[i]; c < 0x20 || c == 0x7f || strings.IndexByte(` ~^:?*[\`, c) >= 0 {
			return bad()
		}
	}
	return nil
}

// ResolveRef follows the ref of that full name ("HEAD" or "refs/…") to an object
// id, through at most 5 symbolic refs. Short names are an ErrName: a tag can be
// called like a branch. The object may be an annotated tag (see Peel) and need not exist.
func (r *Repo) ResolveRef(name string) (Ref, error) {
	start := name
	for range maxSymref + 1 {
		if err := CheckRefName(name); err != nil {
			return Ref{}, err
		}
		oid, next, err := r.readRef(name)
		if err != nil {
			return Ref{}, err
		}
		if next == "" {
			return Ref{Name: name, OID: oid}, nil
		}
		name = next
	}
	return Ref{}, fmt.Errorf("ref %.200q %w: more than %d symbolic refs", start, ErrLimit, maxSymref)
}

// Head resolves HEAD. On an unborn branch the error is an ErrNotFound.
func (r *Repo) Head() (Ref, error) { return r.ResolveRef("HEAD") }

// refDir is where a ref lives: some belong to one work tree, the rest is shared.
func (r *Repo) refDir(name string) string {
	if !strings.HasPrefix(name, "refs/") {
		return r.gitDir
	}
	for _, p := range []string{"refs/bisect/", "refs/worktree/", "refs/rewritten/"} {
		if strings.HasPrefix(name, p) {
			return r.gitDir
		}
	}
	return r.common
}

// readRef returns the object id, or the name a symbolic ref points to.
func (r *Repo) readRef(name string) (OID, string, error) {
	data, err := readBeneath(r.refDir(name), name, MaxPath)
	if err == nil {
		return r.parseRef(name, string(data))
	}
	// Of refs/a and refs/a/b only one can exist; asking for the other is no attack.
	path := filepath.Join(r.refDir(name), filepath.FromSlash(name))
	if !absent(err) && !errors.Is(err, errFile) && realDir(path) != nil {
		return OID{}, "", err
	}
	oid, err := r.packedRef(name)
	return oid, "", err
}

func (r *Repo) parseRef(name, text string) (OID, string, error) {
	text = strings.TrimRight(text, " \t\r\n")
	if target, ok := strings.CutPrefix(text, "ref:"); ok {
		target = strings.TrimLeft(target, " \t")
		if !strings.HasPrefix(target, "refs/") {
			return OID{}, "", corrupt("ref %q: target %.200q", name, target)
		}
		return OID{}, target, nil
	}
	oid, err := r.parseOID(text)
	if err != nil {
		return OID{}, "", corrupt("ref %q", name)
	}
	return oid, "", nil
}

func (r *Repo) parseOID(s string) (OID, error) {
	oid, err := ParseOID(s)
	if err == nil && oid.Format() != r.format {
		err = fmt.Errorf("object id %.80q %w in a %s repository", s, ErrName, r.format)
	}
	return oid, err
}

// packedRef looks name up in packed-refs, one "<oid> <name>" a line.
func (r *Repo) packedRef(name string) (OID, error) {
	p := &r.packed
	p.once.Do(func() {
		p.refs, p.err = readRegular(filepath.Join(r.common, "packed-refs"), maxRefFile)
		if absent(p.err) {
			p.err = nil
		}
	})
	if p.err != nil {
		return OID{}, p.err
	}
	want := []byte(" " + name)
	for rest := p.refs; ; {
		i := bytes.Index(rest, want)
		if i < 0 {
			return OID{}, fmt.Errorf("ref %q %w", name, ErrNotFound)
		}
		start := bytes.LastIndexByte(rest[:i], '\n') + 1
		end := i + len(want)
		if whole := end == len(rest) || rest[end] == '\n' || rest[end] == '\r'; whole && rest[start] != '#' {
			oid, err := r.parseOID(string(rest[start:i]))
			if err != nil {
				return OID{}, corrupt("packed-refs: line of %q", name)
			}
			return oid, nil
		}
		rest = rest[end:]
	}
}

// ResolveName turns what a person types into a ref: a full object id, HEAD, a
// full name, else a branch or a remote branch of that name. Tags are found only
// by their full name; a name that is both a branch and a remote branch at
// different commits is an ErrAmbiguous.
func (r *Repo) ResolveName(name string) (Ref, error) {
	if oid, err := r.parseOID(name); err == nil {
		return Ref{Name: name, OID: oid}, nil
	}
	if name == "HEAD" || strings.HasPrefix(name, "refs/") {
		return r.ResolveRef(name)
	}
	var found []Ref
	for _, prefix := range []string{"refs/heads/", "refs/remotes/"} {
		ref, err := r.ResolveRef(prefix + name)
		switch {
		case err == nil:
			found = append(found, ref)
		case !isNotFound(err):
			return Ref{}, err
		}
	}
	switch {
	case len(found) == 0:
		return Ref{}, fmt.Errorf("branch %q %w (tags need their full name, refs/tags/…)", name, ErrNotFound)
	case len(found) == 2 && found[0].OID != found[1].OID:
		return Ref{}, fmt.Errorf("%q %w: %s or %s", name, ErrAmbiguous, found[0].Name, found[1].Name)
	}
	return found[0], nil
}

// Default is the trust ref when none is named: origin/HEAD, else origin/main,
// else origin/master. Without any of them the error is an ErrNotFound.
func (r *Repo) Default() (Ref, error) {
	for _, name := range []string{"HEAD", "main", "master"} {
		ref, err := r.ResolveRef("refs/remotes/origin/" + name)
		if err == nil || !isNotFound(err) {
			return ref, err
		}
	}
	return Ref{}, fmt.Errorf("origin/HEAD, origin/main or origin/master %w", ErrNotFound)
}
