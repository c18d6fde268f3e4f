package allowlist

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/gatesworn/gatesworn/approval"

	"github.com/gatesworn/gatesworn/internal/lazyregexp"
)

// Limits of a statement.
const (
	Version      = 1
	MaxStatement = 4 << 20 // bytes
	MaxNote      = 2000    // bytes
	MaxEvidence  = 4000    // bytes of one evidence text; a ledger's line is shorter
)

// ErrStatement is wrapped by every refusal of a statement's bytes or values.
var ErrStatement = errors.New("not a canonical statement")

// Times are written to the second, in UTC, with Z: one spelling.
const timeLayout = "2006-01-02T15:04:05Z"

var (
	digestForm = lazyregexp.New(`^sha256:[0-9a-f]{64}$`)
	hexForm    = lazyregexp.New(`^[0-9a-f]{64}$`)
	treeForm   = lazyregexp.New(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
)

// wire is a statement as JSON holds it.
type wire struct {
	V         int               `json:"v"`
	Project   string            `json:"project"`
	IssuedAt  string            `json:"issuedAt"`
	ExpiresAt *string           `json:"expiresAt"`
	Approve   []approval.Oracle `json:"approve"`
	Retire    []approval.Oracle `json:"retire"`
	Evidence  []wireEvidence    `json:"evidence"`
	Root      map[string]string `json:"root"`
	Replaces  []string          `json:"replaces"`
	Note      string            `json:"note"`
}

type wireEvidence struct {
	Ledger    string  `json:"ledger"`
	Gate      string  `json:"gate"`
	Outcome   string  `json:"outcome"`
	Evidence  string  `json:"evidence"`
	Tree      *string `json:"tree"`
	ExpiresAt *string `json:"expiresAt"`
}

// Parse reads a statement. Its bytes must be exactly what Marshal writes for what
// they say: that settles unknown, repeated and differently-cased keys, other
// spellings of strings and numbers, and blanks. Errors wrap ErrStatement.
// ID is set; Path, Signatures and Trusted are the caller's.
func Parse(data []byte) (approval.Statement, error) {
	if len(data) > MaxStatement {
		return approval.Statement{}, refused("more than %d bytes", MaxStatement)
	}
	var w wire
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&w); err != nil {
		return approval.Statement{}, refused("%v", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return approval.Statement{}, refused("text after its end")
	}
	if w.V != Version {
		return approval.Statement{}, refused("version %d, not %d", w.V, Version)
	}
	s, err := w.statement()
	if err != nil {
		return approval.Statement{}, err
	}
	canonical, err := Marshal(s)
	if err != nil {
		return approval.Statement{}, err
	}
	if !bytes.Equal(canonical, data) {
		return approval.Statement{}, refused("its bytes are not the canonical form of what they say")
	}
	s.ID = approval.Digest(data)
	return s, nil
}

func refused(format string, a ...any) error {
	return fmt.Errorf("%w: %s", ErrStatement, fmt.Sprintf(format, a...))
}

func (w wire) statement() (approval.Statement, error) {
	s := approval.Statement{
		Project: w.Project, Approve: w.Approve, Retire: w.Retire, Root: w.Root, Replaces: w.Replaces, Note: w.Note,
	}
	var err error
	if s.IssuedAt, err = parseTime(&w.IssuedAt); err != nil {
		return s, err
	}
	if s.ExpiresAt, err = parseTime(w.ExpiresAt); err != nil {
		return s, err
	}
	for _, e := range w.Evidence {
		one := approval.SignedEvidence{Ledger: e.Ledger, Gate: e.Gate, Outcome: e.Outcome, Text: e.Evidence}
		if e.Tree != nil {
			one.Tree = *e.Tree
		}
		if one.ExpiresAt, err = parseTime(e.ExpiresAt); err != nil {
			return s, err
		}
		s.Evidence = append(s.Evidence, one)
	}
	return s, nil
}

// parseTime reads the one spelling of a time; null is the zero time.
func parseTime(s *string) (time.Time, error) {
	if s == nil {
		return time.Time{}, nil
	}
	t, err := time.Parse(timeLayout, *s)
	if err != nil || t.Format(timeLayout) != *s || t.Year() < 2000 {
		return time.Time{}, refused("time %q is not written as 2026-11-30T12:00:00Z", *s)
	}
	return t, nil
}

// Marshal writes the canonical form: two blanks a level, one final newline, keys
// in a fixed order. It refuses what Parse would refuse. ID, Path, Fault,
// Signatures and Trusted are no part of it.
func Marshal(s approval.Statement) ([]byte, error) {
	if err := check(s); err != nil {
		return nil, err
	}
	var w writer
	w.key("{", "v")
	w.number(Version)
	w.key(",", "project")
	w.text(s.Project)
	w.key(",", "issuedAt")
	w.optional(stamp(s.IssuedAt))
	w.key(",", "expiresAt")
	w.optional(stamp(s.ExpiresAt))
	w.key(",", "approve")
	w.array(len(s.Approve), func(i int) { w.Write(s.Approve[i].Canonical()) })
	w.key(",", "retire")
	w.array(len(s.Retire), func(i int) { w.Write(s.Retire[i].Canonical()) })
	w.key(",", "evidence")
	w.array(len(s.Evidence), func(i int) { w.evidence(s.Evidence[i]) })
	w.key(",", "root")
	w.root(s.Root)
	w.key(",", "replaces")
	w.array(len(s.Replaces), func(i int) { w.text(s.Replaces[i]) })
	w.key(",", "note")
	w.text(s.Note)
	w.WriteByte('}')
	out := w.indented()
	if len(out) > MaxStatement {
		return nil, refused("more than %d bytes", MaxStatement)
	}
	return out, nil
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeLayout)
}

