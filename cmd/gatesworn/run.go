package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gatesworn/gatesworn/action/judge"
	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/approval/store"
	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/gates/evidence"
	"github.com/gatesworn/gatesworn/gates/expect"
	"github.com/gatesworn/gatesworn/gates/render"
	"github.com/gatesworn/gatesworn/gates/runner"
	"github.com/gatesworn/gatesworn/gates/scope"
	"github.com/gatesworn/gatesworn/internal/escape"
)

// defaultTimeout is unlazy's, in seconds.
const defaultTimeout = 120

// bytesPerResult is what writing one evidence line may add to a ledger.
const bytesPerResult = 350

// session is one call of check, with what it opened.
type session struct {
	app     *app
	flags   checkFlags
	args    []string
	root    string
	work    *judge.Workspace
	targets scope.Targets
	job     gates.Job
	engine  *expect.Engine
	text    *render.Text
	live    *render.Progress
	judged  *judge.PullRequest // with --as-pr
	peer    *judge.PullRequest // HEAD as the repository's signers see it, for a local check; nil without
	pinned  bool               // peer's signers may let commands run here
	output  string             // absolute path of --output, "" for standard output
	broken  bool               // a ledger is malformed: there is no verdict to print
	closers []func()
}

func (a *app) check(ctx context.Context, f checkFlags, args []string) (err error) {
	// A reader that goes away (check | head) is a write error to report at the end;
	// the signal would end the run in the middle and lose what is measured.
	gone := make(chan os.Signal, 1)
	signal.Notify(gone, syscall.SIGPIPE)
	defer signal.Stop(gone)
	s := &session{app: a, flags: f, args: args, engine: expect.New()}
	defer func() {
		for _, c := range s.closers {
			c()
		}
		s.engine.Close()
	}()
	if s.root, err = a.root(f.root.value); err != nil {
		return err
	}
	s.work, err = judge.Open(s.root)
	if broken := s.work != nil && s.work.HasPolicy; err != nil && !(f.asPR.on && broken) {
		return err // a pull request is judged by the trust ref's rules, whatever lies here
	}
	s.closers = append(s.closers, func() { _ = s.work.Close() })
	if f.asPR.on {
		return s.asPullRequest(ctx)
	}
	if err := s.load(ctx); err != nil {
		return err
	}
	return s.local(ctx)
}

// local judges by what this user approved on this machine.
func (s *session) local(ctx context.Context) error {
	f := s.flags
	s.job.Base = gates.Report{
		Tool:        gates.Tool{Name: "gatesworn", Version: version()},
		Trust:       gates.Trust{Mode: gates.TrustLocal},
		Protections: gates.Protections{Applied: []string{}, Missing: []string{}},
	}
	s.job.Mode = gates.Unmet
	switch {
	case f.status.on:
		s.job.Mode = gates.Status
	case f.reverify.on:
		s.job.Mode = gates.Reverify
	}
	if s.broken = s.findings(); s.broken {
		return s.finish(ctx, nil, nil)
	}
	if err := s.waves(); err != nil {
		return err
	}
	s.job.OtherTree = s.work.OtherTree(ctx, s.job.Sources)
	s.vouch(ctx, !f.status.on)
	if f.status.on {
		return s.finish(ctx, refuseAll{}, nil)
	}
	if err := s.prepare(); err != nil {
		return err
	}
	s.job.Tree = s.work.CleanTree(ctx, s.job.Sources)
	if err := s.recorders(); err != nil {
		return err
	}
	permit, err := s.permit()
	if err != nil {
		return err
	}
	exec, err := s.runner(nil)
	if err != nil {
		return err
	}
	s.job.Base.Execution = gates.Execution{Containment: exec.Containment(), Jobs: s.job.Jobs, Env: s.environment()}
	return s.finish(ctx, permit, exec)
}

// waves adds what a scope's launch waves mean for its verdict; naming gates asks about those alone.
func (s *session) waves() error {
	for _, path := range s.targets.Missing { // a promise nobody can see is not kept
		s.job.Base.Pending = append(s.job.Base.Pending, escape.Line(path)+", which the policy names, is not there")
	}
	if s.targets.Scope == "" || len(s.job.Only) > 0 {
		return nil
	}
	d, err := scope.Waves(s.work.Root, s.targets.Scope)
	if err != nil {
		return withHint(err, "gatesworn wave status --scope "+s.targets.Scope)
	}
	sum := d.Summary()
	s.job.Base.Pending, s.job.Base.Handoffs = append(s.job.Base.Pending, sum.Unresolved...), sum.Abandoned
	return nil
}

// prepare fills in shell, environment, time limit and jobs.
func (s *session) prepare() error {
	shell, err := s.app.shell(s.flags.shell.value)
	if err != nil {
		return err
	}
	if err := evidence.CheckShell(shell); err != nil {
		return usage("%v", err)
	}
	s.job.Shell = shell
	s.asPinned()
	s.job.Jobs = max(1, s.flags.jobs.value)
	s.job.Timeout = defaultTimeout * time.Second
	if s.flags.timeout.set {
		s.job.Timeout = time.Duration(s.flags.timeout.value) * time.Second
	}
	s.job.Path = s.app.getenv("PATH")
	return s.environ()
}

func (s *session) environment() string {
	if s.flags.env.value == "clean" || s.pinned {
		return "clean"
	}
	return "inherit"
}

// shell resolves --shell, GATESWORN_SHELL, UNLAZY_SHELL or /bin/sh to an absolute path.
func (a *app) shell(flag string) (string, error) {
	name := flag
	for _, v := range []string{a.getenv("GATESWORN_SHELL"), a.getenv("UNLAZY_SHELL"), "/bin/sh"} {
		if name == "" {
			name = v
		}
	}
	if strings.ContainsAny(name, `/\`) {
		dir, err := a.dir()
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
			return "", usage("there is no shell %q", name)
		}
		return name, nil
	}
	for _, dir := range filepath.SplitList(a.getenv("PATH")) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && filepath.IsAbs(path) {
			return path, nil
		}
	}
	return "", usage("there is no shell %q in PATH", name)
}

// permit opens the local store.
func (s *session) permit() (gates.Permit, error) {
	dir, err := s.app.approvalFolder()
	if err != nil {
		return nil, err
	}
	st, err := store.Open(dir, s.work.Top)
	if err != nil {
		return nil, err
	}
	local := &judge.Local{
		Workspace: s.work, Store: st, Shell: s.job.Shell, Timeout: int(s.job.Timeout / time.Second),
		Path: s.job.Path, Now: s.app.now(),
	}
	if s.pinned {
		local.Signed = s.peer
	}
	if s.flags.approve.on {
		local.Approve = func(g gates.GateRef, o approval.Oracle) error { return s.approving(g, o) }
	}
	return local, nil
}

// runner starts the pool of slots.
func (s *session) runner(user *runner.User) (*runner.Runner, error) {
	helper := []string{selfPath, slotCommand}
	r, err := runner.New(runner.Config{Jobs: s.job.Jobs, Helper: helper, User: user, Now: s.app.now})
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, r.Close)
	return r, nil
}

// refuseAll is the permit of --status: nothing runs.
type refuseAll struct{}

func (refuseAll) Permit(context.Context, gates.GateRef) (gates.Permission, error) {
	return gates.Permission{}, nil
}
