package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gatesworn/gatesworn/action/doctor"
	"github.com/gatesworn/gatesworn/action/judge"
	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/internal/escape"
	"github.com/gatesworn/gatesworn/internal/safefile"
)

// maxOwners is the largest CODEOWNERS that GitHub reads, in bytes (docs: about code owners).
const maxOwners = 3 << 20

func newDoctor(a *app) *cobra.Command {
	root := text{kind: "DIR"}
	ref := text{kind: "REF"}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what makes the required check weaker than it looks",
		Long: `Looks at the workflows, the code owners, the trust root and Prettier's ignore file of
this repository. It runs nothing and asks no API: rulesets, and who may bypass them,
are for you to look at.

Exit status: 0 nothing found · 1 something is weak · 2 something could not be looked at.`,
		Example: `  gatesworn doctor`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.doctor(cmd.Context(), root, ref.value)
		},
	}
	cmd.Flags().Var(&root, "root", "the repository (default: this folder)")
	cmd.Flags().Var(&ref, "trust-ref", "the ref whose root counts (default origin/HEAD)")
	return cmd
}

func (a *app) doctor(ctx context.Context, root text, ref string) error {
	dir, err := a.root(root.value)
	if err != nil {
		return err
	}
	work, err := judge.Open(dir)
	if err != nil {
		return err
	}
	defer work.Close()
	r, err := examined(ctx, work, ref, a)
	if err != nil {
		return err
	}
	return a.diagnosis(doctor.Examine(r))
}

// diagnosis prints one line for each finding, and what was looked at.
func (a *app) diagnosis(r doctor.Result) error {
	for _, f := range r.Weak {
		where := ""
		if f.Path != "" {
			where = f.Path + ": "
		}
		fmt.Fprintf(a.out, "weak  %s   next: %s\n", escape.LogLine(where+f.Text), escape.LogLine(f.Next))
	}
	for _, u := range r.Unknown {
		fmt.Fprintf(a.out, "could not look at %s\n", escape.LogLine(u))
	}
	if len(r.Looked) > 0 {
		fmt.Fprintf(a.out, "ok    %s\n", strings.Join(r.Looked, ", "))
	}
	_, err := fmt.Fprintln(a.out, `not looked at: rulesets; require a review from Code Owners and the job "gatesworn", and let nobody bypass them`)
	switch {
	case err != nil:
		return err
	case len(r.Unknown) > 0:
		return status(2)
	case len(r.Weak) > 0:
		return status(1)
	}
	return nil
}

// examined reads what doctor looks at.
func examined(ctx context.Context, work *judge.Workspace, ref string, a *app) (doctor.Repository, error) {
	r := doctor.Repository{Workflows: map[string][]byte{}, Ledgers: []string{ledgerName}}
	names, err := fs.Glob(os.DirFS(work.Top), ".github/workflows/*.y*ml")
	if err != nil {
		return r, err
	}
	for _, name := range names {
		file, err := safefile.ReadBeneath(work.Top, name, doctor.MaxWorkflow)
		if err != nil {
			return r, fmt.Errorf("cannot read a workflow: %w", err)
		}
		r.Workflows[name] = file.Data
	}
	for _, name := range []string{".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"} { // GitHub's order
		file, err := safefile.ReadBeneath(work.Top, name, maxOwners)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return r, fmt.Errorf("cannot read the code owners: %w", err)
		}
		r.CodeOwners = append([]byte{}, file.Data...)
		break
	}
	prettier, err := filepath.Glob(filepath.Join(work.Top, ".prettierrc*"))
	if err != nil {
		return r, err
	}
	r.Prettier = len(prettier) > 0
	if file, err := safefile.ReadBeneath(work.Top, ".prettierignore", maxOwners); err == nil {
		r.Prettier, r.PrettierIgnore = true, file.Data
	}
	if work.HasPolicy {
		r.Ledgers = plainPaths(work.Policy.Ledgers)
	}
	examinedRoot(ctx, work, ref, a, &r)
	return r, nil
}

// examinedRoot reads the root where pull requests are judged by; where that is not
// known, the zero value says so.
func examinedRoot(ctx context.Context, work *judge.Workspace, ref string, a *app, r *doctor.Repository) {
	trust, err := work.TrustRef(ctx, ref)
	if err != nil {
		return
	}
	r.Default = path.Base(trust.Ref)
	p, err := work.JudgeHead(ctx, trust, a.now(), false, nil)
	if p == nil {
		r.Root = approval.TrustRoot{Ref: trust.Ref, State: approval.RootBroken, Err: err}
		return
	}
	r.Root = p.Root
	if err != nil && r.Root.State != approval.RootBroken {
		r.Root = r.Root.Break(err)
	}
	r.RootBehind = r.Root.State == approval.RootValid && p.Change.Compared && p.Change.Changed()
}

// plainPaths are the patterns that name one file.
func plainPaths(patterns []string) []string {
	var out []string
	for _, p := range patterns {
		if !strings.ContainsAny(p, "*?[{") {
			out = append(out, p)
		}
	}
	return out
}
