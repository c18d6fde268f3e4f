package judge

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/approval/allowlist"
	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/internal/gitobj"
)

// TrustCommit is where the trust root is read from. The Action fills it in from
// the API, a laptop from its remote-tracking refs.
type TrustCommit struct {
	Ref    string // for people: main, origin/main
	Commit string // lower-case hex
	Tree   approval.Tree
}

// PullRequest is everything that judging a commit as a pull request depends on.
// It implements gates.Permit for the judged commit's gates.
type PullRequest struct {
	Root    approval.TrustRoot
	Commit  string // judged
	Tree    string // its tree
	Change  approval.RootChange
	Signed  bool // the change of the root is signed by the old threshold
	Guard   approval.Guard
	Notices []string

	work    *Workspace
	trust   approval.Tree
	judged  *approval.GitTree
	list    *allowlist.List
	revoked approval.Revocations
	mode    approval.Mode
	now     time.Time
	was     map[string]approval.LedgerAt

	fork    approval.Tree   // where the judged commit left the trust ref; nil if it holds all of it, or if not known
	behind  bool            // the trust ref changed root or gates since then
	commits []gitobj.Commit // that only the judged commit has
}

// ErrRoot is returned for a trust root that is there and cannot be read: nothing runs.
var ErrRoot = errors.New("the trust root cannot be read")

// TrustRef resolves --trust-ref, or finds the remote's default branch.
func (w *Workspace) TrustRef(ctx context.Context, name string) (TrustCommit, error) {
	if w.Git == nil {
		return TrustCommit{}, fmt.Errorf("%s is no git repository, and only a commit can be judged as a pull request", w.Top)
	}
	var ref gitobj.Ref
	var err error
	if name == "" {
		ref, err = w.Git.Default()
	} else {
		ref, err = w.Git.ResolveName(name)
	}
	if err != nil {
		return TrustCommit{}, fmt.Errorf("cannot find the trust ref: %w", err)
	}
	commit, err := w.Git.Peel(ref.OID)
	if err != nil {
		return TrustCommit{}, fmt.Errorf("cannot read the trust ref %s: %w", ref.Name, err)
	}
	tree, err := approval.NewGitTree(ctx, w.Git, commit.Tree)
	if err != nil {
		return TrustCommit{}, fmt.Errorf("cannot read the trust ref %s: %w", ref.Name, err)
	}
	return TrustCommit{Ref: shortRef(ref.Name), Commit: commit.OID.String(), Tree: tree}, nil
}

// shortRef names a ref as people do.
func shortRef(name string) string {
	for _, prefix := range []string{"refs/heads/", "refs/remotes/"} {
		if len(name) > len(prefix) && name[:len(prefix)] == prefix {
			return name[len(prefix):]
		}
	}
	return name
}

// JudgeHead reads HEAD's commit, the trust root and the allowlist, and compares
// the two commits. allowRun is false where the signers are not trusted to run
// commands on this machine: then everything is decided and nothing runs.
func (w *Workspace) JudgeHead(ctx context.Context, trust TrustCommit, now time.Time, allowRun bool, seen []string) (*PullRequest, error) {
	head, err := w.Git.Head()
	if err != nil {
		return nil, fmt.Errorf("cannot read HEAD: %w", err)
	}
	return w.JudgeCommit(ctx, head.OID, trust, now, allowRun, seen)
}

// JudgeCommit is JudgeHead for another commit, or for an annotated tag of one.
func (w *Workspace) JudgeCommit(ctx context.Context, oid gitobj.OID, trust TrustCommit, now time.Time, allowRun bool, seen []string) (*PullRequest, error) {
	commit, err := w.Git.Peel(oid)
	if err != nil {
		return nil, fmt.Errorf("cannot read commit %s: %w", oid, err)
	}
	p := &PullRequest{
		Commit: commit.OID.String(), Tree: commit.Tree.String(), work: w, trust: trust.Tree, now: now,
		mode: approval.ModePreview, was: map[string]approval.LedgerAt{},
	}
	if allowRun {
		p.mode = approval.ModeAllowlist
	}
	if p.judged, err = approval.NewGitTree(ctx, w.Git, commit.Tree); err != nil {
		return nil, fmt.Errorf("cannot read the tree of %s: %w", oid, err)
	}
	p.leave(ctx, commit.OID, trust.Commit)
	p.Root = approval.ReadTrustRoot(trust.Ref, trust.Commit, trust.Tree, allowlist.Formats{})
	if p.Root.State == approval.RootBroken {
		return p, fmt.Errorf("%w at %s: %w", ErrRoot, trust.Ref, p.Root.Err)
	}
	return p, p.compare(seen)
}

