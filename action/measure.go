package action

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gatesworn/gatesworn/action/judge"
	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/gates/expect"
	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/gatesworn/gatesworn/gates/render"
	"github.com/gatesworn/gatesworn/gates/runner"
)

// defaultTimeout is that of check, for a gate without TIMEOUT.
const defaultTimeout = 120 * time.Second

// measurement is one judgement on its way.
type measurement struct {
	*run
	event Event
	place *place
	work  *judge.Workspace
	facts Facts
	pr    *judge.PullRequest
	job   gates.Job
	exec  *runner.Runner
}

// measure judges the checked-out commit. The report is complete also when the
// error is not nil; its verdict is error then.
func (r *run) measure(ctx context.Context) (gates.Report, error) {
	m := &measurement{run: r, event: r.event}
	r.report = gates.Report{
		Trust: gates.Trust{Mode: gates.TrustAllowlist}, Protections: gates.Protections{Applied: []string{}, Missing: []string{}},
		Subject: gates.Subject{Repository: r.env("GITHUB_REPOSITORY"), HeadSHA: headOf(r.event), JudgedCommit: r.event.Commit, PullRequest: r.event.Number},
	}
	defer m.close()
	if err := m.prepare(ctx); err != nil {
		return m.broken(err), err
	}
	sources, err := m.pr.Sources(m.in.Ledgers)
	if err != nil {
		return m.broken(err), err
	}
	if allRead(sources) {
		if err := m.pr.Clean(ctx, sources); err != nil {
			return m.broken(err), err
		}
	}
	if err := m.fill(ctx, sources); err != nil {
		return m.broken(err), err
	}
	text := render.NewText(r.log, render.Style{AsPR: true}, nil)
	report, err := gates.Check(ctx, m.job, m.pr, m.exec, hidden{text, m.hide})
	if m.pr.Root.State == approval.RootMissing {
		report = m.preview(ctx, report, sources)
	}
	text.Verdict(report, render.Footer{})
	return report, err
}

func allRead(sources []gates.Source) bool {
	return !slices.ContainsFunc(sources, func(s gates.Source) bool { return !s.Doc.OK() })
}

func (m *measurement) close() {
	if m.exec != nil {
		m.exec.Close()
	}
	if m.work != nil {
		_ = m.work.Close() // read only
	}
	if m.place != nil {
		m.place.close()
	}
}

