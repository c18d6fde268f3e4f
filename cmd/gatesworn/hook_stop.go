package main

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/spf13/cobra"

	"github.com/gatesworn/gatesworn/action/judge"
	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/approval/store"
	"github.com/gatesworn/gatesworn/gates/hook"
	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/gatesworn/gatesworn/gates/scope"
	"github.com/gatesworn/gatesworn/internal/safefile"
)

// newHookStop makes the command that Claude Code runs when its agent wants to stop.
// Its status is 0 whatever happens: 2 would hold the agent, on an entry of another
// version just as well.
func newHookStop(a *app) *cobra.Command {
	id := text{kind: "ID"}
	cmd := &cobra.Command{
		Use: "stop", Short: "Answer an agent that wants to stop; run no check", Args: cobra.ArbitraryArgs,
		Long: `Reads the Stop hook's JSON on standard input. While gates are unmet or waves are open
it prints {"decision":"block","reason":…}; after six blocks in a row without a gate met
or a wave resolved it lets go. It runs no check. What it cannot read lets the agent go.

Exit status: always 0.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				a.warn("hook stop takes no argument; ignored")
			}
			a.hookStop(cmd.Context(), id.value)
			return nil
		},
	}
	cmd.Flags().Var(&id, "scope", "the scope whose gates hold the agent")
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		a.warn("%v; the agent may stop", flagError(cmd, err))
		return &exitError{} // status 0
	})
	return cmd
}

func (a *app) hookStop(ctx context.Context, id string) {
	dir, err := a.dir()
	if err != nil {
		dir = ""
	}
	state, err := a.stateFolder()
	if err == nil {
		err = safefile.PrivateDir(state)
	}
	if err != nil {
		state = "" // the ledgers can be read all the same
	}
	p := people{app: a, at: map[string]*judge.Local{}}
	defer p.close()
	s := hook.Stop{
		Dir: dir, Scope: id, Env: a.getenv("UNLAZY_SCOPE"), StateDir: state, Now: a.now,
		NeedsPerson: func(root, path string, g ledger.Gate) bool { return p.wait(ctx, root, path, g) },
		Policy:      workPolicy,
	}
	if line := s.Answer(ctx, a.in).JSON(); line != nil {
		fmt.Fprintln(a.out, string(line))
	}
}

// workPolicy reads the policy of the tree at root; a broken one names no ledgers.
func workPolicy(root string) *scope.Policy {
	file, err := safefile.ReadBeneath(root, approval.PolicyPath, approval.MaxPolicy)
	if err != nil {
		return nil
	}
	p, err := approval.ParsePolicy(approval.PolicyPath, file.Data)
	if err != nil {
		return nil
	}
	return &scope.Policy{Ledgers: p.Ledgers, Tasks: p.Tasks}
}

// people tells which gates wait for somebody's approval.
type people struct {
	app *app
	mu  sync.Mutex // an answer that took too long may still be looking
	at  map[string]*judge.Local
}

func (p *people) wait(ctx context.Context, root, path string, g ledger.Gate) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	local, ok := p.at[root]
	if !ok {
		local = p.open(ctx, root)
		p.at[root] = local
	}
	if local == nil {
		return false
	}
	rel, err := filepath.Rel(local.Workspace.Top, filepath.Join(local.Workspace.Root, filepath.FromSlash(path)))
	return err == nil && local.Waits(ctx, filepath.ToSlash(rel), g)
}

// open finds this user's approvals; nil where that cannot be done: then no gate is
// said to wait.
func (p *people) open(ctx context.Context, root string) *judge.Local {
	work, err := judge.Open(root)
	if err != nil {
		return nil
	}
	s := &session{app: p.app, root: root, work: work}
	local, err := s.approvals(ctx)
	if err != nil {
		_ = work.Close()
		return nil
	}
	return local
}

// approvals is the permit of a check without options, for asking only.
func (s *session) approvals(ctx context.Context) (*judge.Local, error) {
	shell, err := s.app.shell("")
	if err != nil {
		return nil, err
	}
	dir, err := s.app.approvalFolder()
	if err != nil {
		return nil, err
	}
	st, err := store.Open(dir, s.work.Top)
	if err != nil {
		return nil, err
	}
	s.job.Shell = shell
	s.vouch(ctx, false)
	s.asPinned()
	local := &judge.Local{
		Workspace: s.work, Store: st, Shell: s.job.Shell, Timeout: defaultTimeout, Path: s.app.getenv("PATH"), Now: s.app.now(),
	}
	if s.pinned {
		local.Signed = s.peer
	}
	return local, nil
}

func (p *people) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.at {
		if l != nil {
			_ = l.Workspace.Close()
		}
	}
}