func (w *writer) evidence(e approval.SignedEvidence) {
	w.key("{", "ledger")
	w.text(e.Ledger)
	w.key(",", "gate")
	w.text(e.Gate)
	w.key(",", "outcome")
	w.text(e.Outcome)
	w.key(",", "evidence")
	w.text(e.Text)
	w.key(",", "tree")
	w.optional(e.Tree)
	w.key(",", "expiresAt")
	w.optional(stamp(e.ExpiresAt))
	w.WriteByte('}')
}

func (w *writer) root(files map[string]string) {
	if files == nil {
		w.WriteString("null")
		return
	}
	paths := make([]string, 0, len(files))
	for p := range files {
		paths = append(paths, p)
	}
	sort.Strings(paths)
	before := "{"
	for _, p := range paths {
		w.key(before, p)
		w.text(files[p])
		before = ","
	}
	w.WriteByte('}')
}

// check refuses values that a statement must not hold.
func check(s approval.Statement) error {
	switch {
	case s.IssuedAt.IsZero() || s.IssuedAt.Nanosecond() != 0 || s.ExpiresAt.Nanosecond() != 0:
		return refused("times are to the second, and issuedAt must be there")
	case !s.ExpiresAt.IsZero() && !s.ExpiresAt.After(s.IssuedAt):
		return refused("it expires before it was issued")
	case len(s.Note) > MaxNote || plain(s.Note) != nil:
		return refused("the note is too long or holds control characters")
	case s.Root != nil && len(s.Root) == 0:
		return refused("root names no file")
	case len(s.Approve)+len(s.Retire)+len(s.Evidence)+len(s.Root)+len(s.Replaces) == 0:
		return refused("it says nothing")
	}
	if err := checkOracles(s); err != nil {
		return err
	}
	for _, e := range s.Evidence {
		if err := checkEvidence(s, e); err != nil {
			return err
		}
	}
	for p, sum := range s.Root {
		if !strings.HasPrefix(p, approval.RootFolder+"/") || path.Clean(p) != p || plain(p) != nil {
			return refused("root path %q", p)
		}
		if !hexForm.MatchString(sum) && sum != approval.RootAbsent {
			return refused("root digest %q of %q", sum, p)
		}
	}
	for i, d := range s.Replaces {
		if !digestForm.MatchString(d) || i > 0 && s.Replaces[i-1] >= d {
			return refused("replaces: %q is no digest, or out of order", d)
		}
	}
	return nil
}

// checkOracles refuses oracles of another project and two of one gate: which of
// them holds could not be told.
func checkOracles(s approval.Statement) error {
	seen := map[[2]string]bool{}
	for _, o := range slices.Concat(s.Approve, s.Retire) {
		if err := o.Validate(); err != nil {
			return refused("%v", err)
		}
		if o.Project != s.Project || s.Project == "" {
			return refused("project %q, but the gate %s is of project %q", s.Project, o.Gate, o.Project)
		}
		id := [2]string{o.Ledger, o.Gate}
		if seen[id] {
			return refused("two definitions of %s in %s", o.Gate, o.Ledger)
		}
		seen[id] = true
	}
	// A statement without oracles has a project all the same.
	probe := approval.Oracle{V: approval.OracleVersion, Project: s.Project, Ledger: "x", Gate: "x", Outcome: "x", CWD: "."}
	if err := probe.Validate(); err != nil || s.Project == "" {
		return refused("project %q", s.Project)
	}
	return nil
}

func checkEvidence(s approval.Statement, e approval.SignedEvidence) error {
	gate := approval.Oracle{V: approval.OracleVersion, Project: s.Project, Ledger: e.Ledger, Gate: e.Gate, Outcome: e.Outcome, CWD: "."}
	if err := gate.Validate(); err != nil {
		return refused("%v", err)
	}
	switch {
	case strings.TrimSpace(e.Text) == "" || len(e.Text) > MaxEvidence || plain(e.Text) != nil:
		return refused("the evidence of %s is blank, too long or holds control characters", e.Gate)
	case e.Tree != "" && !treeForm.MatchString(e.Tree):
		return refused("tree %q of the evidence of %s", e.Tree, e.Gate)
	case e.Tree == "" && e.ExpiresAt.IsZero():
		return refused("the evidence of %s names neither a tree nor an end", e.Gate)
	case e.ExpiresAt.Nanosecond() != 0:
		return refused("times are to the second")
	case e.Tree == "" && e.ExpiresAt.After(s.IssuedAt.Add(approval.MaxEvidenceLife)):
		return refused("the evidence of %s lasts longer than 14 days", e.Gate)
	}
	return nil
}
