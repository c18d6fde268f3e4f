package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/gatesworn/gatesworn/gates/scope"
	"github.com/gatesworn/gatesworn/internal/escape"
)

// place says which scope a command of coordinated work is about.
type place struct {
	root, scope text
}

func newPlace() place { return place{root: text{kind: "DIR"}, scope: text{kind: "ID"}} }

// options adds --root and --scope to a command.
func (p *place) options(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	cmd.Flags().Var(&p.scope, "scope", "the scope in .unlazy/ (default: UNLAZY_SCOPE, the only one, the session's)")
	p.rootOption(cmd)
}

func (p *place) rootOption(cmd *cobra.Command) {
	cmd.Flags().Var(&p.root, "root", "the folder with .unlazy/ (default: this folder)")
}

// tree is the tree that --root names, links resolved.
func (a *app) tree(p place) (scope.Tree, error) {
	root, err := a.root(p.root.value)
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	return scope.Tree{Root: root, Now: a.now}, err
}

// placed chooses the scope as check does; it is never guessed.
func (a *app) placed(cmd *cobra.Command, p place) (scope.Tree, string, error) {
	tree, err := a.tree(p)
	if err != nil {
		return tree, "", err
	}
	found, err := scope.Discover(tree.Root, scope.Options{
		Scope: p.scope.value, Env: a.getenv("UNLAZY_SCOPE"), Session: a.getenv("CLAUDE_SESSION_ID"),
	})
	switch {
	case errors.As(err, new(*scope.AmbiguousError)):
		return tree, "", withHint(err, cmd.CommandPath()+" --scope ID")
	case errors.As(err, new(*scope.IDError)), errors.As(err, new(*scope.UnknownError)):
		return tree, "", withHint(err, "gatesworn scope list")
	case err != nil && !errors.Is(err, scope.ErrNone):
		return tree, "", err
	case found.Scope == "":
		return tree, "", withHint(fmt.Errorf("there is no scope in %s", filepath.Join(tree.Root, ".unlazy")), "mkdir -p .unlazy/ID/gates, and write a ledger there")
	}
	return tree, found.Scope, nil
}

// family is a command that has only sub-commands.
func family(use, short, long, example string) *cobra.Command {
	name, words, _ := strings.Cut(use, " ")
	return &cobra.Command{
		Use: use, Short: short, Long: long, Example: example, Args: cobra.ArbitraryArgs, SuggestionsMinimumDistance: 2,
		RunE: func(cmd *cobra.Command, args []string) error {
			hint := "gatesworn help " + name
			if len(args) == 0 {
				return withHint(fmt.Errorf("%s needs one of %s", name, strings.ReplaceAll(words, "|", ", ")), hint)
			}
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				hint = "gatesworn " + name + " " + near[0]
			}
			return withHint(fmt.Errorf("%s has no %q", name, args[0]), hint)
		},
	}
}

func newScope(a *app) *cobra.Command {
	cmd := family("scope list|bind|log|claim|release|leases", "Scopes of split work, and who owns which files",
		`list     the scopes in .unlazy/
bind     bind an agent's session to a scope, so that it is found without --scope
log      append a line to the scope's status.log
claim    take the lease of what a leaf's ledger says it OWNS
release  give it back
leases   every lease, and since when

Leases coordinate, they do not isolate: nothing stops a program from writing.

Exit status: 0 done · 2 it cannot be done · 3 somebody holds an overlapping lease.`,
		`  gatesworn scope claim --scope auth --leaf leaf-login
  gatesworn scope release --scope auth --leaf leaf-login`)
	cmd.AddCommand(newScopeList(a), newScopeBind(a), newScopeLog(a), newScopeClaim(a), newScopeRelease(a), newScopeLeases(a))
	return cmd
}

func newScopeList(a *app) *cobra.Command {
	p := newPlace()
	cmd := &cobra.Command{
		Use: "list", Short: "List the scopes in .unlazy/", Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			tree, err := a.tree(p)
			if err != nil {
				return err
			}
			all, err := scope.List(tree.Root)
			if err != nil {
				return err
			}
			if len(all) == 0 {
				all = []string{"(no scopes in .unlazy/)"}
			}
			_, err = fmt.Fprintln(a.out, strings.Join(all, "\n"))
			return err
		},
	}
	p.rootOption(cmd)
	return cmd
}

func newScopeBind(a *app) *cobra.Command {
	p := newPlace()
	cmd := &cobra.Command{
		Use: "bind [SESSION]", Short: "Bind an agent's session to a scope", Args: cobra.ArbitraryArgs,
		Long: `Writes the session's id into .unlazy/SCOPE/session: commands and hooks of that
session then find the scope without --scope. SESSION defaults to CLAUDE_SESSION_ID.`,
		Example: "  gatesworn scope bind --scope auth 3f2a9c1e",
		RunE: func(cmd *cobra.Command, args []string) error {
			session := a.getenv("CLAUDE_SESSION_ID")
			switch len(args) {
			case 0:
			case 1:
				session = args[0]
			default:
				return withHint(errors.New("bind takes one session id"), "gatesworn help scope bind")
			}
			if len(args) == 0 && session == "" {
				return withHint(errors.New("bind needs a session id; CLAUDE_SESSION_ID is not set"), "gatesworn scope bind --scope ID SESSION")
			}
			tree, id, err := a.placed(cmd, p)
			if err != nil {
				return err
			}
			if err := tree.Bind(id, session); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.out, "bound session %s to scope %s\n", escape.Line(strings.TrimSpace(session)), id)
			return err
		},
	}
	p.options(cmd)
	return cmd
}

func newScopeLog(a *app) *cobra.Command {
	p := newPlace()
	cmd := &cobra.Command{
		Use: "log TEXT…", Short: "Append a line to the scope's status.log", Args: cobra.ArbitraryArgs,
		Example: `  gatesworn scope log --scope auth "login done, session next"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return withHint(errors.New("log needs a text"), `gatesworn scope log "TEXT"`)
			}
			tree, id, err := a.placed(cmd, p)
			if err != nil {
				return err
			}
			file, err := tree.Log(id, strings.Join(args, " "))
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.out, "appended to "+file)
			return err
		},
	}
	p.options(cmd)
	return cmd
}

// explainLedger prints what is wrong with a ledger; other errors are left as they are.
func (a *app) explainLedger(err error) error {
	bad := (*scope.LedgerError)(nil)
	if !errors.As(err, &bad) {
		return err
	}
	ledger.FormatFindings(a.err, bad.Path, bad.Findings, maxFindings)
	n := len(slices.DeleteFunc(slices.Clone(bad.Findings), func(f ledger.Finding) bool { return f.Level != ledger.Error }))
	fmt.Fprintf(a.err, "%s: %s, nothing was done\n", escape.Line(bad.Path), count(n, "error"))
	return status(2)
}
