package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gatesworn/gatesworn/action/judge"
	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/approval/allowlist"
	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/internal/escape"
	"github.com/gatesworn/gatesworn/internal/safefile"
)

func newApprovals(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "approvals list|verify|prune",
		Short: "Look after the signed approvals of this repository",
		Long: `list    every approval of HEAD: who signed, when, for what, and whether it counts
verify  check every approval and signature of HEAD
prune   delete approvals that no gate of HEAD needs, and revoke them, so that
        nobody can bring them back; a signer then signs that: gatesworn sign

Exit status: 0 done · 1 verify found a malformed or badly signed approval · 2 it cannot be known.`,
		Example: `  gatesworn approvals list
  gatesworn approvals verify`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return withHint(fmt.Errorf("approvals has no %q", args[0]), "gatesworn approvals list")
			}
			return withHint(errors.New("approvals needs list, verify or prune"), "gatesworn approvals list")
		},
		Args: cobra.ArbitraryArgs,
	}
	for _, sub := range []struct {
		name, short string
		run         func(*approvals) error
	}{
		{"list", "List the approvals of HEAD and whether they count", (*approvals).list},
		{"verify", "Check every approval and signature of HEAD", (*approvals).verify},
		{"prune", "Delete and revoke approvals that no gate needs", (*approvals).prune},
	} {
		f := checkFlags{root: text{kind: "DIR"}, trustRef: text{kind: "REF"}}
		c := &cobra.Command{
			Use: sub.name, Short: sub.short, Args: noArguments,
			RunE: func(cmd *cobra.Command, _ []string) error { return a.approvals(cmd.Context(), f, sub.run) },
		}
		c.Flags().Var(&f.root, "root", "the repository (default: this folder)")
		c.Flags().Var(&f.trustRef, "trust-ref", "the ref whose signers count (default origin/HEAD)")
		cmd.AddCommand(c)
	}
	return cmd
}

// approvals is one call of a sub-command.
type approvals struct {
	*session
	pull    *judge.PullRequest
	sources []gates.Source
	all     []approval.Statement
}

func (a *app) approvals(ctx context.Context, f checkFlags, do func(*approvals) error) error {
	s := &approvals{session: &session{app: a, flags: f}}
	defer s.close()
	if err := s.open(); err != nil {
		return err
	}
	if err := s.read(ctx); err != nil {
		return err
	}
	return do(s)
}

// read judges HEAD; every sub-command needs signers to judge by.
func (s *approvals) read(ctx context.Context) (err error) {
	if s.work.Git == nil {
		return withHint(fmt.Errorf("%s is no git repository", s.work.Top), "git init")
	}
	if s.pull, err = s.judgeHere(ctx); err != nil {
		return err
	}
	if s.pull.Root.State != approval.RootValid {
		return withHint(fmt.Errorf("%s has no .gatesworn/ with a policy and a signer", s.pull.Root.Ref), "gatesworn init --github")
	}
	if s.sources, err = s.pull.Sources(nil); err != nil {
		return err
	}
	s.all, err = s.pull.Statements()
	return err
}

func (s *approvals) list() error {
	w := s.app.out
	if len(s.all) == 0 {
		fmt.Fprintln(w, "no approvals\nnext: gatesworn sign")
		return nil
	}
	for _, st := range s.all {
		state := s.pull.Standing(st)
		fmt.Fprintf(w, "%s  %s  %-12s  %s\n", short(strings.TrimPrefix(st.ID, "sha256:"), 12), dated(st), escape.LogLine(state), escape.LogLine(about(st)))
	}
	return nil
}

func dated(st approval.Statement) string {
	if st.IssuedAt.IsZero() {
		return "no date   "
	}
	return st.IssuedAt.UTC().Format("2006-01-02")
}

