package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/spf13/cobra"

	"github.com/gatesworn/gatesworn/action/judge"
	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/approval/allowlist"
	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/gates/hook"
	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/gatesworn/gatesworn/gates/scope"
	"github.com/gatesworn/gatesworn/internal/escape"
	"github.com/gatesworn/gatesworn/internal/gitobj"
)

func newPrePush(a *app) *cobra.Command {
	run, root := toggle{}, text{kind: "DIR"}
	cmd := &cobra.Command{
		Use: "pre-push [REMOTE] [URL]", Short: "Look at the commits that are about to be pushed", Args: cobra.MaximumNArgs(2),
		Long: `Reads what git writes to a pre-push hook on standard input, and looks at each commit
that is about to be pushed to a branch. It runs nothing. A push is refused for

  a ledger with errors
  a task gate that is ticked without evidence for its definition (a stale claim)
  a gate that nobody signed, or that was removed without a signature, and changed
  rules without one, where the push goes to the branch whose signers decide; in a
  push to another branch they are listed: a signer signs in the pull request

--run then runs the gates in the work tree, as check --reverify would, and writes
nothing. It names the files that are not what the commit holds.

Exit status: 0 the push may go on · 1 not like this · 2 it cannot be known.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s := &session{app: a, flags: checkFlags{root: root}}
			defer s.close()
			return s.prePush(cmd.Context(), run.on)
		},
	}
	cmd.Flags().Var(&root, "root", "the work tree (default: this folder)")
	addToggle(cmd.Flags(), &run, "run", "run the gates in the work tree")
	return cmd
}

func (s *session) prePush(ctx context.Context, run bool) error {
	pushes, err := hook.ReadPushes(s.app.in)
	if err != nil {
		return err
	}
	targets := branches(pushes)
	if len(targets) == 0 {
		return nil // deletions and tags
	}
	if err := s.open(); err != nil {
		return err
	}
	if s.work.Git == nil {
		return fmt.Errorf("%s is no git work tree", s.work.Top)
	}
	code := 0
	for _, t := range targets {
		one, err := s.pushed(ctx, t)
		if err != nil {
			return err
		}
		code = max(code, one)
	}
	if code != 0 || !run {
		return status(code)
	}
	return s.runPushed(ctx, targets)
}

// target is one commit and the branches that it is pushed to.
type target struct {
	oid gitobj.OID
	to  []string
}

// branches lists what is pushed to branches, each commit once. Tags name what was
// judged when it was pushed to its branch.
func branches(pushes []hook.Push) []target {
	var out []target
	for _, p := range pushes {
		oid, err := gitobj.ParseOID(p.LocalID)
		if err != nil || p.Delete() || strings.HasPrefix(p.RemoteRef, "refs/tags/") || strings.HasPrefix(p.RemoteRef, "refs/notes/") {
			continue
		}
		at := slices.IndexFunc(out, func(t target) bool { return t.oid == oid })
		if at < 0 {
			at, out = len(out), append(out, target{oid: oid})
		}
		out[at].to = append(out[at].to, p.RemoteRef)
	}
	return out
}

// pushed looks at one commit. Nothing is run.
func (s *session) pushed(ctx context.Context, t target) (code int, err error) {
	p, own, err := s.judgePushed(ctx, t.oid)
	if err != nil {
		return 0, err
	}
	scoped, err := s.scoped(ctx, p)
	if err != nil {
		return 0, err
	}
	sources, err := p.Sources(scoped)
	if err != nil {
		return 0, err
	}
	if len(sources) == 0 && len(p.Removed()) == 0 {
		return 0, nil
	}
	s.job = gates.Job{Mode: gates.AsPR, DecideOnly: true, Sources: sources, Removed: p.Removed(), Now: s.app.now, Shell: "/bin/sh"}
	s.job.Base = p.Report()
	if s.pushErrors() {
		return 2, nil
	}
	report, err := gates.Check(ctx, s.job, p, nil, silent{})
	if err != nil {
		return 0, err
	}
	say := pushReport{app: s.app, root: p.Root, governed: p.Root.State == approval.RootValid}
	say.decides = say.governed && !own && slices.Contains(t.to, "refs/heads/"+branchOf(p.Root.Ref))
	for _, l := range report.Ledgers {
		say.ledger(l, !slices.Contains(scoped, l.Path))
	}
	say.rules(p)
	return say.end(t, p.Commit), nil
}

// scoped lists the ledgers of scopes that the commit holds and its policy does not
// name: their claims are looked at, nobody signs them.
func (s *session) scoped(ctx context.Context, p *judge.PullRequest) ([]string, error) {
	tree, err := gitobj.ParseOID(p.Tree)
	if err != nil {
		return nil, err
	}
	dir, err := s.work.Git.Lookup(tree, ".unlazy")
	if errors.Is(err, gitobj.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the scopes of %s: %w", cut(p.Commit), err)
	}
	entries, err := s.work.Git.List(ctx, dir.OID)
	if err != nil {
		return nil, fmt.Errorf("cannot read the scopes of %s: %w", cut(p.Commit), err)
	}
	named := slices.Concat(p.Root.Policy.Ledgers, p.Root.Policy.Tasks)
	var found []string
	for _, e := range entries {
		id, rest, _ := strings.Cut(e.Path, "/")
		file, nested := strings.CutPrefix(rest, "gates/")
		is := scope.ValidID(id) && (rest == "GATES.md" || nested && strings.HasSuffix(file, ".md") && !strings.Contains(file, "/"))
		path := ".unlazy/" + e.Path
		if is && !slices.ContainsFunc(named, func(glob string) bool { return doublestar.MatchUnvalidated(glob, path) }) {
			found = append(found, path)
		}
	}
	return found, nil
}

// pushErrors prints the errors of the ledgers of a commit, and nothing else.
func (s *session) pushErrors() (bad bool) {
	for _, src := range s.job.Sources {
		errs := slices.DeleteFunc(slices.Clone(src.Doc.Findings), func(f ledger.Finding) bool { return f.Level != ledger.Error })
		if len(errs) == 0 {
			continue
		}
		bad = true
		ledger.FormatFindings(s.app.err, src.Path, errs, maxFindings)
		fmt.Fprintf(s.app.err, "%s: %s, not pushed\n", escape.Line(src.Path), count(len(errs), "error"))
	}
	return bad
}

// judgePushed reads the commit and the root it is judged by. own is true where the
// trust ref has no rules yet, or there is none: then the commit's own count.
func (s *session) judgePushed(ctx context.Context, oid gitobj.OID) (p *judge.PullRequest, own bool, err error) {
	trust, err := s.work.TrustRef(ctx, "")
	if err == nil {
		own = approval.ReadTrustRoot(trust.Ref, trust.Commit, trust.Tree, allowlist.Formats{}).State == approval.RootMissing
	} else if own = errors.Is(err, gitobj.ErrNotFound); !own {
		return nil, false, err
	}
	if own {
		if trust, err = s.work.TrustRef(ctx, oid.String()); err != nil {
			return nil, true, err
		}
		trust.Ref = "this commit"
	}
	project := ""
	if s.work.HasPolicy {
		project = s.work.Policy.Project
	}
	pin, _ := s.pin(project) // its revocations count; without a pin there are none
	p, err = s.work.JudgeCommit(ctx, oid, trust, s.app.now(), true, pin.Revoked)
	return p, own, err
}

// branchOf is the branch at the remote of a remote-tracking ref such as origin/main.
func branchOf(ref string) string {
	if _, branch, ok := strings.Cut(ref, "/"); ok {
		return branch
	}
	return ref
}

// pushReport prints what is wrong with a commit that is about to be pushed.
type pushReport struct {
	app      *app
	root     approval.TrustRoot
	governed bool // there are signatures to speak of
	decides  bool // the push goes to the branch whose signers decide
	refused  []string
	listed   []string // for a signer, in the pull request
}

// ledger reports one ledger; judged says that a pull request judges it too.
func (r *pushReport) ledger(l gates.Ledger, judged bool) {
	for _, g := range l.Gates {
		switch {
		case g.State == gates.Removed:
			r.signer("REMOVED", g)
			continue
		case g.State == gates.Unapproved && r.governed && judged:
			r.signer("NOT SIGNED", g)
		}
		if l.Kind == "task" && g.Claimed == gates.ClaimedStale && g.State != gates.Abandoned {
			g.Reason, g.Next = "ticked, but its evidence is of another definition or by hand", "gatesworn check "+g.Name+", and commit"
			r.block("STALE", g)
			r.refused = append(r.refused, g.Name+" stale")
		}
	}
}

// signer reports what a signature cures.
func (r *pushReport) signer(word string, g gates.Gate) {
	r.block(word, g)
	text := g.Name + " " + strings.ToLower(word)
	if r.decides {
		r.refused = append(r.refused, text)
	} else {
		r.listed = append(r.listed, text)
	}
}

// rules reports changed rules or signers that the old ones did not sign.
func (r *pushReport) rules(p *judge.PullRequest) {
	if !r.governed || !p.Change.Changed() || p.Signed {
		return
	}
	for _, n := range p.Notices {
		fmt.Fprintln(r.app.out, escape.LogLine(n))
	}
	if r.decides {
		r.refused = append(r.refused, "changed rules not signed")
	} else {
		r.listed = append(r.listed, "changed rules not signed")
	}
}

func (r *pushReport) block(word string, g gates.Gate) {
	fmt.Fprintf(r.app.out, "%s %s  %s\n", word, escape.LogLine(g.Name), escape.Short(escape.LogLine(g.Title), 120))
	if word == "NOT SIGNED" && g.Check != "" {
		fmt.Fprintf(r.app.out, "  $ %s\n", escape.Short(escape.LogLine(g.Check), 160))
	}
	if g.Reason != "" {
		fmt.Fprintf(r.app.out, "  %s\n", escape.LogLine(g.Reason))
	}
	if g.Next != "" {
		fmt.Fprintf(r.app.out, "  next: %s\n", escape.LogLine(g.Next))
	}
}

// end prints the verdict on one commit.
func (r *pushReport) end(t target, commit string) int {
	to := escape.LogLine(strings.Join(t.to, ", "))
	if len(r.refused) > 0 {
		fmt.Fprintf(r.app.out, "NOT PUSHED: %s to %s: %s\n", cut(commit), to, some(append(r.refused, r.listed...)))
		return 1
	}
	if len(r.listed) > 0 {
		fmt.Fprintf(r.app.out, "pushed all the same, %s to %s: a signer can sign in the pull request: %s\n", cut(commit), to, some(r.listed))
	}
	return 0
}

// some joins the first of many.
func some(all []string) string {
	const most = 8
	if len(all) > most {
		all = append(slices.Clone(all[:most]), fmt.Sprintf("and %d more", len(all)-most))
	}
	return escape.LogLine(strings.Join(all, ", "))
}
