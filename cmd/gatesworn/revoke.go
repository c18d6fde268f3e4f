package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/approval/allowlist"
	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/internal/escape"
	"github.com/gatesworn/gatesworn/internal/safefile"
)

func newRevoke(a *app) *cobra.Command {
	f := checkFlags{root: text{kind: "DIR"}, trustRef: text{kind: "REF"}}
	cmd := &cobra.Command{
		Use:   "revoke DIGEST|GATE",
		Short: "Make an approval, or a gate's definition, count no more",
		Long: `Adds a line to .gatesworn/revoked. DIGEST is an approval's or a definition's, in
full or the beginning that "approvals list" and "explain" show; GATE means the
definition that HEAD holds. A revocation is never taken back by gatesworn: change
the gate and have it signed again. It counts as soon as the line is in the judged
commit or on the default branch.

Exit status: 0 revoked, or revoked already · 2 it cannot be done.`,
		Example: `  gatesworn revoke GATES:G4
  gatesworn revoke 77aa01bc55e1`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return withHint(fmt.Errorf("revoke needs one digest or gate, got %d", len(args)), "gatesworn approvals list")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.revoke(cmd.Context(), f, args[0])
		},
	}
	cmd.Flags().Var(&f.root, "root", "the repository (default: this folder)")
	cmd.Flags().Var(&f.trustRef, "trust-ref", "the ref whose signers count (default origin/HEAD)")
	return cmd
}

func (a *app) revoke(ctx context.Context, f checkFlags, what string) error {
	s := &approvals{session: &session{app: a, flags: f}}
	defer s.close()
	if err := s.open(); err != nil {
		return err
	}
	if !s.work.HasPolicy {
		return withHint(errors.New("there is no .gatesworn/ here, and nothing signed to revoke"), "gatesworn init --github")
	}
	digest, name := what, "a digest given in full"
	if !fullDigest(what) {
		if err := s.read(ctx); err != nil {
			return err
		}
		var err error
		if digest, name, err = s.named(what); err != nil {
			return err
		}
	}
	if already, err := s.revoked(digest); err != nil {
		return err
	} else if already {
		fmt.Fprintf(a.out, "revoked already: %s\n", digest)
		return nil
	}
	if err := s.revokeAll([]string{digest}, name); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "revoked %s (%s)\nnext: git add %s && git commit -m revoke && git push\n", digest, escape.LogLine(name), approval.RevokedPath)
	return nil
}

func fullDigest(s string) bool {
	hex, ok := strings.CutPrefix(s, "sha256:")
	return ok && len(hex) == 64 && strings.Trim(hex, "0123456789abcdef") == ""
}

func (s *session) revoked(digest string) (bool, error) {
	file, err := safefile.ReadBeneath(s.work.Top, approval.RevokedPath, approval.MaxRootFile)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	have, err := allowlist.ParseRevoked(approval.RevokedPath, file.Data)
	return slices.Contains(have, digest), err
}

// minPrefix is how much of a digest names it, in hexadecimal digits.
const minPrefix = 8

// named finds what a short digest or a gate means.
func (s *approvals) named(what string) (digest, name string, err error) {
	found := map[string]string{}
	if prefix := strings.TrimPrefix(what, "sha256:"); len(prefix) >= minPrefix && strings.Trim(prefix, "0123456789abcdef") == "" {
		for _, st := range s.all {
			if strings.HasPrefix(st.ID, "sha256:"+prefix) {
				found[st.ID] = "the approval " + st.Path
			}
			for _, o := range slices.Concat(st.Approve, st.Retire) {
				if d := o.Digest(); d != "" && strings.HasPrefix(d, "sha256:"+prefix) {
					found[d] = "definition of " + o.Ledger + ":" + o.Gate
				}
			}
		}
	} else {
		paths := make([]string, len(s.sources))
		for i := range s.sources {
			paths[i] = s.sources[i].Path
		}
		for i, stem := range gates.Names(paths) {
			for _, g := range s.sources[i].Doc.Gates {
				if !slices.Contains([]string{stem + ":" + g.ID, paths[i] + ":" + g.ID, g.ID}, what) {
					continue
				}
				o, _ := s.pull.Decide(gates.GateRef{Ledger: paths[i], Gate: g})
				if d := o.Digest(); d != "" {
					found[d] = "definition of " + paths[i] + ":" + g.ID
				}
			}
		}
	}
	if len(found) != 1 {
		return "", "", withHint(fmt.Errorf("%q names %d approvals or definitions of HEAD, not one", what, len(found)), "gatesworn approvals list")
	}
	for digest, name = range found {
	}
	return digest, name, nil
}
