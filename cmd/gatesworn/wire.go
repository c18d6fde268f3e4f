package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gatesworn/gatesworn/action/judge"
	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/gatesworn/gatesworn/gates/ledgerfile"
	"github.com/gatesworn/gatesworn/gates/runner"
	"github.com/gatesworn/gatesworn/gates/scope"
	"github.com/gatesworn/gatesworn/internal/safefile"
)

// slotCommand enters a slot helper (gates/runner); people never type it.
const slotCommand = "__slot"

func newSlot(a *app) *cobra.Command {
	return &cobra.Command{
		Use: slotCommand, Hidden: true, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			conn, ok := a.in.(*os.File)
			if !ok {
				return errors.New("a slot needs its socket as standard input")
			}
			return status(runner.Slot(conn, a.now))
		},
	}
}

// environ builds what checks inherit and what a failure may hint at.
func (s *session) environ() error {
	if s.environment() == "inherit" {
		env := s.app.env
		s.job.Env = func(ledger.Gate) []string { return env }
		return nil
	}
	home, temp, err := s.scratch()
	if err != nil {
		return err
	}
	user := s.app.getenv("USER")
	build := func(g ledger.Gate) (runner.EnvResult, error) {
		return runner.Env(runner.EnvConfig{
			Mode: runner.Clean, Parent: s.app.env, Policy: s.work.Policy.Env, Gate: g.Env,
			User: user, Shell: s.job.Shell, Home: home, Temp: temp,
		})
	}
	if _, err := build(ledger.Gate{}); err != nil {
		return err
	}
	s.job.Env = func(g ledger.Gate) []string {
		r, err := build(g)
		if err != nil {
			return nil
		}
		return r.Vars
	}
	s.job.Unpassed = func(g ledger.Gate, output string) []string {
		var names []string
		for _, v := range runner.NotPassedOn([]byte(output), s.app.env, s.job.Env(g)) {
			if v.Nameable {
				names = append(names, v.Name)
			}
		}
		return names
	}
	return nil
}

// scratch makes the empty HOME and TMPDIR of a clean environment.
func (s *session) scratch() (home, temp string, err error) {
	dir, err := os.MkdirTemp(s.app.getenv("TMPDIR"), "gatesworn-")
	if err != nil {
		return "", "", fmt.Errorf("cannot make a scratch folder: %w", err)
	}
	s.closers = append(s.closers, func() { _ = os.RemoveAll(dir) })
	home, temp = filepath.Join(dir, "home"), filepath.Join(dir, "tmp")
	return home, temp, errors.Join(os.Mkdir(home, 0o700), os.Mkdir(temp, 0o700))
}

// recorders gives every task ledger its writer. Standing ledgers are never written (3-approval).
func (s *session) recorders() error {
	state, err := s.app.stateFolder()
	if err != nil {
		return err
	}
	locks := filepath.Join(state, "locks")
	for i := range s.job.Sources {
		src := &s.job.Sources[i]
		if src.Standing {
			continue
		}
		if size := len(src.Doc.Bytes()) + bytesPerResult*len(src.Doc.Gates); size > ledger.MaxSize {
			s.app.warn("%s may pass 8 MiB with all results; they would not be written", src.Path)
		}
		abs := src.Abs
		w := ledgerfile.NewWriter(ledgerfile.Config{
			Root: s.work.Top, Path: src.Path, Doc: src.Doc, Now: s.app.now, After: s.app.after,
			Lock: func(ctx context.Context) (func() error, error) { return s.lock(ctx, locks, abs) },
		})
		src.Recorder = w
		s.closers = append(s.closers, w.Close)
	}
	return nil
}

// lock takes our own lock and, where unlazy is used too, its one.
func (s *session) lock(ctx context.Context, folder, path string) (release func() error, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := safefile.PrivateDir(filepath.Dir(folder)); err != nil {
		return nil, err
	}
	if err := safefile.PrivateDir(folder); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(path))
	own, err := safefile.Acquire(ctx, filepath.Join(folder, hex.EncodeToString(sum[:])[:24]+".lock"))
	if err != nil {
		return nil, err
	}
	if !scope.UsesLocks(s.work.Root) {
		return own.Release, nil
	}
	theirs, err := scope.FileLock(ctx, s.work.Root, path, s.app.now)
	if err != nil {
		return nil, errors.Join(err, own.Release())
	}
	return func() error { return errors.Join(theirs.Release(), own.Release()) }, nil
}

// approving prints in full what is about to be recorded and run.
func (s *session) approving(g gates.GateRef, o approval.Oracle) error {
	var files []string
	for _, f := range o.Inputs {
		files = append(files, f.Path)
	}
	s.text.Approving(g, files, s.job.Shell)
	return s.text.Err()
}

// completeGates offers the gates of this folder's ledgers; it runs nothing.
func (a *app) completeGates(prefix string) []string {
	dir, err := a.dir()
	if err != nil {
		return nil
	}
	work, err := judge.Open(dir)
	if err != nil {
		return nil
	}
	defer work.Close()
	s := &session{app: a, root: dir, work: work}
	if s.load(context.Background()) != nil {
		return nil
	}
	paths := make([]string, len(s.job.Sources))
	for i, src := range s.job.Sources {
		paths[i] = src.Path
	}
	var names []string
	for i, stem := range gates.Names(paths) {
		for _, g := range s.job.Sources[i].Doc.Gates {
			if name := stem + ":" + g.ID; strings.HasPrefix(name, prefix) {
				names = append(names, name)
			}
		}
	}
	return names
}
