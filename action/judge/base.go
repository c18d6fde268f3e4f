package judge

import (
	"context"
	"strings"

	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/internal/gitobj"
)

// AgainstBase repeats the removal guard against the base's own tip, for a pull
// request into a governed branch other than the one that the root is read from.
// What either comparison misses counts as removed.
func (p *PullRequest) AgainstBase(base TrustCommit) error {
	if p.Root.State != approval.RootValid {
		return nil
	}
	guard, err := approval.GuardRemoval(approval.GuardRequest{
		Base: base.Tree, BaseName: base.Ref, Judged: p.judged, Root: p.Root, Revoked: p.revoked, Statements: p.list, Now: p.now,
	})
	if err != nil {
		return err
	}
	for _, g := range guard.Removed {
		if !p.misses(g) {
			p.Guard.Removed = append(p.Guard.Removed, g)
		}
	}
	p.Guard.Unknown = append(p.Guard.Unknown, guard.Unknown...)
	return nil
}

func (p *PullRequest) misses(g approval.RemovedGate) bool {
	for _, r := range p.Guard.Removed {
		if r.Ledger == g.Ledger && r.Gate.ID == g.Gate.ID {
			return true
		}
	}
	return false
}

// EditedWorkflows lists the files that steer this run and differ between the trust
// ref and the judged commit: workflows and actions under .github.
func (p *PullRequest) EditedWorkflows() []string {
	steers := func(path string) bool {
		return strings.HasPrefix(path, ".github/workflows/") || strings.HasPrefix(path, ".github/actions/")
	}
	was := map[string]string{}
	for _, e := range p.trust.Entries() {
		if steers(e.Path) {
			was[e.Path] = e.Mode + e.OID
		}
	}
	var edited []string
	for _, e := range p.judged.Entries() {
		if steers(e.Path) && was[e.Path] != e.Mode+e.OID {
			edited = append(edited, e.Path)
		}
	}
	return edited
}

// Preview returns the same commit judged by the root that it brings itself: what
// would be signed once it is merged. It is for showing; nobody runs by it.
func (p *PullRequest) Preview(ctx context.Context) (*PullRequest, error) {
	trust := TrustCommit{Ref: "this pull request", Commit: p.Commit, Tree: p.judged}
	return p.work.JudgeHead(ctx, trust, p.now, true, nil)
}

// Parents returns the judged commit's parents.
func (p *PullRequest) Parents() ([]string, error) {
	oid, err := gitobj.ParseOID(p.Commit)
	if err != nil {
		return nil, err
	}
	commit, err := p.work.Git.Commit(oid)
	if err != nil {
		return nil, err
	}
	parents := make([]string, len(commit.Parents))
	for i, o := range commit.Parents {
		parents[i] = o.String()
	}
	return parents, nil
}

// LocalBlob returns a blob of the work tree's repository by its name; its bytes
// were hashed again.
func (w *Workspace) LocalBlob(sha string) ([]byte, bool) {
	if w.Git == nil {
		return nil, false
	}
	oid, err := gitobj.ParseOID(sha)
	if err != nil {
		return nil, false
	}
	data, err := w.Git.Blob(oid, approval.MaxBoundFile)
	return data, err == nil
}
