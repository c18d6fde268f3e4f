package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/gatesworn/gatesworn/gates/render"
	"github.com/gatesworn/gatesworn/ghreport/markdown"
	"github.com/gatesworn/gatesworn/internal/escape"
	"github.com/gatesworn/gatesworn/internal/safefile"
)

// finish runs the job, prints the verdict and writes the report.
func (s *session) finish(ctx context.Context, permit gates.Permit, exec gates.Exec) error {
	if err := s.destination(); err != nil {
		return err
	}
	streams := s.streams()
	s.text = render.NewText(streams.text, s.style(streams.text), nil)
	if !s.flags.status.on && permit != nil {
		s.live = render.NewProgress(s.app.err, terminal(s.app.err), s.app.now())
		s.text = render.NewText(streams.text, s.style(streams.text), s.live)
		stop := s.tick()
		defer stop()
	}
	if err := s.share(); err != nil {
		return err
	}
	after := func(gates.Report) {}
	if exec != nil {
		after = s.earlier(ctx)
	}
	report, err := gates.Check(ctx, s.job, permit, exec, s.text)
	after(report)
	if s.live != nil {
		s.live.Clear()
	}
	s.removed(report)
	return s.conclude(streams, report, err)
}

// removed prints the gates that the judged commit lost; no check tells about them.
func (s *session) removed(report gates.Report) {
	for _, l := range report.Ledgers {
		for _, g := range l.Gates {
			if g.State == gates.Removed {
				s.text.Result(g)
			}
		}
	}
}

// conclude prints what a run came to and returns its exit status.
func (s *session) conclude(streams streams, report gates.Report, err error) error {
	if err != nil && !errors.Is(err, gates.ErrInterrupted) {
		s.app.complain(err)
		if errors.As(err, new(*gates.UnknownError)) {
			fmt.Fprintln(s.app.err, "gatesworn: hint: gatesworn check --status")
		}
	}
	judged := !errors.Is(err, gates.ErrNothingJudged)
	if !s.broken && judged {
		s.text.Verdict(report, s.footer(report, err))
	}
	if w := s.document(streams, report); w != nil {
		return w
	}
	if s.text.Err() != nil {
		return fmt.Errorf("cannot print the verdict: %w", s.text.Err())
	}
	if err != nil {
		return status(2)
	}
	return status(gates.ExitCode(report))
}

func (s *session) footer(report gates.Report, err error) render.Footer {
	f := render.Footer{PullRequest: s.wants()}
	if errors.Is(err, gates.ErrInterrupted) {
		f.Next = again(s.app.args)
	}
	return f
}

// tick keeps the progress line alive until the returned func is called.
func (s *session) tick() (stop func()) {
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case <-s.app.after(200 * time.Millisecond):
				s.live.Tick(s.app.now())
			}
		}
	}()
	return func() { close(done); <-ended }
}

// streams says where text and the document go.
type streams struct{ text, document io.Writer }

func (s *session) streams() streams {
	if f := s.flags.format.value; f != "" && f != "text" && !s.flags.output.set {
		return streams{text: s.app.err, document: s.app.out}
	}
	return streams{text: s.app.out}
}

func (s *session) style(w io.Writer) render.Style {
	tty := terminal(w)
	color := tty && s.app.getenv("NO_COLOR") == "" && s.app.getenv("TERM") != "dumb"
	switch s.flags.color.value {
	case "always":
		color = true
	case "never":
		color = false
	}
	return render.Style{Terminal: tty, Color: color, Verbose: s.flags.verbose.on, AsPR: s.flags.asPR.on}
}

// findings prints what is wrong with the ledgers; it reports whether one of them is an error.
func (s *session) findings() bool {
	bad := false
	for _, src := range s.job.Sources {
		if len(src.Doc.Findings) == 0 {
			continue
		}
		ledger.FormatFindings(s.app.err, src.Path, src.Doc.Findings, maxFindings)
		if n := countErrors(src.Doc); n > 0 {
			bad = true
			fmt.Fprintf(s.app.err, "%s: %d %s, nothing was run\n", escape.Line(src.Path), n, plural(n, "error", "errors"))
		}
	}
	return bad
}

// maxFindings is how many findings of a ledger check shows; lint shows all (9-surfaces, B8).
const maxFindings = 20

func countErrors(d *ledger.Document) int {
	n := 0
	for _, f := range d.Findings {
		if f.Level == ledger.Error {
			n++
		}
	}
	return n
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// document writes the report in the format asked for, atomically when to a file.
func (s *session) document(out streams, report gates.Report) error {
	format := s.flags.format.value
	if format == "" || format == "text" {
		return nil
	}
	var b bytes.Buffer
	var err error
	switch format {
	case "json":
		err = render.JSON(&b, report)
	case "junit":
		err = render.JUnit(&b, report)
	case "markdown":
		page := markdown.JobSummary(&report, markdown.Place{}, markdown.MaxSummary)
		if out.document != nil {
			page = escape.LogBlock("", page) // in a job's log no line of it may be a command
		}
		b.WriteString(page)
	}
	if err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	if out.document != nil {
		_, err = out.document.Write(b.Bytes())
		return err
	}
	return safefile.Replace(s.output, b.Bytes(), 0o644)
}

// destination finds out where --output goes, before anything runs.
func (s *session) destination() (err error) {
	if s.flags.output.set {
		s.output, err = s.outputPath()
	}
	return err
}

// outputPath refuses to write over a ledger or into .gatesworn.
func (s *session) outputPath() (string, error) {
	dir, err := s.app.dir()
	if err != nil {
		return "", err
	}
	path := s.flags.output.value
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", usage("cannot write --output: %v", err)
	}
	path = filepath.Join(folder, filepath.Base(path))
	if s.isLedger(path) {
		return "", usage("--output would write over the ledger %q", path)
	}
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return "", usage("cannot write --output: %q is no regular file", path)
	}
	if rel, err := filepath.Rel(s.work.Top, path); err == nil && strings.HasPrefix(filepath.ToSlash(rel)+"/", approval.RootFolder+"/") {
		return "", usage("--output cannot be beneath .gatesworn")
	}
	return path, nil
}

// isLedger knows the ledgers of this run, the places where others are found without
// being named, and a page that holds gates: a report must not take their place.
func (s *session) isLedger(path string) bool {
	for _, src := range s.job.Sources {
		if src.Abs == path {
			return true
		}
	}
	name, folder := filepath.Base(path), filepath.Base(filepath.Dir(path))
	if !strings.EqualFold(filepath.Ext(name), ".md") {
		return false
	}
	if strings.EqualFold(name, "GATES.md") || folder == "gates" {
		return true
	}
	file, err := safefile.Read(path, ledger.MaxSize)
	return err == nil && len(ledger.Parse(name, file.Data).Gates) > 0
}