// broken is the report of a run that could not be carried out: the error leads it.
func (m *measurement) broken(err error) gates.Report {
	report := m.run.report
	if m.pr != nil {
		report = m.base()
	}
	report.Schema, report.StartedAt, report.Tool = gates.Schema, m.started, m.tool()
	report.Ledgers = []gates.Ledger{}
	report.Notices = append([]string{oneLine(err)}, report.Notices...)
	report.DurationMS = m.host.Now().Sub(m.started).Milliseconds()
	return gates.Evaluate(report)
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// prepare opens the tree that is judged, asks for the facts and reads the root.
func (m *measurement) prepare(ctx context.Context) (err error) {
	workspace := m.env("GITHUB_WORKSPACE")
	if found := credentials(workspace); found != "" && m.in.Mode == ModeRun {
		return errPersisted(found)
	}
	if m.place, err = m.settleIn(workspace); err != nil {
		return err
	}
	if m.work, err = judge.Open(m.place.work); err != nil {
		return err
	}
	if m.work.Git == nil {
		return fmt.Errorf("the workspace holds no checkout: add actions/checkout before this step")
	}
	head, err := m.work.Git.Head()
	if err != nil {
		return fmt.Errorf("cannot read HEAD: %w", err)
	}
	if head.OID.String() != m.event.Commit {
		return fmt.Errorf("%w: the workspace is at %.12s, not at %.12s; use actions/checkout without its ref input", ErrFacts, head.OID.String(), m.event.Commit)
	}
	if m.facts, err = Gather(ctx, m.api, m.event, m.in, m.work.LocalBlob); err != nil {
		return err
	}
	if offset, known := m.api.ServerOffset(); checkClock(offset, known) != nil {
		return checkClock(offset, known)
	}
	if m.pr, err = m.work.JudgeHead(ctx, m.facts.Trust, m.host.Now(), true, nil); err != nil {
		return err
	}
	return m.compare()
}

// settleIn chooses where checks run.
func (m *measurement) settleIn(workspace string) (*place, error) {
	if !m.host.Container {
		return bare(workspace, os.TempDir())
	}
	return m.contained(workspace)
}

// compare checks what the API said against the commit that is there.
func (m *measurement) compare() error {
	if err := checkRepository(m.pr.Root, m.facts.Repository); err != nil {
		return err
	}
	parents, err := m.pr.Parents()
	if err != nil {
		return fmt.Errorf("cannot read the judged commit: %w", err)
	}
	tip := ""
	switch {
	case m.facts.Guard != nil:
		tip = m.facts.Guard.Commit
	case m.facts.Base == m.facts.Trust.Ref:
		tip = m.facts.Trust.Commit
	}
	if err := m.facts.CheckParents(m.event, parents, tip); err != nil {
		return err
	}
	if m.facts.Guard != nil {
		return m.pr.AgainstBase(*m.facts.Guard)
	}
	return nil
}

// base is what is known before anything runs.
func (m *measurement) base() gates.Report {
	r := m.pr.Report()
	r.Tool, r.Level = m.tool(), "advisory"
	r.Trust.Governed = m.facts.Governed
	if m.pr.Root.State == approval.RootMissing {
		r.Trust.Mode = gates.TrustNone
	}
	r.Subject.Repository, r.Subject.HeadSHA = m.facts.Repository.FullName, m.facts.Head
	r.Subject.Base, r.Subject.PullRequest = m.facts.Base, m.facts.Pull.Number
	if edited := m.pr.EditedWorkflows(); len(edited) > 0 && m.facts.Pull.Number > 0 {
		r.Notices = append([]string{workflowNotice(edited)}, r.Notices...)
	}
	if m.pr.Root.State == approval.RootMissing {
		r.Notices = append(r.Notices, m.facts.Trust.Ref+" has no .gatesworn/ yet: merge the set-up first")
	}
	if s := m.in.Shard; s.N > 0 {
		r.Part = &gates.Part{I: s.I, N: s.N}
	}
	r.Protections = m.place.held
	if m.in.Mode == ModeRun {
		r.Protections.Missing = append(slices.Clone(r.Protections.Missing), "a token that cannot write")
	}
	return r
}

func workflowNotice(edited []string) string {
	text := "This PR edits " + edited[0]
	if len(edited) > 1 {
		text += fmt.Sprintf(" and %d more", len(edited)-1)
	}
	return text + ": the result below comes from the edited workflow."
}

// fill completes the job: rules of the root, environment, runner and probe.
func (m *measurement) fill(ctx context.Context, sources []gates.Source) error {
	policy := m.pr.Root.Policy
	m.job = gates.Job{
		Mode: gates.AsPR, Sources: sources, Removed: m.pr.Removed(), Engine: m.engine(), Now: m.host.Now,
		Jobs: max(1, policy.Jobs), Timeout: defaultTimeout, Shell: "/bin/sh", Path: m.env("PATH"), Container: m.host.Container,
	}
	if m.in.Jobs > 0 {
		m.job.Jobs = m.in.Jobs
	}
	if policy.Valid() {
		m.job.Shell = policy.Shell
	}
	if err := m.environment(policy); err != nil {
		return err
	}
	var err error
	m.exec, err = runner.New(runner.Config{Jobs: m.job.Jobs, Helper: m.host.Helper, User: m.place.user, Now: m.host.Now})
	if err != nil {
		return fmt.Errorf("cannot start the runner: %w", err)
	}
	if m.place.user != nil {
		if err := m.probe(ctx); err != nil {
			return err
		}
	}
	m.job.Base = m.base()
	if s := m.in.Shard; s.N > 0 {
		if m.job.Share, err = s.Share(sources); err != nil {
			return fmt.Errorf("cannot tell the gates of shard %d of %d: %w", s.I, s.N, err)
		}
	}
	m.job.Base.Execution = gates.Execution{Containment: m.exec.Containment(), Jobs: m.job.Jobs, Env: "clean"}
	return nil
}

func (m *measurement) engine() *expect.Engine {
	e := expect.New()
	m.closers = append(m.closers, e.Close)
	return e
}

// environment builds the checks' environment from names that the trust root lists.
func (m *measurement) environment(policy approval.Policy) error {
	build := func(g ledger.Gate) (runner.EnvResult, error) {
		return runner.Env(runner.EnvConfig{
			Mode: runner.Clean, Parent: m.host.Env, Policy: policy.Env, Gate: g.Env,
			User: "gatesworn", Shell: m.job.Shell, Home: m.place.home, Temp: m.place.temp,
			Path: &runner.PathRules{Outside: m.writable()},
		})
	}
	first, err := build(ledger.Gate{})
	if err != nil {
		return err
	}
	if len(first.PathDropped) > 0 {
		m.warn("left out of PATH, because the code under test can write there: %s", strings.Join(first.PathDropped, ", "))
	}
	m.job.Env = func(g ledger.Gate) []string {
		r, err := build(g)
		if err != nil {
			return nil // an empty environment: nothing leaks, the check fails
		}
		return r.Vars
	}
	m.job.Path = valueOf(first.Vars, "PATH")
	m.job.Unpassed = func(g ledger.Gate, output string) []string {
		var names []string
		for _, v := range runner.NotPassedOn([]byte(output), m.host.Env, m.job.Env(g)) {
			if v.Nameable {
				names = append(names, v.Name)
			}
		}
		return names
	}
	return nil
}

func valueOf(vars []string, name string) string {
	for _, v := range vars {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// writable are the folders whose programs the code under test could have put there.
func (m *measurement) writable() []string {
	var out []string
	for _, name := range []string{"GITHUB_WORKSPACE", "RUNNER_TEMP", "HOME"} {
		if dir := m.env(name); dir != "" && dir != "/" {
			out = append(out, dir)
		}
	}
	return append(out, m.place.work, m.place.home, m.place.temp)
}

// preview says on the first, red run what would be signed once it is merged.
func (m *measurement) preview(ctx context.Context, r gates.Report, sources []gates.Source) gates.Report {
	later, err := m.pr.Preview(ctx)
	if err != nil || later.Root.State != approval.RootValid {
		return r
	}
	for i := range r.Ledgers {
		at := slices.IndexFunc(sources, func(s gates.Source) bool { return s.Path == r.Ledgers[i].Path })
		for j := range r.Ledgers[i].Gates {
			if at < 0 || j >= len(sources[at].Doc.Gates) {
				continue
			}
			perm, err := later.Permit(ctx, gates.GateRef{Ledger: r.Ledgers[i].Path, Gate: sources[at].Doc.Gates[j]})
			if err == nil {
				r.Ledgers[i].Gates[j].Approval = perm.Approval
			}
		}
	}
	return r
}

// headOf is the commit that a result belongs to, as far as the event says.
func headOf(e Event) string {
	if e.Head != "" {
		return e.Head
	}
	return e.Commit
}
