package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/gates/scope/plan"
)

// collectLate is a garbage collector's target, in percent of what is in use.
const collectLate = 400

func newPlan(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Plan work: matrix for CI shards, next for a scope's tasks",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withHint(errors.New("plan needs matrix or next"), "gatesworn help plan")
		},
	}
	cmd.AddCommand(newPlanMatrix(a), newPlanNext(a))
	return cmd
}

func newPlanMatrix(a *app) *cobra.Command {
	f := checkFlags{root: text{kind: "DIR"}, scope: text{kind: "ID"}, trustRef: text{kind: "REF"}}
	shards := number{low: 1, high: gates.MaxShards}
	cmd := &cobra.Command{
		Use:   "matrix --shards N [LEDGER…]",
		Short: "Print a matrix of shards for the Actions strategy",
		Long: `Divides the gates into at most N shards of about the same duration, as far as
durations were recorded on this machine, and prints them as JSON for the Actions
strategy.matrix. Gates that need each other, or whose READS and WRITES conflict,
stay together. Each entry has shard (for check --shard), part, parts, gates and
seconds. Nothing is run.

Exit status: 0 · 2 there is nothing to divide.`,
		Example: `  gatesworn plan matrix --shards 4 --as-pr >> "$GITHUB_OUTPUT"   # after printf matrix=`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !shards.set {
				return withHint(errors.New("plan matrix needs --shards"), "gatesworn plan matrix --shards 4")
			}
			if f.trustRef.set && !f.asPR.on {
				return usage("--trust-ref needs --as-pr")
			}
			return a.planMatrix(cmd.Context(), f, shards.value, args)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.Var(&shards, "shards", fmt.Sprintf("how many machines, 1 to %d", gates.MaxShards))
	addToggle(fs, &f.asPR, "as-pr", "the gates that check --as-pr judges: HEAD's")
	fs.Var(&f.trustRef, "trust-ref", "with --as-pr: the ref whose signers count (default origin/HEAD)")
	fs.Var(&f.scope, "scope", "the scope in .unlazy/")
	fs.Var(&f.root, "root", "where to look for ledgers (default: this folder)")
	return cmd
}

// matrixEntry is one job of the matrix.
type matrixEntry struct {
	Shard   string `json:"shard"` // for check --shard
	Part    int    `json:"part"`
	Parts   int    `json:"parts"`
	Gates   int    `json:"gates"`
	Seconds int    `json:"seconds"` // expected, one check after another
}

func (a *app) planMatrix(ctx context.Context, f checkFlags, shards int, args []string) error {
	s := &session{app: a, flags: f, args: args}
	defer s.close()
	if err := s.open(); err != nil {
		return err
	}
	if err := s.sources(ctx); err != nil {
		return err
	}
	if len(s.job.Only) > 0 {
		return usage("plan matrix divides ledgers, not single gates")
	}
	if s.findings() {
		return status(2)
	}
	d, err := gates.Divide(s.job.Sources, shards, s.expected())
	if err != nil {
		return err
	}
	var m struct {
		Include []matrixEntry `json:"include"`
	}
	for i, p := range d.Parts {
		m.Include = append(m.Include, matrixEntry{
			Shard: fmt.Sprintf("%d/%d:%s", i+1, len(d.Parts), d.Deal), Part: i + 1, Parts: len(d.Parts),
			Gates: p.Gates, Seconds: int(math.Ceil(p.Expected.Round(time.Millisecond).Seconds())),
		})
	}
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s\n", data)
	return err
}

// sources loads the ledgers that check, or check --as-pr, would judge.
func (s *session) sources(ctx context.Context) error {
	if !s.flags.asPR.on {
		return s.load(ctx)
	}
	p, err := s.pullRequest(ctx, s.app.now())
	if err != nil {
		return err
	}
	files, names := s.split()
	s.job.Only = names
	s.job.Sources, err = p.Sources(files)
	return err
}

func newPlanNext(a *app) *cobra.Command {
	var name, root text
	name.kind, root.kind = "ID", "DIR"
	slots := number{low: 1, high: plan.MaxSlots}
	cmd := &cobra.Command{
		Use:   "next --scope ID --slots N",
		Short: "Say which tasks of a scope may start now",
		Long: `Reads PLAN.md, ACCESS.json, ledgers, waves and leases of a scope and prints, as
JSON, which tasks to launch now, which wait and why, and what a person must look
at first. Nothing is written: claim a task's lease before you start it.

Exit status: 0 · 1 review is asked · 2 the plan cannot be read.`,
		Example: `  gatesworn plan next --scope demo --slots 4`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !name.set || !slots.set {
				return withHint(errors.New("plan next needs --scope and --slots"), "gatesworn plan next --scope ID --slots 4")
			}
			top, err := a.root(root.value)
			if err != nil {
				return err
			}
			// It reads thousands of small files and ends: collecting early is wasted.
			defer debug.SetGCPercent(debug.SetGCPercent(collectLate))
			answer, err := plan.Next(cmd.Context(), top, name.value, slots.value)
			if err != nil {
				return withHint(err, "gatesworn scope list")
			}
			if _, err := fmt.Fprintf(a.out, "%s\n", answer.JSON()); err != nil {
				return err
			}
			if len(answer.Review) > 0 {
				return status(1)
			}
			return nil
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.Var(&name, "scope", "the scope in .unlazy/")
	fs.Var(&slots, "slots", fmt.Sprintf("how many workers there are, 1 to %d", plan.MaxSlots))
	fs.Var(&root, "root", "the folder that holds .unlazy/ (default: this folder)")
	return cmd
}
