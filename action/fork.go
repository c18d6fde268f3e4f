package action

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/ghreport"
)

// errNoChecks keeps the second stage for forks from writing a check run: it would
// be this repository's word for something that a fork measured.
var errNoChecks = errors.New("no check run is written for a fork")

// noChecks are the Checks of a run that writes none.
type noChecks struct{}

func (noChecks) CheckRuns(context.Context, string, string) ([]ghreport.CheckRun, error) {
	return nil, errNoChecks
}

func (noChecks) CreateCheckRun(context.Context, ghreport.CheckWrite) (ghreport.CheckRun, error) {
	return ghreport.CheckRun{}, errNoChecks
}

func (noChecks) UpdateCheckRun(context.Context, int64, ghreport.CheckWrite) (ghreport.CheckRun, error) {
	return ghreport.CheckRun{}, errNoChecks
}

// forkTarget accepts the report of another workflow's run, made by a fork, for a
// comment. Everything is asked of the API: the run must be a pull request's, of a
// workflow file that is the default branch's own, and for the head that an open
// request from a fork ends in now.
func (r *run) forkTarget(ctx context.Context, report gates.Report) (ghreport.Target, error) {
	ran, err := r.api.WorkflowRun(ctx, r.event.Run)
	if err != nil {
		return ghreport.Target{}, reading("the workflow run", "actions: read", err)
	}
	repo, err := r.api.Repository(ctx)
	if err != nil {
		return ghreport.Target{}, reading("the repository", "contents: read", err)
	}
	if ran.Event != "pull_request" {
		return ghreport.Target{}, fmt.Errorf("the workflow run is a %q's, not a pull_request's", ran.Event)
	}
	if report.Subject.Repository != repo.FullName || report.Subject.HeadSHA != ran.HeadSHA || report.Subject.PullRequest < 1 {
		return ghreport.Target{}, errors.New("the report is not of the workflow run's commit")
	}
	pull, err := r.api.Pull(ctx, report.Subject.PullRequest)
	if err != nil {
		return ghreport.Target{}, reading("the pull request", "pull-requests: read", err)
	}
	if pull.State != "open" || pull.HeadSHA != ran.HeadSHA || !pull.Fork() {
		return ghreport.Target{}, fmt.Errorf("no open pull request of a fork ends in %.12s", ran.HeadSHA)
	}
	if err := r.sameWorkflow(ctx, repo.DefaultBranch, ran); err != nil {
		return ghreport.Target{}, err
	}
	t := r.target()
	t.HeadSHA, t.PullRequest, t.Annotations = ran.HeadSHA, pull.Number, false
	t.Place.Note = "measured by the fork's own run"
	t.RunID, t.Attempt = ran.ID, max(1, ran.Attempt)
	t.Stream = "fork " + ran.Path
	return t, nil
}

// sameWorkflow makes sure that the fork ran the default branch's workflow file.
func (r *run) sameWorkflow(ctx context.Context, branch string, ran ghreport.WorkflowRun) error {
	tip, err := r.api.Branch(ctx, branch)
	if err != nil {
		return reading("branch "+branch, "contents: read", err)
	}
	head, err := r.api.Commit(ctx, ran.HeadSHA)
	if err != nil {
		return reading("the head commit", "contents: read", err)
	}
	ours, err := r.blobAt(ctx, tip.Tree, ran.Path)
	if err != nil {
		return err
	}
	theirs, err := r.blobAt(ctx, head.Tree, ran.Path)
	if err != nil {
		return err
	}
	if ours == "" || ours != theirs {
		return fmt.Errorf("the fork ran another %s than %s has: its report is not shown", ran.Path, branch)
	}
	return nil
}

func (r *run) blobAt(ctx context.Context, tree, path string) (string, error) {
	entries, err := r.api.Tree(ctx, tree)
	if err != nil {
		return "", reading("a tree", "contents: read", err)
	}
	i := slices.IndexFunc(entries, func(e ghreport.TreeEntry) bool { return e.Path == path && e.Type == "blob" })
	if i < 0 {
		return "", nil
	}
	return entries[i].SHA, nil
}
