package action

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/ghreport"
	"github.com/gatesworn/gatesworn/ghreport/markdown"
	"github.com/gatesworn/gatesworn/internal/safefile"
)

// MaxReport is the largest report read, in bytes: 500 gates with their outputs.
const MaxReport = 64 << 20

// ParseReport reads a saved report, which may come from a job that ran a pull
// request's code: counts, verdict and conclusion are worked out again.
func ParseReport(data []byte) (gates.Report, error) {
	var r gates.Report
	if len(data) > MaxReport {
		return r, fmt.Errorf("the report is over %d MiB", MaxReport>>20)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return r, fmt.Errorf("cannot read the report: %v", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return r, errors.New("cannot read the report: something follows it")
	}
	if r.Schema != gates.Schema {
		return r, fmt.Errorf("the report's schema is %q, not %q", r.Schema, gates.Schema)
	}
	said := r
	r = gates.Evaluate(r)
	switch {
	case said.Verdict == gates.VerdictError:
		// What went wrong need not show in the gates.
		r.Verdict, r.Conclusion = gates.VerdictError, gates.Failure
	case r.Verdict != said.Verdict || r.Conclusion != said.Conclusion || r.Counts != said.Counts:
		return said, fmt.Errorf("the report contradicts itself: it says %s, its gates say %s", said.Verdict, r.Verdict)
	}
	return r, nil
}

// publishSaved is mode publish: it runs nothing of the pull request.
func (r *run) publishSaved(ctx context.Context) int {
	parts := make([]gates.Report, len(r.in.Parts))
	for i, name := range r.in.Parts {
		file, err := safefile.ReadBeneath(r.env("GITHUB_WORKSPACE"), name, MaxReport)
		if err != nil {
			return r.fail(fmt.Errorf("cannot read the report of the measuring job: %w", err))
		}
		if parts[i], err = ParseReport(file.Data); err != nil {
			return r.fail(err)
		}
	}
	report, err := Merge(parts)
	if err != nil {
		return r.fail(err)
	}
	return r.publishReport(ctx, report)
}

// Publish is gatesworn publish: like mode publish, for a report that was read and
// merged already, with the inputs' defaults and GITHUB_TOKEN. It returns the exit status.
func Publish(ctx context.Context, h Host, report gates.Report) int {
	redactor := h.redactor()
	r := &run{host: h, hide: redactor.Redact, log: h.Out, started: h.Now(), code: exitTrouble}
	defer func() {
		for _, c := range r.closers {
			c()
		}
	}()
	get := func(name string) string {
		switch name {
		case "github_token":
			return h.lookup("GITHUB_TOKEN")
		case "mode":
			return string(ModePublish)
		}
		return ""
	}
	var err error
	if r.in, err = ParseInputs(get, h.lookup("GITHUB_API_URL")); err != nil {
		return r.fail(err)
	}
	if err := r.open(); err != nil {
		return r.fail(err)
	}
	return r.publishReport(ctx, report)
}

// publishReport publishes a report that this run's own measuring job wrote.
func (r *run) publishReport(ctx context.Context, report gates.Report) int {
	t := r.target()
	if r.event.Run > 0 {
		fork, err := r.forkTarget(ctx, report)
		if err != nil {
			return r.fail(err)
		}
		t = fork
	} else if err := r.belongs(report); err != nil {
		return r.fail(err)
	}
	redactReport(&report, r.hide)
	r.report = report
	var checks ghreport.Checks = r.api
	if r.event.Run > 0 {
		checks = noChecks{}
	}
	publisher, err := ghreport.New(checks, r.api, t, r.host.Now)
	if err != nil {
		return r.fail(fmt.Errorf("cannot publish: %w", err))
	}
	out := publisher.Finish(ctx, &report)
	if r.event.Run > 0 {
		out.Faults = slices.DeleteFunc(out.Faults, func(f ghreport.Fault) bool { return f.Sink == ghreport.SinkCheck })
	}
	if err := r.openPublished(); err != nil {
		r.warn("%v", err)
	}
	r.published(out)
	done := out.Published() || len(out.Faults) == 0 && r.event.Run > 0 // a fork's success needs no comment
	if !done {
		for _, remark := range out.Remarks() {
			r.warn("%s", remark)
		}
		return exitTrouble
	}
	return gates.ExitCode(report)
}

// belongs checks that a report is of this very run's commit.
func (r *run) belongs(report gates.Report) error {
	s := report.Subject
	if s.JudgedCommit != r.event.Commit || s.HeadSHA != headOf(r.event) || s.PullRequest != r.event.Number || s.Repository != r.env("GITHUB_REPOSITORY") {
		return fmt.Errorf("the report is of another commit or pull request (%.12s of %s), not of %.12s: hand over the one that this workflow run wrote", s.JudgedCommit, s.Repository, r.event.Commit)
	}
	return nil
}

// openPublished opens the outputs of the publishing step.
func (r *run) openPublished() error {
	path := r.env("GITHUB_OUTPUT")
	if path == "" {
		return nil
	}
	f, err := openAppend(path)
	if err != nil {
		return fmt.Errorf("cannot open GITHUB_OUTPUT: %w", err)
	}
	r.sinks = &sinks{outputs: f, random: r.host.Random, hide: r.hide}
	r.closers = append(r.closers, r.sinks.close)
	return errors.Join(
		r.sinks.output("conclusion", string(r.report.Conclusion)),
		r.sinks.output("verdict", string(r.report.Verdict)),
	)
}

// DryRun prints exactly what would be posted for a report.
func DryRun(w io.Writer, report gates.Report, at markdown.Place) error {
	check := markdown.Check(&report, at)
	annotations, err := json.MarshalIndent(check.Annotations, "", "  ")
	if err != nil {
		return err
	}
	for _, part := range [][2]string{
		{"check run title", check.Title},
		{"check run conclusion", string(report.Conclusion)},
		{"check run summary", check.Summary},
		{"check run text", check.Text},
		{"annotations", string(annotations)},
		{"comment", markdown.Comment(&report, at, markdown.MaxComment)},
		{"job summary", markdown.JobSummary(&report, at, markdown.MaxSummary)},
	} {
		if _, err := fmt.Fprintf(w, "==> %s <==\n%s\n", part[0], part[1]); err != nil {
			return err
		}
	}
	return nil
}
