package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/gatesworn/gatesworn/gates/hook"
	"github.com/gatesworn/gatesworn/gates/scope"
	"github.com/gatesworn/gatesworn/internal/escape"
	"github.com/gatesworn/gatesworn/internal/gitobj"
)

// hookFlags are the options of hook install and uninstall.
type hookFlags struct {
	claude, git, global, shared, run, replace toggle
	scope, root                               text
}

func newHook(a *app) *cobra.Command {
	cmd := family("hook install|uninstall|stop|pre-push", "Guard an agent's stop and a push",
		`install    add a hook: --claude to Claude Code's settings, --git before a push
uninstall  take it away; everything else is left as it is
stop       what the Stop hook runs: it reads the ledgers and runs no check
pre-push   what git runs before a push

A hook is a reminder: whoever can edit the settings or the ledger is not held by it.
What holds is the required check of a pull request.`,
		`  gatesworn hook install --claude
  gatesworn hook install --git`)
	cmd.AddCommand(newHookInstall(a), newHookUninstall(a), newHookStop(a), newPrePush(a))
	return cmd
}

func newHookInstall(a *app) *cobra.Command {
	f := hookFlags{scope: text{kind: "ID"}, root: text{kind: "DIR"}}
	cmd := &cobra.Command{
		Use: "install --claude|--git", Short: "Add the Stop hook or the pre-push hook", Args: noArguments,
		Long: `--claude adds a Stop hook to Claude Code's settings: .claude/settings.local.json,
with --shared .claude/settings.json, with --global the same in your home folder. Other
entries stay byte for byte; the file as it was is kept beside it as .bak. A hook of
unlazy is refused: two would undo each other's counts. --replace-unlazy takes its place.

--git adds a pre-push hook; one that is there is kept and runs first. It runs no
check unless --run is given.

Doing it twice changes nothing; an entry of a program that moved is repaired.`,
		Example: `  gatesworn hook install --claude --scope auth
  gatesworn hook install --git --run`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.hookInstall(f) },
	}
	f.options(cmd)
	addToggle(cmd.Flags(), &f.replace, "replace-unlazy", "with --claude: take the place of unlazy's Stop hook")
	cmd.Flags().Var(&f.scope, "scope", "with --claude: the scope whose gates hold the agent")
	addToggle(cmd.Flags(), &f.run, "run", "with --git: run the gates in the work tree before a push")
	return cmd
}

func newHookUninstall(a *app) *cobra.Command {
	f := hookFlags{root: text{kind: "DIR"}}
	cmd := &cobra.Command{
		Use: "uninstall --claude|--git", Short: "Take our hook away, and nothing else", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.hookUninstall(f) },
	}
	f.options(cmd)
	return cmd
}

func (f *hookFlags) options(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.SortFlags = false
	addToggle(fs, &f.claude, "claude", "Claude Code's Stop hook")
	addToggle(fs, &f.git, "git", "git's pre-push hook")
	addToggle(fs, &f.global, "global", "with --claude: your own settings, for every project")
	addToggle(fs, &f.shared, "shared", "with --claude: the project's settings that are committed")
	fs.Var(&f.root, "root", "the project's folder (default: this folder)")
}

// validate checks which options go together.
func (f *hookFlags) validate() error {
	switch {
	case f.claude.on == f.git.on:
		return usage("name one of --claude and --git")
	case f.global.on && f.shared.on:
		return usage("--global and --shared exclude each other")
	case f.git.on && (f.global.on || f.shared.on || f.scope.set || f.replace.on):
		return usage("--global, --shared, --scope and --replace-unlazy are for --claude")
	case f.claude.on && f.run.on:
		return usage("--run is for --git: the Stop hook runs no check")
	case f.scope.set && !scope.ValidID(f.scope.value):
		return usage("--scope is no scope's name: %q", f.scope.value)
	}
	return nil
}

func (a *app) hookInstall(f hookFlags) error {
	if err := f.validate(); err != nil {
		return err
	}
	self, err := a.executable()
	if err != nil {
		return err
	}
	var o hook.Outcome
	what := "pre-push hook"
	if f.git.on {
		var dir string
		if dir, err = a.hooksDir(f); err == nil {
			o, err = hook.InstallGit(dir, self, f.run.on)
		}
	} else {
		what = "Stop hook"
		var c hook.Claude
		if c, err = a.claude(f); err == nil {
			o, err = c.Install(self, f.scope.value, f.replace.on)
		}
	}
	switch {
	case errors.Is(err, hook.ErrUnlazy):
		return withHint(err, "gatesworn hook install --claude"+f.placeOption()+" --replace-unlazy")
	case err != nil:
		return err
	}
	return a.installed(what, o, f.git.on)
}