// compare finds what the judged commit changes about the root and the standing ledgers.
func (p *PullRequest) compare(seen []string) error {
	formats := allowlist.Formats{}
	if err := approval.CheckRootFolder(p.judged); err != nil {
		return fmt.Errorf("%w in the judged commit: %w", ErrRoot, err)
	}
	revoked, err := approval.ReadRevoked(p.judged, formats)
	if err != nil {
		return fmt.Errorf("%w in the judged commit: %w", ErrRoot, err)
	}
	p.revoked = approval.Unite(p.Root.Revoked, revoked, seen)
	if p.Root.State != approval.RootValid {
		return nil
	}
	signers, err := allowlist.ParseSigners(approval.SignersPath, p.Root.Signers)
	if err != nil {
		return err
	}
	if p.list, err = allowlist.Open(allowlist.Options{Judged: p.judged, Trust: p.trust, Signers: signers, Now: p.now}); err != nil {
		return err
	}
	if p.Change, err = approval.CompareRoots(p.trust, p.judged, formats); err != nil {
		return fmt.Errorf("%w: %w", ErrRoot, err)
	}
	if p.Change, err = p.own(p.Change, formats); err != nil {
		return err
	}
	if p.Change.Changed() {
		statements, err := p.list.Roots()
		if err != nil {
			return err
		}
		_, p.Signed = approval.SignedRoot(p.Change, p.request(approval.Oracle{}, nil, statements))
		p.Notices = append(p.Notices, changeNotice(p.Change, p.Root.Ref, p.Signed))
	}
	request := approval.GuardRequest{
		Base: p.trust, BaseName: p.Root.Ref, Judged: p.judged, Root: p.Root, Revoked: p.revoked, Statements: p.list, Now: p.now,
	}
	if p.Guard, err = approval.GuardRemoval(request); err != nil {
		return err
	}
	for _, l := range p.Guard.Unknown {
		p.Notices = append(p.Notices, fmt.Sprintf("%s cannot be read on %s: what it promised there is not known", l.Path, p.Root.Ref))
	}
	if p.Guard, err = p.lost(p.Guard, request); err == nil && p.behind {
		p.Notices = append(p.Notices, fmt.Sprintf("%s has newer gates or approvals than this branch: merge it to have them judged too", p.Root.Ref))
	}
	return err
}

func changeNotice(c approval.RootChange, ref string, signed bool) string {
	text := "This PR edits "
	for i, f := range c.Files {
		if i == 3 {
			text += fmt.Sprintf(" and %d more", len(c.Files)-3)
			break
		}
		if i > 0 {
			text += ", "
		}
		text += f.Path
	}
	if signed {
		return text + ": signed by " + ref + "'s signers."
	}
	return text + ": judged by " + ref + "'s."
}

func (p *PullRequest) request(o approval.Oracle, bind error, statements []approval.Statement) approval.Request {
	return approval.Request{
		Mode: p.mode, Now: p.now, Oracle: o, Bind: bind, Root: p.Root, Revoked: p.revoked, Statements: statements, Trees: []string{p.Tree},
	}
}

// Decide explains one gate of the judged commit: its oracle and every approval looked at.
func (p *PullRequest) Decide(g gates.GateRef) (approval.Oracle, approval.Decision) {
	o, bind := approval.Build(p.judged, p.Root.Policy.Project, g.Ledger, g.Gate)
	r := p.request(o, bind, nil)
	r.Evidence, r.Claimed = g.Gate.Evidence, g.Gate.Ticked && g.Gate.Evidence != ""
	if p.list != nil && bind == nil {
		statements, err := p.list.About(g.Ledger, g.Gate.ID, o.Digest())
		if err != nil {
			return o, approval.Decision{Reason: approval.Unreadable, Text: "its approvals cannot be read", Err: err}
		}
		r.Statements = statements
	}
	return o, approval.Decide(r)
}

