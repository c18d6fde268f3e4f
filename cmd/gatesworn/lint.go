package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gatesworn/gatesworn/action/judge"
	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/gatesworn/gatesworn/gates/lint"
	"github.com/gatesworn/gatesworn/internal/escape"
)

// Limits of what lint shows (unlazy's).
const (
	maxLintFindings = 64
	maxLintReport   = 256 << 10 // bytes
	maxLintMessage  = 1024      // bytes
	maxLintFile     = 512       // bytes
)

// lintFlags are the options of lint.
type lintFlags struct {
	strict toggle
	format choice
}

func newLint(a *app) *cobra.Command {
	f := lintFlags{format: choice{words: []string{"text", "json"}}}
	cmd := &cobra.Command{
		Use:   "lint [LEDGER…] [LEDGER:ID…]",
		Short: "Advise on gates that prove less than they seem to; run nothing",
		Long: `Reads the ledgers and says what is wrong with them, and which gates would pass
without their outcome: a command that cannot fail, an EXPECT that failures print
too. Without arguments the ledgers are found as check finds them. Nothing is run.

Exit status: 0 no errors · 1 warnings, with --strict · 2 errors, or it cannot be known.`,
		Example: `  gatesworn lint                    # the ledgers that check would read
  gatesworn lint --strict GATES.md  # warnings fail, as in continuous integration`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.lint(cmd.Context(), f, args)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	addToggle(fs, &f.strict, "strict", "exit status 1 if there are warnings")
	fs.Var(&f.format, "format", "text or json")
	return cmd
}

func (a *app) lint(ctx context.Context, f lintFlags, args []string) error {
	s := &session{app: a, args: args}
	defer s.close()
	if err := s.open(); err != nil {
		return err
	}
	if err := s.load(ctx); err != nil {
		return lintHint(err)
	}
	asked, err := s.asked(ctx)
	if err != nil {
		return err
	}
	var findings []lint.Finding
	for _, src := range s.job.Sources {
		for _, one := range lint.Check(src.Doc) {
			if len(args) == 0 || one.Level == ledger.Error || asked[src.Path+"\x00"+one.Gate] || asked[src.Path] {
				findings = append(findings, one)
			}
		}
	}
	r := newLintReport(findings, f.strict.on)
	if f.format.value == "json" {
		err = r.json(a.out, findings)
	} else {
		err = r.text(a.out, lint.Fold(findings))
	}
	if err != nil {
		return fmt.Errorf("cannot print the findings: %w", err)
	}
	return status(r.code)
}

// lintHint: where reading fails, "gatesworn lint" is no help to lint itself.
func lintHint(err error) error {
	if e := (*exitError)(nil); errors.As(err, &e) && e.hint == "gatesworn lint" {
		return withHint(e.err, "gatesworn help lint")
	}
	return err
}

// open finds the folder that is judged.
func (s *session) open() (err error) {
	if s.root, err = s.app.root(s.flags.root.value); err != nil {
		return err
	}
	if s.work, err = judge.Open(s.root); err != nil {
		return err
	}
	s.closers = append(s.closers, func() { _ = s.work.Close() })
	return nil
}

func (s *session) close() {
	for _, c := range s.closers {
		c()
	}
}

// silent observes a run that prints nothing.
type silent struct{}

func (silent) Withheld(gates.Gate)       {}
func (silent) Planned(int)               {}
func (silent) Started(string, time.Time) {}
func (silent) Ended(string)              {}
func (silent) Result(gates.Gate)         {}

// asked resolves the gates named on the command line: keys are the ledger's path,
// a NUL and the gate's id. Where no gate is named, every ledger's path is a key.
func (s *session) asked(ctx context.Context) (map[string]bool, error) {
	job := s.job
	job.Mode = gates.Status
	report, err := gates.Check(ctx, job, refuseAll{}, nil, silent{})
	if err != nil {
		return nil, withHint(err, "gatesworn check --status")
	}
	keys := map[string]bool{}
	for _, l := range report.Ledgers {
		if len(job.Only) == 0 {
			keys[l.Path] = true
		}
		for _, g := range l.Gates {
			if len(job.Only) > 0 && !g.NotAsked {
				keys[l.Path+"\x00"+g.ID] = true
			}
		}
	}
	return keys, nil
}

// lintReport is what lint came to.
type lintReport struct {
	errors, warnings, code int
	verdict                string
}

func newLintReport(findings []lint.Finding, strict bool) lintReport {
	var r lintReport
	for _, f := range findings {
		if f.Level == ledger.Warning {
			r.warnings++
		} else {
			r.errors++
		}
	}
	switch {
	case r.errors > 0:
		r.code = 2
	case r.warnings > 0 && strict:
		r.code = 1
	}
	switch {
	case r.code != 0:
		r.verdict = fmt.Sprintf("LINT FINDINGS: %s, %s", count(r.errors, "error"), count(r.warnings, "warning"))
	case r.warnings > 0:
		r.verdict = fmt.Sprintf("LINT OK (%s)", count(r.warnings, "warning"))
	default:
		r.verdict = "LINT OK"
	}
	return r
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// shown picks the findings that fit the limits, errors first, in their order.
func shown(findings []lint.Finding) []lint.Finding {
	keep := make([]bool, len(findings))
	n, size := 0, 0
	for _, level := range []ledger.Level{ledger.Error, ledger.Warning} {
		for i, f := range findings {
			bytes := 200 + len(f.File) + len(f.Message) + len(f.Source) + len(strings.Join(f.Fix, "\n"))
			if f.Level != level || n == maxLintFindings || size+bytes > maxLintReport/2 { // half: escaping may double it
				continue
			}
			keep[i] = true
			n++
			size += bytes
		}
	}
	var out []lint.Finding
	for i, f := range findings {
		if keep[i] {
			f.File, f.Message = escape.Cut(f.File, maxLintFile), escape.Cut(f.Message, maxLintMessage)
			out = append(out, f)
		}
	}
	return out
}

// text prints findings as check does, the rule behind each, and the verdict last.
func (r lintReport) text(w io.Writer, findings []lint.Finding) error {
	show := shown(findings)
	for _, f := range show {
		one := f.Finding
		one.Message += "  [" + one.Rule + "]"
		if err := ledger.FormatFindings(w, f.File, []ledger.Finding{one}, 0); err != nil {
			return err
		}
	}
	if left := len(findings) - len(show); left > 0 {
		if _, err := fmt.Fprintf(w, "and %d more, not shown\n", left); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, r.verdict)
	return err
}

// lintJSON is the document of --format json: unlazy's keys, with position and fix.
type lintJSON struct {
	OK       bool              `json:"ok"` // the exit status is 0
	Errors   int               `json:"errors"`
	Warnings int               `json:"warnings"`
	Findings []lintFindingJSON `json:"findings"`
	Cut      bool              `json:"truncated"`
	Omitted  int               `json:"omittedFindings"`
}

type lintFindingJSON struct {
	File    string  `json:"file"`
	Line    int     `json:"line"` // 0 for the whole file
	Column  int     `json:"column"`
	Level   string  `json:"level"` // error or warning
	Gate    *string `json:"gate"`
	Rule    string  `json:"rule"`
	Message string  `json:"message"`
	Fix     string  `json:"fix,omitempty"` // lines joined by \n
}

func (r lintReport) json(w io.Writer, findings []lint.Finding) error {
	show := shown(findings)
	doc := lintJSON{
		OK: r.code == 0, Errors: r.errors, Warnings: r.warnings, Findings: []lintFindingJSON{},
		Cut: len(show) < len(findings), Omitted: len(findings) - len(show),
	}
	for _, f := range show {
		one := lintFindingJSON{
			File: escape.JSON(f.File), Line: f.Line, Column: f.Column, Level: f.Level.String(), Rule: f.Rule,
			Message: escape.JSON(f.Message), Fix: escape.JSON(strings.Join(f.Fix, "\n")),
		}
		if f.Gate != "" {
			one.Gate = &f.Gate
		}
		doc.Findings = append(doc.Findings, one)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(doc)
}
