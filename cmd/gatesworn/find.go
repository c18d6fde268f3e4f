package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/gates/scope"
)

// root resolves --root against the working folder.
func (a *app) root(flag string) (string, error) {
	dir, err := a.dir()
	if err != nil {
		return "", withHint(fmt.Errorf("cannot tell the working folder: %w", err), "gatesworn check --root DIR")
	}
	return a.folder("--root", dir, flag)
}

// folder resolves an option that names a folder; "" gives base.
func (a *app) folder(option, base, value string) (string, error) {
	if value == "" {
		return base, nil
	}
	if !filepath.IsAbs(value) {
		value = filepath.Join(base, value)
	}
	info, err := os.Stat(value)
	if err != nil {
		return "", usage("cannot use %s: %v", option, err)
	}
	if !info.IsDir() {
		return "", usage("%s is not a folder: %s", option, value)
	}
	return value, nil
}

// load finds and reads the ledgers and sorts arguments into ledgers and gates.
func (s *session) load(ctx context.Context) error {
	files, names := s.split()
	if len(files) > 0 && s.flags.scope.set {
		return usage("ledgers and --scope exclude each other")
	}
	targets, err := s.work.Discover(scope.Options{
		Files: files, Scope: s.flags.scope.value, Env: s.app.getenv("UNLAZY_SCOPE"), Session: s.app.getenv("CLAUDE_SESSION_ID"),
	})
	if err != nil {
		return s.notFound(err)
	}
	base, err := s.base()
	if err != nil {
		return err
	}
	sources, err := s.work.Load(ctx, targets, base)
	if err != nil {
		return withHint(err, "gatesworn lint")
	}
	s.targets = targets
	s.job = gates.Job{Sources: sources, Only: names, Engine: s.engine, Now: s.app.now}
	return nil
}

func (s *session) base() (string, error) {
	if s.flags.cwd.set && s.work.HasPolicy {
		return "", usage("--cwd cannot be used where .gatesworn/ says where checks run")
	}
	if !s.flags.cwd.set {
		return "", nil
	}
	return s.app.folder("--cwd", s.root, s.flags.cwd.value)
}

// split tells ledgers from gates: what is there as a file is a ledger.
func (s *session) split() (files []string, names gates.Selection) {
	for _, arg := range s.args {
		path := arg
		if !filepath.IsAbs(path) {
			path = filepath.Join(s.root, path)
		}
		if _, err := os.Lstat(path); err != nil && gates.IsGateName(arg) {
			names = append(names, arg)
			continue
		}
		files = append(files, arg)
	}
	return files, names
}

func (s *session) notFound(err error) error {
	switch {
	case errors.Is(err, scope.ErrNone):
		return withHint(fmt.Errorf("no GATES.md and no gates/*.md in %s", s.root), "gatesworn init")
	case errors.As(err, new(*scope.AmbiguousError)):
		return withHint(err, "gatesworn check --scope ID")
	}
	return err
}
