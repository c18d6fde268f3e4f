package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/gatesworn/gatesworn/action/judge"
	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/approval/allowlist"
	"github.com/gatesworn/gatesworn/gates"
)

// pullRequest reads HEAD, the trust root and the pin: what --as-pr judges by.
func (s *session) pullRequest(ctx context.Context, now time.Time) (*judge.PullRequest, error) {
	trust, err := s.work.TrustRef(ctx, s.flags.trustRef.value)
	if err != nil {
		return nil, withHint(err, "gatesworn check --as-pr --trust-ref BRANCH")
	}
	return s.judgeBy(ctx, trust, now)
}

// judgeBy judges HEAD by a root. What is signed may run only if the root is pinned here.
func (s *session) judgeBy(ctx context.Context, trust judge.TrustCommit, now time.Time) (*judge.PullRequest, error) {
	root := approval.ReadTrustRoot(trust.Ref, trust.Commit, trust.Tree, allowlist.Formats{})
	pin, err := s.pin(root.Policy.Project)
	pinned := err == nil && root.State == approval.RootValid
	if pinned {
		if err := pin.Check(root); err != nil {
			s.app.warn("%v; nothing runs before you look again: gatesworn trust", err)
			pinned = false
		}
	}
	p, err := s.work.JudgeHead(ctx, trust, now, pinned, pin.Revoked)
	if err == nil && pinned {
		s.remember(ctx, pin, p)
	}
	return p, err
}

// remember keeps the revocations that were seen: an older root that lacks one is refused later.
func (s *session) remember(ctx context.Context, pin approval.Pin, p *judge.PullRequest) {
	more, changed := pin.Seen(approval.Unite(p.Root.Revoked))
	if !changed {
		return
	}
	folder, err := s.app.pinFolder()
	if err == nil {
		err = approval.SavePin(ctx, folder, more)
	}
	if err != nil {
		s.app.warn("cannot remember the revocations of %s: %v", p.Root.Ref, err)
	}
}

// pin finds this machine's pin for a project; any doubt is no pin.
func (s *session) pin(project string) (approval.Pin, error) {
	if project == "" {
		return approval.Pin{}, approval.ErrNoPin
	}
	folder, err := s.app.pinFolder()
	if err != nil {
		return approval.Pin{}, err
	}
	pin, err := approval.LoadPin(folder, s.place(project))
	if err != nil && !errors.Is(err, approval.ErrNoPin) {
		s.app.warn("the pin of this repository cannot be read: %v", err)
	}
	return pin, err
}

// place names the repository for pins: project, and the remote it came from.
func (s *session) place(project string) approval.Place {
	place := approval.Place{Project: project, Top: s.work.Top}
	if s.work.Git != nil {
		remote, _ := s.work.Git.Config().Get("remote.origin.url")
		place.Remote = approval.RemoteIdentity(remote)
	}
	return place
}

// asPullRequest judges HEAD as the Action does and writes nothing to a ledger.
func (s *session) asPullRequest(ctx context.Context) error {
	if err := s.app.noShell("--as-pr"); err != nil {
		return err
	}
	now := s.app.now()
	p, err := s.pullRequest(ctx, now)
	if err != nil {
		return s.trouble(p, err)
	}
	files, names := s.split()
	if files, err = s.fromTop(files); err != nil {
		return err
	}
	sources, err := p.Sources(files)
	if err != nil {
		return s.trouble(p, err)
	}
	s.job = gates.Job{
		Mode: gates.AsPR, Sources: sources, Only: names, Removed: p.Removed(), Engine: s.engine, Now: s.app.now,
	}
	s.judged = p
	if notice := p.AuthorsNotice(sources); notice != "" {
		p.Notices = append(p.Notices, notice)
	}
	s.job.Base = p.Report()
	s.job.Base.Tool = gates.Tool{Name: "gatesworn", Version: version()}
	s.job.Base.Trust.Governed, s.job.Base.Subject.Base = true, p.Root.Ref // here the base is the trust ref
	if s.broken = s.findings(); s.broken {
		return s.finish(ctx, nil, nil)
	}
	s.header(p)
	if err := p.Clean(ctx, sources); err != nil {
		return withHint(s.trouble(p, err), "git stash --include-untracked, or commit; then gatesworn check --as-pr")
	}
	if s.flags.status.on {
		s.job.DecideOnly = true
		return s.finish(ctx, p, nil)
	}
	if err := s.prepareAsPR(p); err != nil {
		return err
	}
	exec, err := s.runner(nil)
	if err != nil {
		return err
	}
	s.job.Base.Execution = gates.Execution{Containment: exec.Containment(), Jobs: s.job.Jobs, Env: "clean"}
	return s.finish(ctx, p, exec)
}

// prepareAsPR takes shell, jobs and names of variables from the trust root.
func (s *session) prepareAsPR(p *judge.PullRequest) error {
	s.job.Timeout = defaultTimeout * time.Second
	s.job.Shell, s.job.Jobs = "/bin/sh", max(1, s.flags.jobs.value)
	if p.Root.State == approval.RootValid {
		s.job.Shell = p.Root.Policy.Shell
		if !s.flags.jobs.set {
			s.job.Jobs = max(1, p.Root.Policy.Jobs)
		}
	}
	s.flags.env.value = "clean"
	s.work.Policy.Env = p.Root.Policy.Env
	s.job.Path = s.app.getenv("PATH")
	return s.environ()
}

// header names who judges what (9-surfaces, B2).
func (s *session) header(p *judge.PullRequest) {
	w := s.streams().text
	if p.Root.State != approval.RootValid {
		fmt.Fprintf(w, "as a pull request to %s %s, which has no .gatesworn/ yet: nothing vouches for these commands and nothing is run\n",
			p.Root.Ref, cut(p.Root.Commit))
		return
	}
	fmt.Fprintf(w, "as a pull request to %s %s, signers %s, commit %s\n", p.Root.Ref, cut(p.Root.Commit), strings.Join(p.Root.Principals, " "), cut(p.Commit))
	for _, n := range p.Notices {
		fmt.Fprintln(w, n)
	}
}

func cut(oid string) string { return oid[:min(7, len(oid))] }

// fromTop names ledgers as the commit does: relative to the top.
func (s *session) fromTop(files []string) ([]string, error) {
	var out []string
	for _, f := range files {
		if !filepath.IsAbs(f) {
			f = filepath.Join(s.root, f)
		}
		if folder, err := filepath.EvalSymlinks(filepath.Dir(f)); err == nil {
			f = filepath.Join(folder, filepath.Base(f))
		}
		rel, err := filepath.Rel(s.work.Top, f)
		if err != nil || !filepath.IsLocal(rel) {
			return nil, usage("ledger %q is not in the repository", f)
		}
		out = append(out, filepath.ToSlash(rel))
	}
	return out, nil
}

// trouble still writes the report of a commit that cannot be judged: verdict error.
func (s *session) trouble(p *judge.PullRequest, err error) error {
	if p == nil || s.flags.format.value == "" || s.flags.format.value == "text" {
		return err
	}
	if d := s.destination(); d != nil {
		return errors.Join(err, d)
	}
	report := p.Report()
	report.Schema, report.StartedAt = gates.Schema, s.app.now()
	report.Tool = gates.Tool{Name: "gatesworn", Version: version()}
	report.Ledgers = []gates.Ledger{}
	report.Notices = append(report.Notices, err.Error())
	if w := s.document(s.streams(), gates.Evaluate(report)); w != nil {
		return errors.Join(err, w)
	}
	return err
}
