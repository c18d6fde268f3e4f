package judge

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/approval/store"
	"github.com/gatesworn/gatesworn/gates"
)

// Local is the permit of one user on one machine: records of the local store and
// nothing else. It implements gates.Permit.
type Local struct {
	Workspace *Workspace
	Store     *store.Store
	Shell     string // absolute path
	Timeout   int    // seconds, of a gate without TIMEOUT
	Path      string // PATH as checks inherit it
	Now       time.Time

	// Signed is HEAD judged by a root that is pinned on this machine: then what its
	// signers signed may run, too. nil: this user's records alone count.
	Signed *PullRequest

	// Approve records every pending gate before it decides. Show is called first
	// with what is about to be recorded; an error of Show records nothing.
	Approve func(gates.GateRef, approval.Oracle) error

	tree approval.Tree // listed once, when the first gate with INPUTS asks
}

// Permit decides one gate.
func (l *Local) Permit(ctx context.Context, g gates.GateRef) (gates.Permission, error) {
	bound, err := l.bind(g)
	request := approval.Request{Mode: approval.ModeLocal, Now: l.Now, Oracle: bound, Bind: err, Claimed: true, Evidence: g.Gate.Evidence}
	if err == nil {
		if request.Local, err = l.lookup(ctx, g, bound); err != nil {
			return gates.Permission{Oracle: bound.Digest()}, err
		}
	}
	if l.Signed != nil {
		if request, err = l.Signed.vouch(request); err != nil {
			return gates.Permission{Oracle: bound.Digest()}, err
		}
	}
	decision := approval.Decide(request)
	return l.permission(g, bound, decision), decision.Err
}

// vouch adds to a local request what the pinned signers say about the definition
// as the work tree holds it. Only the digest counts: it binds every byte that matters.
func (p *PullRequest) vouch(r approval.Request) (approval.Request, error) {
	if p.Root.State != approval.RootValid {
		return r, nil
	}
	r.Mode, r.Root, r.Revoked, r.Trees = approval.ModePinned, p.Root, p.revoked, []string{p.Tree}
	var err error
	r.Statements, err = p.list.About(r.Oracle.Ledger, r.Oracle.Gate, r.Oracle.Digest())
	return r, err
}

// bind builds the oracle of the definition in front of us. Only INPUTS needs a listing of the work tree.
func (l *Local) bind(g gates.GateRef) (approval.Oracle, error) {
	if len(g.Gate.Inputs) == 0 {
		return approval.NewOracle(l.project(), g.Ledger, g.RelDir, g.Gate, nil), nil
	}
	if l.tree == nil {
		t, err := l.Workspace.WorkTree()
		if err != nil {
			return approval.NewOracle(l.project(), g.Ledger, g.RelDir, g.Gate, []approval.BoundFile{}), err
		}
		l.tree = t
	}
	return approval.BuildAt(l.tree, l.project(), g.Ledger, g.RelDir, g.Gate)
}

func (l *Local) project() string { return l.Workspace.Policy.Project }

// lookup asks the store, recording the approval first when that was asked for.
func (l *Local) lookup(ctx context.Context, g gates.GateRef, o approval.Oracle) (approval.Local, error) {
	b := store.Binding{
		Oracle: o, Ledger: g.Abs, Shell: l.Shell, Dir: g.Dir, Timeout: l.timeout(g),
		Platform: runtime.GOOS, Path: l.Path,
	}
	found, err := l.Store.Lookup(b)
	if err != nil || found.Approved || l.Approve == nil {
		return found, err
	}
	if err := l.Approve(g, o); err != nil {
		return found, err
	}
	if _, err := l.Store.Put(ctx, l.Now, b); err != nil {
		return found, fmt.Errorf("cannot record the approval: %w", err)
	}
	return l.Store.Lookup(b)
}

func (l *Local) timeout(g gates.GateRef) int {
	if g.Gate.Timeout > 0 {
		return g.Gate.Timeout
	}
	return l.Timeout
}

// permission translates a decision. Bound files are compared right before the check and again after it.
func (l *Local) permission(g gates.GateRef, o approval.Oracle, d approval.Decision) gates.Permission {
	p := permission(o, d)
	if d.Allowed && len(o.Inputs) > 0 {
		p.Unchanged = func() error { return approval.Unchanged(l.Workspace.Top, o.Inputs) }
	}
	if strings.HasSuffix(p.Next, "--approve") {
		p.Next += " " + g.Name
	}
	return p
}

// permission is what every source of approval has in common.
func permission(o approval.Oracle, d approval.Decision) gates.Permission {
	p := gates.Permission{Allowed: d.Allowed, Reason: d.Text, Next: d.Next, Oracle: o.Digest()}
	if d.Source == "" || !d.Allowed {
		return p
	}
	p.Approval = &gates.Approval{By: d.By, ID: d.ID, Source: string(d.Source), Issued: stamp(d.Issued), Expires: stamp(d.Expires)}
	if p.Approval.By == nil {
		p.Approval.By = []string{}
	}
	return p
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
