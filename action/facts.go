package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gatesworn/gatesworn/action/judge"
	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/approval/allowlist"
	"github.com/gatesworn/gatesworn/ghreport"
)

// MaxClockSkew is how far this machine's clock may be from the API's: signatures
// are valid for a time (3-approval).
const MaxClockSkew = 5 * time.Minute

// API is what judging asks of GitHub.
type API interface {
	Repository(ctx context.Context) (ghreport.Repository, error)
	Pull(ctx context.Context, number int) (ghreport.Pull, error)
	Branch(ctx context.Context, name string) (ghreport.Branch, error)
	Tree(ctx context.Context, sha string) ([]ghreport.TreeEntry, error)
	Blob(ctx context.Context, sha string) ([]byte, error)
}

// Facts are what the API says when the run begins.
type Facts struct {
	Repository ghreport.Repository
	Pull       ghreport.Pull // zero unless the event is a pull request's
	Base       string        // branch that the judged commit is for
	Head       string        // commit that the result belongs to
	Trust      judge.TrustCommit
	Guard      *judge.TrustCommit // the base's own tip, where that is another governed branch
	Governed   bool
}

// ErrFacts is wrapped by a disagreement between event, checkout and API.
var ErrFacts = errors.New("what is checked out is not what GitHub has")

// Gather asks for the facts of an event: with a pull request into the default
// branch four reads, and one for each blob that trees are asked for later. local
// offers blobs by name that were verified already, so that they are not read twice.
func Gather(ctx context.Context, api API, e Event, in Inputs, local BlobSource) (Facts, error) {
	repo, err := api.Repository(ctx)
	if err != nil {
		return Facts{}, reading("the repository", "contents: read", err)
	}
	f := Facts{Repository: repo, Base: e.Base, Head: e.Commit}
	if e.Number > 0 {
		if f.Pull, err = api.Pull(ctx, e.Number); err != nil {
			return f, reading(fmt.Sprintf("pull request %d", e.Number), "pull-requests: read", err)
		}
		if err := agree(e, f.Pull, repo); err != nil {
			return f, err
		}
		f.Base, f.Head = f.Pull.BaseRef, f.Pull.HeadSHA
	}
	if f.Trust, err = commitOf(ctx, api, repo.DefaultBranch, local); err != nil {
		return f, err
	}
	f.Governed = f.Base == repo.DefaultBranch
	if f.Governed && (in.TrustRef == "" || in.TrustRef == repo.DefaultBranch) {
		return f, nil
	}
	return f, f.others(ctx, api, in, local)
}

// others looks at branches besides the default one, which count only if the
// default branch's policy lists them.
func (f *Facts) others(ctx context.Context, api API, in Inputs, local BlobSource) error {
	root := approval.ReadTrustRoot(f.Trust.Ref, f.Trust.Commit, f.Trust.Tree, allowlist.Formats{})
	branches := root.Policy.Branches
	f.Governed = f.Governed || slices.Contains(branches, f.Base)
	main := f.Repository.DefaultBranch
	if in.TrustRef != "" && in.TrustRef != main {
		if !slices.Contains(branches, in.TrustRef) {
			return fmt.Errorf("input trust_ref %q is not among the branches that %s's .gatesworn/policy.yml lists", in.TrustRef, main)
		}
		other, err := commitOf(ctx, api, in.TrustRef, local)
		if err != nil {
			return err
		}
		f.Trust = other
	}
	if f.Governed && f.Base != f.Trust.Ref {
		base, err := commitOf(ctx, api, f.Base, local)
		if err != nil {
			return err
		}
		f.Guard = &base
	}
	return nil
}

// agree compares the event with the API: the event supplies the number only.
func agree(e Event, p ghreport.Pull, repo ghreport.Repository) error {
	switch {
	case p.State != "open":
		return fmt.Errorf("%w: pull request %d is %s", ErrFacts, e.Number, p.State)
	case p.HeadSHA != e.Head:
		return fmt.Errorf("%w: pull request %d now ends in %.12s, this run is for %.12s; the run for the newer commit counts", ErrFacts, e.Number, p.HeadSHA, e.Head)
	case p.BaseRepoID != 0 && p.BaseRepoID != repo.ID:
		return fmt.Errorf("%w: pull request %d is into another repository", ErrFacts, e.Number)
	}
	return nil
}

// CheckParents compares the judged commit of a pull request with its base and
// head: GitHub judges the test merge, whose second parent is the head. tip is the
// base branch's tip where it was read, or "".
func (f Facts) CheckParents(e Event, parents []string, tip string) error {
	if e.Number == 0 {
		return nil
	}
	if e.Commit == f.Pull.HeadSHA {
		return fmt.Errorf("%w: GITHUB_SHA is the head itself, not its merge into %s", ErrFacts, f.Base)
	}
	if len(parents) != 2 || parents[1] != f.Pull.HeadSHA {
		return fmt.Errorf("%w: %.12s is no merge of the head %.12s", ErrFacts, e.Commit, f.Pull.HeadSHA)
	}
	if e.Commit != f.Pull.MergeCommitSHA && parents[0] != f.Pull.BaseSHA && parents[0] != tip {
		return fmt.Errorf("%w: %.12s merges the head into %.12s, which is not %s", ErrFacts, e.Commit, parents[0], f.Base)
	}
	return nil
}

func commitOf(ctx context.Context, api API, branch string, local BlobSource) (judge.TrustCommit, error) {
	b, err := api.Branch(ctx, branch)
	if err != nil {
		return judge.TrustCommit{}, reading("branch "+branch, "contents: read", err)
	}
	entries, err := api.Tree(ctx, b.Tree)
	if err != nil {
		return judge.TrustCommit{}, reading("the tree of "+branch, "contents: read", err)
	}
	fetch := func(sha string) ([]byte, error) { return api.Blob(ctx, sha) }
	return judge.TrustCommit{Ref: branch, Commit: b.Commit, Tree: newAPITree(entries, fetch, local)}, nil
}

// reading names the permission that a refused read needs.
func reading(what, permission string, err error) error {
	if ghreport.PermissionError(err) {
		return fmt.Errorf("cannot read %s: the job needs permissions: %s: %v", what, permission, err)
	}
	return fmt.Errorf("cannot read %s: %v", what, err)
}

// checkClock compares this machine's clock with the API's.
func checkClock(offset time.Duration, known bool) error {
	if known && offset.Abs() > MaxClockSkew {
		return fmt.Errorf("this machine's clock is %s away from GitHub's, and signatures are valid for a time", offset.Abs().Round(time.Second))
	}
	return nil
}

// checkRepository refuses a policy that belongs to another repository: a template's
// or a fork's.
func checkRepository(root approval.TrustRoot, repo ghreport.Repository) error {
	if root.State == approval.RootValid && !strings.EqualFold(root.Policy.Repository, repo.FullName) {
		return fmt.Errorf("%s: repository is %q, but this is %q: a template or fork needs a trust root of its own (gatesworn init --github)",
			approval.PolicyPath, root.Policy.Repository, repo.FullName)
	}
	return nil
}
