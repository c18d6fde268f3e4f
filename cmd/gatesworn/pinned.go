package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/approval/allowlist"
	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/internal/gitobj"
)

// vouch finds the signatures that count beside this user's own approvals: those of
// a root that is pinned on this machine. Without a pin they approve nothing here,
// and one line says so. Trouble with them never stops a local check: it only
// leaves them out, with the reason.
func (s *session) vouch(ctx context.Context, say bool) {
	if !s.work.HasPolicy || s.work.Git == nil {
		return
	}
	if _, err := s.work.Git.Head(); err != nil {
		return
	}
	trust, err := s.work.TrustRef(ctx, "")
	if errors.Is(err, gitobj.ErrNotFound) && s.place("").Remote == "" {
		// No remote: the pin that init wrote names the very rules and signers, so that
		// it does not matter which commit they are read from.
		trust, err = s.work.TrustRef(ctx, "HEAD")
	}
	if err != nil {
		s.app.warn("signatures do not count here: %v", err)
		return
	}
	root := approval.ReadTrustRoot(trust.Ref, trust.Commit, trust.Tree, allowlist.Formats{})
	pin, pinErr := s.pin(root.Policy.Project)
	if s.peer, err = s.work.JudgeHead(ctx, trust, s.app.now(), true, pin.Revoked); err != nil {
		s.peer = nil
		s.app.warn("signatures do not count here: %v", err)
		return
	}
	if root.State != approval.RootValid {
		return
	}
	switch {
	case s.flags.shell.set || s.flags.timeout.set || s.flags.env.value == "inherit" || s.app.noShell("") != nil:
		return // what was signed is for the policy's shell, time limit and environment
	case errors.Is(pinErr, approval.ErrNoPin):
		if say {
			fmt.Fprintf(s.app.err, "gatesworn: note: the signers of %s are not pinned on this machine, so that only your own approvals count; next: gatesworn trust\n", trust.Ref)
		}
		return
	case pinErr != nil:
		return // said by pin
	}
	if err := pin.Check(root); err != nil {
		s.app.warn("%v, so that only your own approvals count; next: gatesworn trust", err)
		return
	}
	s.remember(ctx, pin, s.peer)
	s.pinned = true
}

// asPinned takes shell, environment and the report's trust from the pinned root.
func (s *session) asPinned() {
	if !s.pinned {
		return
	}
	root := s.peer.Root
	s.job.Shell = root.Policy.Shell
	s.work.Policy.Env = root.Policy.Env
	s.job.Base.Trust = gates.Trust{
		Mode: gates.TrustPinned, Ref: root.Ref, Commit: root.Commit, Signers: root.Principals, PolicySHA256: root.PolicySHA256,
	}
}

// wants says what a pull request would still need, so that nobody takes a local
// verdict for the pull request's.
func (s *session) wants() []string {
	switch {
	case s.flags.asPR.on || !s.work.HasPolicy:
		return nil
	case s.peer == nil:
		return []string{"not judged here: commit, fetch the default branch, then gatesworn check --as-pr"}
	}
	return s.peer.Wants(s.job.Sources)
}
