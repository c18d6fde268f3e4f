package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gatesworn/gatesworn/gates/scope"
	"github.com/gatesworn/gatesworn/internal/escape"
)

// conflicting is the exit status of a claim that is refused.
const conflicting = 3

func newScopeClaim(a *app) *cobra.Command {
	p, leaf := newPlace(), text{kind: "NAME"}
	cmd := &cobra.Command{
		Use: "claim", Short: "Take the lease of what a leaf owns", Args: noArguments,
		Long: `Takes the lease of the paths in the OWNS lines of the leaf's ledger. Of any number
of processes that claim overlapping paths one gets them. Two globs are disjoint only
if a literal part differs before the first wildcard; everything else overlaps.

Exit status: 0 claimed · 2 it cannot be done · 3 somebody holds an overlapping lease.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			tree, id, err := a.placed(cmd, p)
			if err != nil {
				return err
			}
			name, globs, err := tree.Owned(id, leaf.value)
			if err != nil {
				return a.leafTrouble(err, cmd)
			}
			lease, err := tree.Claim(cmd.Context(), id, name, globs)
			if refused := (*scope.ConflictError)(nil); errors.As(err, &refused) {
				for _, c := range refused.Conflicts {
					fmt.Fprintln(a.out, escape.Line(c.String()))
				}
				fmt.Fprintln(a.out, refused.Error())
				return status(conflicting)
			}
			if err != nil {
				return locked(err)
			}
			_, err = fmt.Fprintf(a.out, "CLAIMED %d path(s) for %s/%s: %s\n", len(globs), id, name, paths(lease.Globs))
			return err
		},
	}
	p.options(cmd)
	cmd.Flags().Var(&leaf, "leaf", "the leaf's ledger, without folder and .md (default: the only one)")
	return cmd
}

func newScopeRelease(a *app) *cobra.Command {
	p, leaf := newPlace(), text{kind: "NAME"}
	cmd := &cobra.Command{
		Use: "release", Short: "Give a leaf's lease back, or all of the scope's", Args: noArguments,
		Long: `Gives up the lease of a leaf, or without --leaf all leases of the scope. With
--scope it works when the scope's folder is gone or its ledgers are malformed.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			tree, id, err := a.released(cmd, p)
			if err != nil {
				return err
			}
			name := leaf.value
			if name != "" {
				name = a.held(tree, id, name)
			}
			gone, err := tree.Release(cmd.Context(), id, name)
			if err != nil {
				return locked(err)
			}
			if name != "" {
				id += "/" + name
			}
			_, err = fmt.Fprintf(a.out, "released %d lease(s) for %s\n", len(gone), escape.Line(id))
			return err
		},
	}
	p.options(cmd)
	cmd.Flags().Var(&leaf, "leaf", "release only this leaf's lease")
	return cmd
}

// released is placed, but a scope that is named need not be there any more.
func (a *app) released(cmd *cobra.Command, p place) (scope.Tree, string, error) {
	if p.scope.value == "" {
		return a.placed(cmd, p)
	}
	tree, err := a.tree(p)
	return tree, p.scope.value, err
}

// held is the full name of a leaf that holds a lease: leaf-NAME may be called NAME, as in claim.
func (a *app) held(tree scope.Tree, id, leaf string) string {
	all, err := tree.Leases()
	if err != nil {
		return leaf
	}
	full := leaf
	for _, l := range all {
		switch {
		case l.Scope == id && l.Leaf == leaf:
			return leaf
		case l.Scope == id && l.Leaf == "leaf-"+leaf:
			full = l.Leaf
		}
	}
	return full
}

func newScopeLeases(a *app) *cobra.Command {
	p := newPlace()
	cmd := &cobra.Command{
		Use: "leases", Short: "List all leases, and what they own", Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			tree, err := a.tree(p)
			if err != nil {
				return err
			}
			all, err := tree.Leases()
			if err != nil {
				return err
			}
			var out strings.Builder
			for _, l := range all {
				out.WriteString(leaseLine(l, a.now()))
			}
			if len(all) == 0 {
				out.WriteString("(no leases)\n")
			}
			_, err = fmt.Fprint(a.out, out.String())
			return err
		},
	}
	p.rootOption(cmd)
	return cmd
}

// leaseLine is one lease as people read it. The claiming process has usually ended
// since: its id tells claims apart, and nothing more.
func leaseLine(l scope.Lease, now time.Time) string {
	if l.Invalid != "" {
		return fmt.Sprintf("INVALID %s: %s; it blocks every claim\n  next: look at it, then rm %s\n", escape.Line(l.File), escape.Line(l.Invalid), escape.Line(l.File))
	}
	line := fmt.Sprintf("%s/%s  %s  for %s, claimed by process %d\n", l.Scope, l.Leaf, paths(l.Globs), age(now.Sub(l.Since)), l.PID)
	if l.Gone {
		line += fmt.Sprintf("  its scope is gone; next: gatesworn scope release --scope %s\n", l.Scope)
	}
	return line
}

func paths(globs []string) string { return escape.Line(strings.Join(globs, ", ")) }

// age is a duration to its two largest units.
func age(d time.Duration) string {
	d = max(0, d)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
}

// leafTrouble says which leaf to name, or what is wrong with its ledger.
func (a *app) leafTrouble(err error, cmd *cobra.Command) error {
	if unknown := (*scope.LeafError)(nil); errors.As(err, &unknown) && len(unknown.Have) > 0 {
		return withHint(err, cmd.CommandPath()+" --leaf "+unknown.Have[0])
	}
	return a.explainLedger(err)
}

// locked adds what to do about a lock whose owner is gone. It is never stolen:
// somebody has to look at what the dead process left.
func locked(err error) error {
	held := (*scope.HeldError)(nil)
	if !errors.As(err, &held) {
		return err
	}
	if held.Dead || held.PID == 0 {
		if word, ok := escape.ShellQuote(held.File); ok {
			return withHint(err, "rm "+word)
		}
	}
	return withHint(err, "ps -p "+fmt.Sprint(held.PID)+", and try again")
}
