package approval

import (
	"errors"
	"sort"
	"strings"
)

// FileChange is one change of the root that the judged commit makes.
type FileChange struct {
	Path string
	// Old and New are lower-case hex SHA-256 of the content, "" where the file is missing.
	Old, New string
	Lost     []string // digests that revoked no longer lists
}

// Verb says what happens to the file, for people.
func (c FileChange) Verb() string {
	switch {
	case c.New == "":
		return "deletes"
	case c.Old == "":
		return "adds"
	}
	return "edits"
}

// RootChange is what a judged commit would change in the root. The zero value
// has Compared false, and nobody may take it for "unchanged".
type RootChange struct {
	Compared bool
	Files    []FileChange // sorted by path
}

// Changed reports whether the root changes, or whether that is not known.
func (c RootChange) Changed() bool { return !c.Compared || len(c.Files) > 0 }

// CompareRoots finds what the judged tree changes: policy.yml or allowed_signers
// edited, added or deleted, a line of revoked lost, an approval or a signature
// edited or deleted. Added approvals, signatures and revocations are no change.
// The error is for a judged root that is no set of regular files or has a
// malformed revoked: verdict error.
func CompareRoots(trust, judged Tree, f Formats) (RootChange, error) {
	if err := errors.Join(CheckRootFolder(trust), CheckRootFolder(judged)); err != nil {
		return RootChange{}, err
	}
	c := RootChange{}
	for _, e := range beneath(trust.Entries(), RootFolder+"/") {
		if err := c.file(e.Path, trust, judged, f); err != nil {
			return RootChange{}, err
		}
	}
	for _, p := range []string{SignersPath, PolicyPath} {
		if _, ok := find(trust.Entries(), p); ok {
			continue
		}
		if err := c.file(p, trust, judged, f); err != nil {
			return RootChange{}, err
		}
	}
	if _, err := ReadRevoked(judged, f); err != nil {
		return RootChange{}, err
	}
	c.Compared = true
	sort.Slice(c.Files, func(i, j int) bool { return c.Files[i].Path < c.Files[j].Path })
	return c, nil
}

func (c *RootChange) file(path string, trust, judged Tree, f Formats) error {
	guarded := path == PolicyPath || path == SignersPath || strings.HasPrefix(path, ApprovalsPath)
	if !guarded && path != RevokedPath {
		return nil
	}
	before, hadIt := find(trust.Entries(), path)
	after, hasIt := find(judged.Entries(), path)
	if !hadIt && !hasIt || hadIt && hasIt && before == after && before.OID != "" {
		return nil
	}
	change := FileChange{Path: path}
	if err := digests(&change, trust, judged); err != nil {
		return err
	}
	if change.Old == change.New {
		return nil
	}
	if path == RevokedPath {
		lost, err := lostLines(trust, judged, f)
		if err != nil || len(lost) == 0 {
			return err
		}
		change.Lost = lost
	}
	c.Files = append(c.Files, change)
	return nil
}

func digests(c *FileChange, trust, judged Tree) error {
	old, ok, err := rootFile(trust, c.Path, MaxRootFile)
	if err != nil {
		return err
	}
	if ok {
		c.Old = hexDigest(old)
	}
	now, ok, err := rootFile(judged, c.Path, MaxRootFile)
	if err != nil {
		return err
	}
	if ok {
		c.New = hexDigest(now)
	}
	return nil
}

// lostLines returns the digests that the trust tree revokes and the judged tree does not.
func lostLines(trust, judged Tree, f Formats) ([]string, error) {
	before, err := ReadRevoked(trust, f)
	if err != nil {
		return nil, err
	}
	after, err := ReadRevoked(judged, f)
	if err != nil {
		return nil, err
	}
	kept := Unite(after)
	var lost []string
	for _, d := range before {
		if !kept.Has(d) {
			lost = append(lost, d)
		}
	}
	return lost, nil
}

// SignedRoot finds the statement that the old threshold signed over the new
// content of every changed file, and reports whether there is one. A statement
// that stands at the trust ref already has had its effect: counting it again
// would let anybody bring back an older root.
func SignedRoot(c RootChange, r Request) (Considered, bool) {
	if !c.Compared || r.Root.State != RootValid {
		return Considered{}, false
	}
	j := newJudge(r)
	for _, s := range r.Statements {
		if s.Trusted || !covers(s.Root, c.Files) {
			continue
		}
		if reason, _ := j.valid(s); reason != Undecided || r.Revoked.Has(s.ID) {
			continue
		}
		if reason, _ := j.threshold(s); reason != Undecided {
			continue
		}
		return Considered{ID: s.ID, By: s.signers(j.policy.Keys), Issued: s.IssuedAt, Same: true, Reason: Signed, Text: "counts"}, true
	}
	return Considered{}, false
}

// covers reports whether root names exactly the new content of every change.
func covers(root map[string]string, files []FileChange) bool {
	if len(files) == 0 {
		return false
	}
	for _, f := range files {
		want := f.New
		if want == "" {
			want = RootAbsent
		}
		if root[f.Path] != want {
			return false
		}
	}
	return true
}
