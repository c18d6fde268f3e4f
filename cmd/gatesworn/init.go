package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gatesworn/gatesworn/gates/draft"
	"github.com/gatesworn/gatesworn/gates/scope"
	"github.com/gatesworn/gatesworn/internal/escape"
	"github.com/gatesworn/gatesworn/internal/safefile"
)

// ledgerName is the file that init writes.
const ledgerName = "GATES.md"

// maxProjectFile bounds a project file that init reads, in bytes.
const maxProjectFile = 4 << 20

// initFlags are the options of init.
type initFlags struct {
	root   text
	github toggle
}

// errNothingToDraft is returned where no project file declares a check.
var errNothingToDraft = errors.New("found no test, linter or build to make a gate of")

func newInit(a *app) *cobra.Command {
	f := initFlags{root: text{kind: "DIR"}}
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a first GATES.md from what the project's files declare",
		Long: `Reads package.json, go.mod, Cargo.toml, pyproject.toml and Makefile and writes a
GATES.md with one gate for each test, linter, type check or build that they
declare. Nothing is run and nothing that exists is changed.

Exit status: 0 written, or kept what is there · 2 there is nothing to write, or it cannot be.`,
		Example: `  gatesworn init
  gatesworn init --github    # signed gates, judged on every pull request
  gatesworn check            # then: shows every command before it runs`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.github.on {
				return a.initialiseGitHub(cmd.Context(), f)
			}
			return a.initialise(cmd.Context(), f)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	addToggle(fs, &f.github, "github", "also write .gatesworn/ (rules, signers) and a workflow for a required check")
	fs.Var(&f.root, "root", "the project's folder (default: this folder)")
	return cmd
}

// noArguments refuses arguments in our words.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return withHint(fmt.Errorf("%s takes no argument, got %q", cmd.Name(), args[0]), "gatesworn help "+cmd.Name())
	}
	return nil
}

// initialise makes sure that there is a ledger and says what comes next.
func (a *app) initialise(ctx context.Context, f initFlags) error {
	s := &session{app: a, flags: checkFlags{root: f.root}}
	defer s.close()
	if err := s.open(); err != nil {
		return err
	}
	next, err := a.firstLedger(ctx, s)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.out, "next: "+next)
	return err
}

// firstLedger keeps the ledgers that are there or writes one, and says which it
// did; next is the command for it.
func (a *app) firstLedger(ctx context.Context, s *session) (next string, err error) {
	targets, err := s.work.Discover(scope.Options{Env: a.getenv("UNLAZY_SCOPE"), Session: a.getenv("CLAUDE_SESSION_ID")})
	var several *scope.AmbiguousError
	switch {
	case errors.Is(err, scope.ErrNone):
		return "gatesworn check", a.writeLedger(s.root)
	case errors.As(err, &several):
		fmt.Fprintf(a.out, "kept .unlazy: the scopes %s\n", escape.LogLine(strings.Join(several.Scopes, ", ")))
		return "gatesworn check --scope " + several.Scopes[0], nil
	case err != nil:
		return "", err
	}
	if s.job.Sources, err = s.work.Load(ctx, targets, ""); err != nil {
		return "", err
	}
	return a.keptLedgers(s), nil
}

// keptLedgers names what is there; the result is the next command.
func (a *app) keptLedgers(s *session) string {
	next := "gatesworn check"
	for _, src := range s.job.Sources {
		says := count(len(src.Doc.Gates), "gate")
		if !src.Doc.OK() {
			says, next = "it has errors", "gatesworn lint"
		}
		fmt.Fprintf(a.out, "kept %s: %s\n", escape.LogLine(src.Path), says)
	}
	return next
}

// writeLedger drafts GATES.md and writes it where nothing is.
func (a *app) writeLedger(root string) error {
	p, err := a.project(root)
	if err != nil {
		return err
	}
	d := draft.Ledger(p)
	for _, n := range d.Notes {
		a.warn("%s", escape.LogLine(n))
	}
	if len(d.Gates) == 0 {
		return withHint(fmt.Errorf("%w (looked for %s); nothing was written",
			errNothingToDraft, strings.Join(draft.Files(), ", ")), "write GATES.md by hand: - [ ] G1: what is promised, under it   CHECK: the command   EXPECT: /^/")
	}
	path := filepath.Join(root, ledgerName)
	if err := safefile.Create(path, d.Text, 0o644); err != nil {
		return fmt.Errorf("cannot write %s: %w", ledgerName, err)
	}
	_, err = fmt.Fprintf(a.out, "wrote %s: %s from %s\n", ledgerName, count(len(d.Gates), "gate"), d.Sources())
	return err
}

// project reads what draft wants to know. A file that cannot be read is a warning: others may say enough.
func (a *app) project(root string) (draft.Project, error) {
	p := draft.Project{Content: map[string][]byte{}, Exists: map[string]bool{}}
	for _, name := range draft.Files() {
		file, err := safefile.Read(filepath.Join(root, name), maxProjectFile)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			a.warn("left out %s: %s", name, escape.LogLine(err.Error()))
		default:
			p.Content[name] = file.Data
		}
	}
	for _, name := range draft.Present() {
		_, err := os.Lstat(filepath.Join(root, name))
		p.Exists[name] = err == nil
	}
	return p, nil
}