// Permit decides one gate of the judged commit.
func (p *PullRequest) Permit(_ context.Context, g gates.GateRef) (gates.Permission, error) {
	o, d := p.Decide(g)
	perm := permission(o, d)
	perm.Manual = d.Allowed && !g.Gate.Runnable()
	if perm.Manual {
		perm.Allowed = false
	}
	if d.Allowed && len(o.Inputs) > 0 {
		perm.Unchanged = func() error { return approval.Unchanged(p.work.Top, o.Inputs) }
	}
	p.annotate(&perm, g, o)
	return perm, d.Err
}

// annotate compares the definition with the trust ref's.
func (p *PullRequest) annotate(perm *gates.Permission, g gates.GateRef, o approval.Oracle) {
	if p.Root.State != approval.RootValid {
		return
	}
	base, ok := p.was[g.Ledger]
	if !ok {
		base = approval.ReadLedger(p.trust, g.Ledger)
		p.was[g.Ledger] = base
	}
	c := approval.CompareGate(base, p.trust, o)
	if c.Change != approval.ChangeNone && p.fork != nil {
		// What differs only because the branch is behind is no change of the branch.
		if then := approval.CompareGate(approval.ReadLedger(p.fork, g.Ledger), p.fork, o); then.Change == approval.ChangeNone {
			c = then
		}
	}
	perm.Changed = gates.Change(c.Change)
	if c.Was != nil && c.Change == approval.ChangeMade {
		perm.Was = was(*c.Was)
	}
}

func was(o approval.Oracle) *gates.Was {
	w := &gates.Was{Outcome: o.Outcome, CWD: o.CWD}
	if o.Check != nil {
		w.Check = *o.Check
	}
	if o.Expect != nil {
		w.Expect = *o.Expect
	}
	return w
}

// Report is what is known before anything runs.
func (p *PullRequest) Report() gates.Report {
	r := gates.Report{
		Trust: gates.Trust{
			Mode: gates.TrustAllowlist, Ref: p.Root.Ref, Commit: p.Root.Commit, Signers: p.Root.Principals,
			PolicySHA256: p.Root.PolicySHA256, RootChanged: p.Root.State != approval.RootValid || p.Change.Changed(), RootSigned: p.Signed,
		},
		Subject:     gates.Subject{Repository: p.Root.Policy.Repository, JudgedCommit: p.Commit, Tree: p.Tree},
		Protections: gates.Protections{Applied: []string{}, Missing: []string{}},
		Notices:     p.Notices,
	}
	if len(p.Guard.Unknown) > 0 {
		r.Trust.RootChanged, r.Trust.RootSigned = true, false
	}
	return r
}

// Removed lists the gates of the trust ref that the judged commit lost without a signature.
func (p *PullRequest) Removed() []gates.Removal {
	lost := p.Guard.Lost()
	if len(lost) == 0 {
		return nil
	}
	paths := p.paths(nil)
	for _, g := range lost {
		if !slices.Contains(paths, g.Ledger) {
			paths = append(paths, g.Ledger)
		}
	}
	stems := gates.Names(paths)
	var out []gates.Removal
	for _, g := range lost {
		out = append(out, gates.Removal{Ledger: g.Ledger, Gate: gates.Gate{
			ID: g.Gate.ID, Name: stems[slices.Index(paths, g.Ledger)] + ":" + g.Gate.ID, Title: g.Gate.Outcome,
			Reason: g.Why, Next: g.Next, Claimed: gates.ClaimedUnmet,
			Check: g.Gate.Check, Expect: g.Gate.Expect, OracleSHA256: g.Oracle.Digest(), Was: was(g.Oracle),
		}})
	}
	return out
}

// dir resolves where a gate of the judged commit runs.
func (p *PullRequest) dir(path, cwd string) (abs, rel string, err error) {
	if rel, err = approval.ResolveCWD(path, cwd); err != nil {
		return "", "", err
	}
	if err := approval.CheckPath(p.judged, "CWD", rel); err != nil {
		return "", "", err
	}
	return filepath.Join(p.work.Top, filepath.FromSlash(rel)), rel, nil
}