// about says in a few words what a statement says.
func about(st approval.Statement) string {
	var parts []string
	add := func(word string, oracles []approval.Oracle) {
		var names []string
		for n, o := range oracles {
			if n == 4 && len(oracles) > 5 {
				names = append(names, fmt.Sprintf("and %d more", len(oracles)-n))
				break
			}
			names = append(names, o.Ledger+":"+o.Gate)
		}
		if len(names) > 0 {
			parts = append(parts, word+" "+strings.Join(names, " "))
		}
	}
	add("approves", st.Approve)
	add("drops", st.Retire)
	for _, e := range st.Evidence {
		parts = append(parts, "evidence of "+e.Ledger+":"+e.Gate)
	}
	if st.Root != nil {
		parts = append(parts, "rules and signers")
	}
	if len(parts) == 0 {
		return st.Path
	}
	return strings.Join(parts, ", ")
}

// verify names every approval with anything wrong in its bytes or signatures. That
// one has expired or was revoked is not wrong.
func (s *approvals) verify() error {
	w := s.app.out
	bad := 0
	for _, st := range s.all {
		for _, fault := range faults(st) {
			bad++
			fmt.Fprintf(w, "BAD %s: %s\n", escape.LogLine(st.Path), escape.LogLine(fault))
		}
	}
	stray := s.pull.Stray()
	for _, path := range stray {
		fmt.Fprintf(w, "note %s is no approval and no signature of one; it counts for nothing\n", escape.LogLine(path))
	}
	if bad > 0 {
		fmt.Fprintf(w, "%s of %d; next: git log --oneline -- .gatesworn/approvals\n", count(bad, "fault"), len(s.all))
		return status(1)
	}
	fmt.Fprintf(w, "%s, all well formed and signed by listed keys\n", count(len(s.all), "approval"))
	return nil
}

func faults(st approval.Statement) []string {
	if st.Fault != "" {
		return []string{st.Fault}
	}
	if len(st.Signatures) == 0 {
		return []string{"nobody signed it"}
	}
	var out []string
	for _, g := range st.Signatures {
		if g.Fault != "" {
			out = append(out, "a signature does not count: "+g.Fault)
		}
	}
	return out
}

// prune deletes statements of which no gate of HEAD needs anything and revokes
// them. Without the revocation anybody could bring an old version back: adding an
// approval file is no change of the rules, and what replaced it would be gone.
func (s *approvals) prune() error {
	needed, err := s.pull.Needed(s.sources)
	if err != nil {
		return err
	}
	var ids, gone []string
	for _, st := range s.all {
		if needed[st.ID] {
			continue
		}
		ids = append(ids, st.ID)
		gone = append(gone, st.Path)
		gone = append(gone, s.pull.SignaturesOf(st.Path)...)
	}
	w := s.app.out
	if len(ids) == 0 {
		fmt.Fprintln(w, "nothing to prune: every approval is needed")
		return nil
	}
	if err := s.revokeAll(ids, "pruned: no gate needs them"); err != nil {
		return err
	}
	for _, path := range gone {
		if err := os.Remove(filepath.Join(s.work.Top, filepath.FromSlash(path))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		fmt.Fprintf(w, "deleted %s\n", escape.LogLine(path))
	}
	fmt.Fprintf(w, "revoked %s in %s\nnext: git add -A .gatesworn && git commit -m prune && gatesworn sign\n", count(len(ids), "approval"), approval.RevokedPath)
	return nil
}

// revokeAll adds lines to revoked. Nothing is ever taken out of it.
func (s *session) revokeAll(digests []string, why string) error {
	path := approval.RevokedPath
	file, err := safefile.ReadBeneath(s.work.Top, path, approval.MaxRootFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	have, err := allowlist.ParseRevoked(path, file.Data)
	if err != nil {
		return err
	}
	text := string(file.Data)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	text += "# " + s.app.now().UTC().Format("2006-01-02") + " " + escape.Line(why) + "\n"
	added := 0
	for _, d := range digests {
		if !slices.Contains(have, d) {
			text += d + "\n"
			added++
		}
	}
	if added == 0 {
		return nil
	}
	if _, err := allowlist.ParseRevoked(path, []byte(text)); err != nil {
		return err
	}
	return safefile.ReplaceBeneath(s.work.Top, path, []byte(text), 0o644)
}
