package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gatesworn/gatesworn/action/judge"
	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/approval/allowlist"
	"github.com/gatesworn/gatesworn/internal/escape"
)

func newTrust(a *app) *cobra.Command {
	f := checkFlags{root: text{kind: "DIR"}}
	cmd := &cobra.Command{
		Use:   "trust",
		Short: "Pin this repository's signers for use on this machine",
		Long: `Reads .gatesworn/ at the remote's default branch, shows who may sign, and asks.
After a yes, commands that those people signed run here without asking, in a
clean environment, until the signers or the rules change. It asks on a terminal
only, and nothing is run.

Exit status: 0 pinned, or pinned already · 1 declined, or no terminal · 2 it cannot be known.`,
		Example: `  git fetch && gatesworn trust`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.trust(cmd.Context(), f)
		},
	}
	cmd.Flags().Var(&f.root, "root", "the repository (default: this folder)")
	return cmd
}

func (a *app) trust(ctx context.Context, f checkFlags) error {
	s := &session{app: a, flags: f}
	defer s.close()
	if err := s.open(); err != nil {
		return err
	}
	at, err := s.work.TrustRef(ctx, "")
	if err != nil {
		return withHint(err, "git fetch && git remote set-head origin --auto")
	}
	root := approval.ReadTrustRoot(at.Ref, at.Commit, at.Tree, allowlist.Formats{})
	if root.State == approval.RootMissing {
		return withHint(fmt.Errorf("%s has no .gatesworn/ with a policy and a signer", at.Ref), "gatesworn init --github")
	}
	if root.State != approval.RootValid {
		return fmt.Errorf("%w at %s: %w", judge.ErrRoot, at.Ref, root.Err)
	}
	place := s.place(root.Policy.Project)
	pins, err := a.pinFolder()
	if err != nil {
		return err
	}
	pin, err := approval.NewPin(place, root, approval.RemoteDefault{Ref: at.Ref, Commit: at.Commit}, a.now())
	if err != nil {
		return err
	}
	old, err := approval.LoadPin(pins, place)
	if err == nil && old.Check(root) == nil {
		fmt.Fprintf(a.out, "pinned already: %s of %s\n", strings.Join(root.Principals, " "), at.Ref)
		return nil
	}
	if err != nil && !errors.Is(err, approval.ErrNoPin) {
		return err
	}
	if err := a.askTrust(root, old, err == nil); err != nil {
		return err
	}
	if err := approval.SavePin(ctx, pins, pin); err != nil {
		return fmt.Errorf("cannot write the pin: %w", err)
	}
	fmt.Fprintln(a.out, "pinned; nothing was run\nnext: gatesworn check")
	return nil
}

// askTrust shows whom a yes would trust; what differs from an earlier pin comes first.
func (a *app) askTrust(root approval.TrustRoot, old approval.Pin, again bool) error {
	signers, err := allowlist.ParseSigners(approval.SignersPath, root.Signers)
	if err != nil {
		return err
	}
	w := a.out
	if again {
		fmt.Fprintf(w, "pinned on %s: %s\n", old.PinnedAt.Format("2006-01-02"), strings.Join(old.Principals, " "))
		if err := old.Check(root); err != nil {
			fmt.Fprintf(w, "now differs: %s\n", escape.LogLine(err.Error()))
		}
	}
	fmt.Fprintf(w, "project %s at %s %s, %s may approve commands that then run here without asking:\n",
		short(root.Policy.Project, 8), root.Ref, cut(root.Commit), count(len(root.Principals), "signer"))
	for _, s := range signers.List() {
		fmt.Fprintf(w, "  %s  %s%s\n", s.Principal, s.Fingerprint, validity(s))
	}
	if root.Policy.Threshold > 1 {
		fmt.Fprintf(w, "  %d of them for each approval\n", root.Policy.Threshold)
	}
	if !terminal(a.in) {
		return noTerminal("gatesworn trust")
	}
	answer, err := a.question().ask("Pin these signers on this machine? [y/N]")
	if err != nil {
		return err
	}
	if !yes(answer) {
		return &exitError{code: 1, err: errDeclined}
	}
	return nil
}

func validity(s allowlist.Signer) string {
	text := ""
	if !s.ValidAfter.IsZero() {
		text += " from " + s.ValidAfter.UTC().Format("2006-01-02")
	}
	if !s.ValidBefore.IsZero() {
		text += " until " + s.ValidBefore.UTC().Format("2006-01-02")
	}
	return text
}

// pinFolder is where this user's pins are.
func (a *app) pinFolder() (string, error) {
	state, err := a.stateFolder()
	return filepath.Join(state, "pins"), err
}

func short(s string, n int) string { return s[:min(n, len(s))] }
