package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/gatesworn/gatesworn/internal/escape"
)

// app is the process as commands see it: nothing else reads streams, environment, clock or working folder.
type app struct {
	args     []string
	in       io.Reader
	out, err io.Writer
	env      []string
	dir      func() (string, error)
	now      func() time.Time
	after    func(time.Duration) <-chan time.Time
}

// exitError ends a command with a status; a message, if there is one, was not printed yet.
type exitError struct {
	code int
	err  error
	hint string
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usage is an error of the command line itself.
func usage(format string, args ...any) error {
	return &exitError{code: 2, err: fmt.Errorf(format, args...), hint: "gatesworn help"}
}

// withHint is status 2 with the exact next command.
func withHint(err error, hint string) error { return &exitError{code: 2, err: err, hint: hint} }

// status ends a command whose output already says everything.
func status(code int) error {
	if code == 0 {
		return nil
	}
	return &exitError{code: code}
}

// run is the whole program; it returns the exit status.
func run(a app) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := newRoot(&a)
	root.SetArgs(a.args)
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	return a.finish(root.ExecuteContext(ctx))
}

// finish prints what a command returned and maps it to a status: 1 and 3 only
// where a command says so, 2 for everything that went wrong.
func (a *app) finish(err error) int {
	if err == nil {
		return 0
	}
	e := &exitError{code: 2, err: err, hint: "gatesworn help"}
	if own := (*exitError)(nil); errors.As(err, &own) {
		e = own
	}
	if e.err != nil {
		a.complain(e.err)
		if e.hint != "" {
			fmt.Fprintln(a.err, "gatesworn: hint: "+escape.Line(e.hint))
		}
	}
	return e.code
}

// complain prints an error, one line for each of joined errors; those that begin
// with path:line are left as they are, so that editors find them.
func (a *app) complain(err error) {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if line = escape.LogLine(line); positioned(line) {
			fmt.Fprintln(a.err, line)
		} else {
			fmt.Fprintln(a.err, "gatesworn: error: "+line)
		}
	}
}

// positioned reports a message that begins with path:line:.
func positioned(s string) bool {
	path, rest, ok := strings.Cut(s, ":")
	if !ok || strings.Contains(path, " ") || rest == "" {
		return false
	}
	return rest[0] >= '1' && rest[0] <= '9'
}

func (a *app) getenv(name string) string {
	for i := len(a.env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(a.env[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// terminal reports whether a stream is a terminal.
func terminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// stateFolder is where this user's state lives; the error says how to name one.
func (a *app) stateFolder() (string, error) {
	if dir := a.getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "gatesworn"), nil
	}
	home := a.getenv("HOME")
	if runtime.GOOS == "windows" {
		if dir := a.getenv("LOCALAPPDATA"); dir != "" {
			return filepath.Join(dir, "gatesworn"), nil
		}
		home = a.getenv("USERPROFILE")
	}
	if !filepath.IsAbs(home) {
		return "", withHint(errors.New("there is no home folder to keep approvals and locks in"), "GATESWORN_APPROVAL_DIR=/path XDG_STATE_HOME=/path gatesworn check")
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support", "gatesworn"), nil
	}
	return filepath.Join(home, ".local", "state", "gatesworn"), nil
}

// approvalFolder is the local store's folder.
func (a *app) approvalFolder() (string, error) {
	if dir := a.getenv("GATESWORN_APPROVAL_DIR"); dir != "" {
		if !filepath.IsAbs(dir) {
			return "", usage("GATESWORN_APPROVAL_DIR must be an absolute path, not %q", dir)
		}
		return dir, nil
	}
	state, err := a.stateFolder()
	return filepath.Join(state, "approved"), err
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:               "gatesworn",
		Short:             "Check that what is reported as done is done",
		Long:              groups,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		Args:              cobra.ArbitraryArgs,

		SuggestionsMinimumDistance: 2,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			fmt.Fprint(a.out, groups)
			return nil
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return flagError(cmd, err) })
	root.SetHelpCommand(newHelp(a))
	root.AddCommand(newCheck(a), newExplain(a), newInit(a), newLint(a), newSign(a), newTrust(a), newApprovals(a), newRevoke(a), newScope(a), newWave(a), newHook(a), newVersion(a), newSlot(a), newAction(a), newProbe(a), newPublish(a), newDoctor(a), newPlan(a))
	return root
}

// groups is the first screen (9-surfaces, B10).
const groups = `gatesworn checks that what is reported as done is done.

Every day   check  sign  explain
Set up      init  trust  doctor
Look after  approvals  revoke  lint
More        gatesworn help ci | work        (publish, merge, plan matrix | scope, wave, plan, hook)

Example: gatesworn check            read GATES.md, run what is approved, say what is met
         gatesworn help check       all flags of a command
`

func unknownCommand(cmd *cobra.Command, name string) error {
	err := fmt.Errorf("unknown command %q", name)
	for _, s := range cmd.SuggestionsFor(name) {
		return withHint(err, "gatesworn "+s)
	}
	if strings.HasSuffix(name, ".md") || strings.Contains(name, ":") {
		return withHint(err, "gatesworn check "+name)
	}
	return withHint(err, "gatesworn help")
}
