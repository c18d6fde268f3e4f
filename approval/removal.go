package approval

import (
	"fmt"
	"time"

	"github.com/gatesworn/gatesworn/gates/ledger"
)

// MaxLedger is the largest ledger, in bytes (2-ledger).
const MaxLedger = 8 << 20

// Side says what stands at a ledger's path on one side. The zero value was not read.
type Side int

const (
	SideUnread Side = iota
	SideAbsent
	SideIrregular  // a link, a submodule, a folder, or unreadable
	SideUnparsable // a regular file that is no ledger
	SideRead
)

// LedgerAt is a ledger as one tree holds it.
type LedgerAt struct {
	Path string
	Side Side
	Doc  *ledger.Document // with SideRead and SideUnparsable
	Data []byte
	Err  error // with SideIrregular and SideUnparsable
}

// ReadLedger reads the ledger at path from a tree. No component may be a link.
func ReadLedger(t Tree, path string) LedgerAt {
	l := LedgerAt{Path: path, Side: SideIrregular}
	if l.Err = CheckPath(t, "ledger", path); l.Err != nil {
		return l
	}
	e, ok := find(t.Entries(), path)
	switch {
	case !ok && len(beneath(t.Entries(), path+"/")) > 0:
		l.Err = fmt.Errorf("ledger %q is a folder", path)
		return l
	case !ok:
		l.Side = SideAbsent
		return l
	case !regular(e):
		l.Err = fmt.Errorf("ledger %q is %s", path, modeWord(e.Mode))
		return l
	}
	if l.Data, l.Err = t.Blob(e); l.Err != nil {
		return l
	}
	if len(l.Data) > MaxLedger {
		l.Err = fmt.Errorf("ledger %q is over %d bytes", path, MaxLedger)
		return l
	}
	l.Doc = ledger.Parse(path, l.Data)
	if l.Side = SideRead; !l.Doc.OK() || len(l.Doc.Gates) == 0 {
		l.Side, l.Err = SideUnparsable, fmt.Errorf("ledger %q cannot be read", path)
	}
	return l
}

// Build makes the oracle of a gate of a tree, with CWD resolved as ResolveCWD
// does. With an error the oracle is complete but for its bound files, has an
// empty list of them, and Decide must be given the error.
func Build(t Tree, project, ledgerPath string, g ledger.Gate) (Oracle, error) {
	dir, err := ResolveCWD(ledgerPath, g.CWD)
	if err != nil {
		return NewOracle(project, ledgerPath, ".", g, nil), err
	}
	return BuildAt(t, project, ledgerPath, dir, g)
}

// BuildAt is Build for a directory, relative to the top, that the caller resolved.
func BuildAt(t Tree, project, ledgerPath, dir string, g ledger.Gate) (Oracle, error) {
	none := NewOracle(project, ledgerPath, dir, g, nil)
	for _, p := range []struct{ what, path string }{{"ledger", ledgerPath}, {"CWD", dir}} {
		if err := CheckPath(t, p.what, p.path); err != nil {
			return none, err
		}
	}
	if g.CWD != "" {
		// The links of a path with ".." are only seen in the path as it is written.
		if err := checkWritten(t, ledgerPath, g.CWD); err != nil {
			return none, err
		}
	}
	files, err := Bind(t, g.Inputs)
	if err != nil {
		return none, err
	}
	return NewOracle(project, ledgerPath, dir, g, files), nil
}

func checkWritten(t Tree, ledgerPath, cwd string) error {
	base, err := ResolveCWD(ledgerPath, "")
	if err != nil {
		return err
	}
	return CheckPath(t, "CWD", base+"/"+cwd)
}

// Change compares a definition with the trust ref's. The zero value is not known.
type Change string

const (
	ChangeNew  Change = "new"
	ChangeMade Change = "changed"
	ChangeNone Change = "same"
)

// Compared is one gate of the judged commit beside the trust ref's.
type Compared struct {
	Change Change
	Was    *Oracle // at the trust ref, nil for a new gate
}

// CompareGate says whether a judged gate is new, changed or the same, against
// the ledger as the base holds it. What counts is the whole oracle, bound files included.
func CompareGate(base LedgerAt, baseTree Tree, now Oracle) Compared {
	if base.Side != SideRead {
		return Compared{Change: ChangeNew}
	}
	for _, g := range base.Doc.Gates {
		if g.ID != now.Gate {
			continue
		}
		// A base whose own files cannot be bound differs from everything that can.
		was, _ := Build(baseTree, now.Project, base.Path, g)
		if d := was.Digest(); d != "" && d == now.Digest() {
			return Compared{Change: ChangeNone, Was: &was}
		}
		return Compared{Change: ChangeMade, Was: &was}
	}
	return Compared{Change: ChangeNew}
}

// RemovedGate is a gate of a standing ledger that the judged commit no longer keeps.
type RemovedGate struct {
	Ledger string
	Gate   ledger.Gate // at the base
	Oracle Oracle      // at the base: what has to be retired
	Why    string      // "on main, not here"
	// Retired is the valid statement that drops it, nil when there is none: then
	// the gate's state is removed, a failure.
	Retired *Considered
	Next    string
}