// installed says what an installation changed.
func (a *app) installed(what string, o hook.Outcome, git bool) error {
	file := escape.Line(o.File)
	if !o.Changed {
		_, err := fmt.Fprintf(a.out, "kept %s: the %s is installed\n", file, what)
		return err
	}
	word := "installed the " + what
	switch {
	case o.Replaced > 0:
		word = fmt.Sprintf("installed the %s in place of unlazy's (%d)", what, o.Replaced)
	case o.Repaired:
		word = "repaired the " + what
	}
	fmt.Fprintf(a.out, "wrote %s: %s\n", file, word)
	switch {
	case o.Backup != "" && git:
		fmt.Fprintf(a.out, "kept  %s: the hook that was there, it runs first\n", escape.Line(o.Backup))
	case o.Backup != "":
		fmt.Fprintf(a.out, "kept  %s: the file as it was\n", escape.Line(o.Backup))
	}
	return nil
}

func (a *app) hookUninstall(f hookFlags) error {
	err := f.validate()
	if err != nil {
		return err
	}
	var o hook.Outcome
	what := "pre-push hook"
	if f.git.on {
		var dir string
		if dir, err = a.hooksDir(f); err == nil {
			o, err = hook.UninstallGit(dir)
		}
	} else {
		what = "Stop hook"
		var c hook.Claude
		if c, err = a.claude(f); err == nil {
			o, err = c.Uninstall()
		}
	}
	switch {
	case err != nil:
		return err
	case !o.Changed:
		_, err = fmt.Fprintf(a.out, "nothing to remove: no %s of gatesworn in %s\n", what, escape.Line(o.File))
	default:
		_, err = fmt.Fprintf(a.out, "removed the %s from %s; everything else is as it was\n", what, escape.Line(o.File))
	}
	return err
}

func (f *hookFlags) placeOption() string {
	switch {
	case f.global.on:
		return " --global"
	case f.shared.on:
		return " --shared"
	}
	return ""
}

// claude is the settings file that the options name.
func (a *app) claude(f hookFlags) (hook.Claude, error) {
	root, err := a.root(f.root.value)
	c := hook.Claude{Root: root, Home: a.home(), Place: hook.Local}
	switch {
	case f.shared.on:
		c.Place = hook.Shared
	case f.global.on:
		c.Place = hook.Global
		if c.Home == "" {
			return c, errors.New("there is no home folder: HOME is not set")
		}
	}
	return c, err
}

// hooksDir is the folder that git runs this repository's hooks from.
func (a *app) hooksDir(f hookFlags) (string, error) {
	root, err := a.root(f.root.value)
	if err != nil {
		return "", err
	}
	top, err := gitobj.Find(root)
	if err != nil {
		return "", fmt.Errorf("cannot find the git repository: %w", err)
	}
	return hook.HooksDir(top, a.gitConfigs()...)
}

// gitConfigs are the user's own git configuration files, the one that wins first.
// They are often links into a folder of dot files.
func (a *app) gitConfigs() []string {
	files := []string{a.getenv("GIT_CONFIG_GLOBAL")}
	if files[0] == "" {
		files = nil
		xdg := a.getenv("XDG_CONFIG_HOME")
		if home := a.home(); home != "" {
			files = append(files, filepath.Join(home, ".gitconfig"))
			if xdg == "" {
				xdg = filepath.Join(home, ".config")
			}
		}
		if xdg != "" {
			files = append(files, filepath.Join(xdg, "git", "config"))
		}
	}
	var there []string
	for _, file := range files {
		real, err := filepath.EvalSymlinks(file)
		if info, statErr := os.Stat(real); err == nil && statErr == nil && info.Mode().IsRegular() { // /dev/null is usual
			there = append(there, real)
		}
	}
	return there
}

// executable is this program's path for hooks: as PATH finds it, where that is this
// very file, so that an upgrade which moves the file behind a link does no harm.
func (a *app) executable() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("cannot tell where this program is: %w", err)
	}
	name := "gatesworn"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	mine, err := os.Stat(self)
	if err != nil {
		return "", fmt.Errorf("cannot tell where this program is: %w", err)
	}
	for _, dir := range filepath.SplitList(a.getenv("PATH")) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && filepath.IsAbs(path) && os.SameFile(info, mine) {
			return path, nil
		}
	}
	return self, nil
}
