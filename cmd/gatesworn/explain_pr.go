package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gatesworn/gatesworn/action/judge"
	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/internal/escape"
	"github.com/gatesworn/gatesworn/internal/gitobj"
)

// maxConsidered is how many approvals explain shows.
const maxConsidered = 8

// pullRequest says what a pull request with this gate would get (9-surfaces, B7).
// ok is false where that cannot be asked: outside git, or before the first commit.
func (e *explanation) pullRequest(ctx context.Context) (s side, ok bool, err error) {
	s = side{place: "in a pull request"}
	if e.work.Git == nil {
		return s, false, nil
	}
	if _, err := e.work.Git.Head(); err != nil {
		return s, false, nil
	}
	p, err := e.judgeHere(ctx)
	if err != nil {
		return s, false, err
	}
	ref, found, err := e.committed(p)
	if err != nil {
		return s, false, err
	}
	if !found {
		s.lines = []string{"not judged: HEAD does not hold this definition", "next: git commit"}
		return s, true, nil
	}
	_, d := p.Decide(ref)
	s.allowed = d.Allowed
	word := "not signed: "
	if d.Allowed {
		word = ""
	}
	s.lines = []string{word + escape.LogLine(d.Text)}
	s.lines = append(s.lines, considered(d.Considered)...)
	if d.Next != "" {
		s.lines = append(s.lines, "next: "+escape.LogLine(d.Next))
	}
	return s, true, d.Err
}

// judgeHere judges HEAD whether or not its signers are pinned: nothing will run.
// Where nothing stands at the trust ref yet, HEAD's own signers count, as for sign.
func (s *session) judgeHere(ctx context.Context) (*judge.PullRequest, error) {
	trust, _, err := s.work.SigningTrust(ctx, s.flags.trustRef.value)
	if err != nil {
		if errors.Is(err, gitobj.ErrNotFound) {
			err = withHint(err, "git fetch && git remote set-head origin --auto")
		}
		return nil, err
	}
	root := approval.TrustRoot{}
	if s.work.HasPolicy {
		root.Policy.Project = s.work.Policy.Project
	}
	pin, _ := s.pin(root.Policy.Project) // its revocations count; without a pin there are none
	return s.work.JudgeHead(ctx, trust, s.app.now(), true, pin.Revoked)
}

// committed finds the gate in the judged commit; found is false if it differs there.
func (e *explanation) committed(p *judge.PullRequest) (ref gates.GateRef, found bool, err error) {
	sources, err := p.Sources([]string{e.src.Path})
	if err != nil {
		return ref, false, err
	}
	for _, src := range sources {
		if src.Path != e.src.Path {
			continue
		}
		for _, g := range src.Doc.Gates {
			if g.ID != e.ref.Gate.ID {
				continue
			}
			ref = e.ref
			ref.Gate = g
			mine := approval.NewOracle("x", src.Path, ".", e.ref.Gate, nil)
			theirs := approval.NewOracle("x", src.Path, ".", g, nil)
			return ref, len(approval.Diff(mine, theirs)) == 0, nil
		}
	}
	return ref, false, nil
}

// considered shows every approval that was looked at and the rule that decided.
func considered(all []approval.Considered) []string {
	var lines []string
	for n, c := range all {
		if n == maxConsidered {
			return append(lines, fmt.Sprintf("  … and %d more", len(all)-n))
		}
		by := strings.Join(c.By, " ")
		if by == "" {
			by = "nobody"
		}
		date := "no date   "
		if !c.Issued.IsZero() {
			date = c.Issued.UTC().Format("2006-01-02")
		}
		says := c.Text
		if len(c.Changes) > 0 {
			says = changeList(c.Changes)
		}
		line := fmt.Sprintf("  %s  %s %s  %s", short(strings.TrimPrefix(c.ID, "sha256:"), 8), by, date, escape.LogLine(says))
		if n == 0 && c.Reason == approval.Differs {
			line += "   (closest)"
		}
		lines = append(lines, line)
	}
	return lines
}

// changeList is "EXPECT READY → IDEMPOTENT", the files by name only.
func changeList(d []approval.FieldChange) string {
	var parts []string
	for n, c := range d {
		switch {
		case n == 3 && len(d) > 4:
			return strings.Join(parts, ", ") + fmt.Sprintf(" and %d more", len(d)-n)
		case c.File:
			parts = append(parts, c.Field+" differs")
		default:
			parts = append(parts, fmt.Sprintf("%s %s → %s", c.Field, escape.Short(absent(c.Old), 60), escape.Short(absent(c.New), 60)))
		}
	}
	return strings.Join(parts, ", ")
}
