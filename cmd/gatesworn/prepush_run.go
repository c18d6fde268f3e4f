package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/gates/expect"
	"github.com/gatesworn/gatesworn/internal/escape"
	"github.com/gatesworn/gatesworn/internal/gitobj"
)

// runPushed runs the gates in the work tree, which may differ from what is pushed:
// then it says so. No ledger is written: a push must not leave the tree changed.
func (s *session) runPushed(ctx context.Context, targets []target) error {
	outside := *s.app
	outside.env = outsideGit(s.app.env)
	s.app = &outside
	s.engine = expect.New()
	s.closers = append(s.closers, s.engine.Close)
	head, err := s.work.Git.Head()
	if err != nil {
		return fmt.Errorf("cannot read HEAD: %w", err)
	}
	for _, t := range targets {
		if t.oid != head.OID {
			s.app.warn("the gates run in the work tree, which is at %s; %s is pushed", cut(head.OID.String()), cut(t.oid.String()))
		}
	}
	if err := s.nameUncommitted(ctx, head.OID); err != nil {
		return err
	}
	if err := s.load(ctx); err != nil {
		return err
	}
	s.job.Base = gates.Report{
		Tool:        gates.Tool{Name: "gatesworn", Version: version()},
		Trust:       gates.Trust{Mode: gates.TrustLocal},
		Protections: gates.Protections{Applied: []string{}, Missing: []string{}},
	}
	s.job.Mode = gates.Reverify
	if s.broken = s.findings(); s.broken {
		return status(2)
	}
	if err := s.waves(); err != nil {
		return err
	}
	s.vouch(ctx, true)
	if err := s.prepare(); err != nil {
		return err
	}
	permit, err := s.permit()
	if err != nil {
		return err
	}
	exec, err := s.runner(nil)
	if err != nil {
		return err
	}
	s.job.Base.Execution = gates.Execution{Containment: exec.Containment(), Jobs: s.job.Jobs, Env: s.environment()}
	return s.finish(ctx, permit, exec)
}

// nameUncommitted names the files that a check sees and HEAD does not hold.
func (s *session) nameUncommitted(ctx context.Context, head gitobj.OID) error {
	commit, err := s.work.Git.Peel(head)
	if err != nil {
		return fmt.Errorf("cannot read HEAD: %w", err)
	}
	entries, err := s.work.Git.List(ctx, commit.Tree)
	if err != nil {
		return fmt.Errorf("cannot read HEAD: %w", err)
	}
	compared, err := s.work.Git.Compare(ctx, entries, gitobj.CompareOptions{StatCache: true})
	if err != nil {
		return fmt.Errorf("cannot compare the work tree with HEAD: %w", err)
	}
	others, err := s.work.Git.WorkFiles(ctx, gitobj.NewPathSet(entries), gitobj.WorkOptions{})
	if err != nil {
		return fmt.Errorf("cannot compare the work tree with HEAD: %w", err)
	}
	var names []string
	for _, d := range compared.Differences {
		names = append(names, d.Path)
	}
	for _, f := range others {
		names = append(names, f.Path)
	}
	if n := len(names); n > 0 {
		s.app.warn("%s in the work tree %s not committed, and what runs sees that: %s", count(n, "file"), plural(n, "is", "are"), escape.Line(some(names)))
	}
	return nil
}

// gitLocal are the variables by which git tells its children which repository they
// are in (git rev-parse --local-env-vars).
var gitLocal = []string{
	"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_CONFIG", "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS", "GIT_DIR", "GIT_GRAFT_FILE",
	"GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_INTERNAL_SUPER_PREFIX", "GIT_NO_REPLACE_OBJECTS", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX",
	"GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE", "GIT_WORK_TREE",
}

// outsideGit is the environment as it was before git started the hook: git puts its
// own programs first in PATH, which approvals bind, and names its repository, which
// a check that uses git elsewhere must not see.
func outsideGit(env []string) []string {
	var out []string
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		if slices.Contains(gitLocal, name) {
			continue
		}
		if name == "PATH" {
			dirs := filepath.SplitList(value)
			for len(dirs) > 0 && filepath.Base(dirs[0]) == "git-core" {
				dirs = dirs[1:]
			}
			v = name + "=" + strings.Join(dirs, string(filepath.ListSeparator))
		}
		out = append(out, v)
	}
	return out
}