// Guard is what the removal guard found. The zero value has Compared false,
// which nobody may take for "nothing was removed".
type Guard struct {
	Compared bool
	Removed  []RemovedGate // sorted by ledger, in the base's order, retired ones included
	// Unknown are ledgers of the base that cannot be read: what they promised is
	// not known, so that the conclusion is at best action_required.
	Unknown []LedgerAt
}

// Lost returns the removed gates that no statement retires.
func (g Guard) Lost() []RemovedGate {
	var lost []RemovedGate
	for _, r := range g.Removed {
		if r.Retired == nil {
			lost = append(lost, r)
		}
	}
	return lost
}

// StandingPaths is the union of what the policy's globs match on both sides.
func StandingPaths(p Policy, base, judged Tree) []string {
	union := map[string]bool{}
	for _, t := range []Tree{base, judged} {
		for _, path := range LedgerPaths(t, p.Ledgers) {
			union[path] = true
		}
	}
	return sorted(union)
}

// GuardRequest is what the removal guard compares.
type GuardRequest struct {
	Base         Tree   // the trust ref's, or the base's when it is another governed branch
	BaseName     string // for people: "main"
	Judged       Tree
	Root         TrustRoot
	Revoked      Revocations
	Statements   Statements
	Now          time.Time
	JudgedLedger func(path string) LedgerAt // nil reads from Judged
}

// GuardRemoval compares the standing ledgers of both sides. A gate that is gone,
// was runnable and no longer is, or sits in a ledger that is absent, no regular
// file or unparsable, is removed. The error is for statements or a root that
// could not be read.
func GuardRemoval(r GuardRequest) (Guard, error) {
	if r.Root.State != RootValid {
		return Guard{}, fmt.Errorf("removed gates cannot be known: %s has no valid rules", r.Root.Ref)
	}
	g := Guard{Compared: true}
	if r.Root.Policy.Removal == RemovalAllow {
		return g, nil
	}
	for _, path := range StandingPaths(r.Root.Policy, r.Base, r.Judged) {
		base := ReadLedger(r.Base, path)
		if base.Side == SideAbsent {
			continue
		}
		if base.Side != SideRead {
			g.Unknown = append(g.Unknown, base)
			continue
		}
		judged := r.judgedLedger(path)
		for _, gate := range base.Doc.Gates {
			why := missing(judged, gate, r.BaseName)
			if why == "" {
				continue
			}
			removed, err := r.removed(path, gate, why)
			if err != nil {
				return Guard{}, err
			}
			g.Removed = append(g.Removed, removed)
		}
	}
	return g, nil
}

func (r GuardRequest) judgedLedger(path string) LedgerAt {
	if r.JudgedLedger != nil {
		return r.JudgedLedger(path)
	}
	return ReadLedger(r.Judged, path)
}

// missing says why the judged ledger no longer keeps the gate, "" if it does.
func missing(judged LedgerAt, gate ledger.Gate, base string) string {
	switch judged.Side {
	case SideRead:
	case SideAbsent:
		return fmt.Sprintf("on %s; %s is not here", base, judged.Path)
	default:
		return fmt.Sprintf("on %s; %s cannot be read here", base, judged.Path)
	}
	for _, g := range judged.Doc.Gates {
		if g.ID != gate.ID {
			continue
		}
		if gate.Runnable() && !g.Runnable() {
			return fmt.Sprintf("has a CHECK on %s, none here", base)
		}
		return ""
	}
	return fmt.Sprintf("on %s, not here", base)
}

func (r GuardRequest) removed(path string, gate ledger.Gate, why string) (RemovedGate, error) {
	// An error leaves the bound files empty: a retirement then has to name that.
	oracle, _ := Build(r.Base, r.Root.Policy.Project, path, gate)
	removed := RemovedGate{Ledger: path, Gate: gate, Oracle: oracle, Why: why}
	var statements []Statement
	if r.Statements != nil {
		var err error
		if statements, err = r.Statements.About(path, gate.ID, oracle.Digest()); err != nil {
			return removed, err
		}
	}
	j := newJudge(Request{Now: r.Now, Root: r.Root, Revoked: r.Revoked, Statements: statements, Oracle: oracle})
	removed.Retired = j.retired()
	removed.Next = "put it back, or " + j.askNext()
	return removed, nil
}

// retired finds a statement that counts, retires exactly this oracle and was
// issued after every approval of it, valid now or not.
func (j judge) retired() *Considered {
	if j.digest == "" {
		return nil
	}
	var approved time.Time
	for _, s := range j.r.Statements {
		enough := s.Fault == "" && s.Project == j.policy.Project && len(s.signers(KeysAny)) >= j.policy.Threshold
		if enough && holds(s.Approve, j.digest) && s.IssuedAt.After(approved) {
			approved = s.IssuedAt
		}
	}
	for _, s := range j.r.Statements {
		if !holds(s.Retire, j.digest) || !s.IssuedAt.After(approved) || j.r.Revoked.Has(s.ID) {
			continue
		}
		if reason, _ := j.valid(s); reason != Undecided {
			continue
		}
		if reason, _ := j.threshold(s); reason != Undecided {
			continue
		}
		return &Considered{ID: s.ID, By: s.signers(j.policy.Keys), Issued: s.IssuedAt, Same: true, Reason: Signed, Text: "retires it"}
	}
	return nil
}

func holds(oracles []Oracle, digest string) bool {
	for _, o := range oracles {
		if o.Digest() == digest {
			return true
		}
	}
	return false
}
