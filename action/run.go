package action

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/sethvargo/go-githubactions"

	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/ghreport"
	"github.com/gatesworn/gatesworn/ghreport/markdown"
	"github.com/gatesworn/gatesworn/internal/escape"
)

// exitTrouble is the status of a run that could not be carried out.
const exitTrouble = 2

// run is one call of the action.
type run struct {
	host    Host
	in      Inputs
	event   Event
	api     *ghreport.Client
	sinks   *sinks
	hide    func(string) string
	log     io.Writer
	closers []func()
	started time.Time
	report  gates.Report
	code    int
}

// Run does what the step's inputs ask and returns its exit status: the verdict's,
// whatever became of the sinks; 2 for everything that could not be carried out.
func Run(ctx context.Context, h Host) int {
	redactor := h.redactor()
	out := &lineLog{to: h.Out, hide: redactor.Redact}
	r := &run{host: h, hide: redactor.Redact, log: out, started: h.Now(), code: exitTrouble}
	defer func() {
		for _, c := range r.closers {
			c()
		}
		_ = out.Close() // a closed log changes no verdict
	}()
	library := githubactions.New(githubactions.WithWriter(out), githubactions.WithGetenv(h.lookup))
	var err error
	if r.in, err = ParseInputs(library.GetInput, h.lookup("GITHUB_API_URL")); err != nil {
		return r.fail(err)
	}
	if token := r.in.Token; !strings.ContainsAny(token, "\r\n") {
		// Straight to the log: behind the redactor the mask would hide "***".
		githubactions.New(githubactions.WithWriter(h.Out), githubactions.WithGetenv(h.lookup)).AddMask(token)
	}
	if err := r.open(); err != nil {
		return r.fail(err)
	}
	switch r.in.Mode {
	case ModeMeasure:
		r.measured(ctx)
	case ModePublish:
		return r.publishSaved(ctx)
	default:
		r.runAndPublish(ctx)
	}
	return r.code
}

// open reads the event and opens sinks and client.
func (r *run) open() error {
	signal, err := r.signal()
	if err != nil {
		return err
	}
	read := ReadEvent
	if r.in.Mode == ModePublish {
		read = ReadPublishEvent
	}
	if r.event, err = read(signal); err != nil {
		return err
	}
	r.api, err = ghreport.NewClient(ghreport.Config{
		Repository: r.env("GITHUB_REPOSITORY"), Token: r.in.Token, BaseURL: r.in.APIURL, Now: r.host.Now, Sleep: r.host.Sleep,
	})
	if err != nil {
		return fmt.Errorf("cannot talk to the API: %w", err)
	}
	if r.in.Mode == ModePublish {
		return nil
	}
	r.sinks, err = openSinks(r.env("GITHUB_WORKSPACE"), r.in.ReportFile, r.env("GITHUB_OUTPUT"), r.env("GITHUB_STEP_SUMMARY"), owner(r.env("GITHUB_WORKSPACE")))
	r.sinks.random, r.sinks.hide = r.host.Random, r.hide
	r.closers = append(r.closers, r.sinks.close)
	if err != nil {
		r.warn("%v", err)
	}
	return nil
}

func (r *run) signal() (Signal, error) {
	s := Signal{Name: r.env("GITHUB_EVENT_NAME"), SHA: r.env("GITHUB_SHA"), Ref: r.env("GITHUB_REF")}
	if s.Name == "" {
		return s, nil
	}
	f, err := os.Open(r.env("GITHUB_EVENT_PATH"))
	if err != nil {
		return s, fmt.Errorf("cannot read the event file: %w", err)
	}
	defer f.Close()
	s.Payload, err = io.ReadAll(io.LimitReader(f, MaxEvent+1))
	if err != nil {
		return s, fmt.Errorf("cannot read the event file: %w", err)
	}
	return s, nil
}

func (r *run) env(name string) string { return r.host.lookup(name) }

func (r *run) tool() gates.Tool { return gates.Tool{Name: "gatesworn", Version: r.host.Version} }

// fail ends a run before it could judge anything.
func (r *run) fail(err error) int {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintf(r.log, "::error title=gatesworn::%s\n", escape.CommandData(r.hide(line)))
	}
	return exitTrouble
}

func (r *run) warn(format string, args ...any) {
	fmt.Fprintf(r.log, "::warning title=gatesworn::%s\n", escape.CommandData(r.hide(fmt.Sprintf(format, args...))))
}

// measured judges, fixes the verdict and the exit status, and writes what stays
// on this machine.
func (r *run) measured(ctx context.Context) *gates.Report {
	report, err := r.measure(ctx)
	redactReport(&report, r.hide)
	r.code = gates.ExitCode(report)
	if err != nil {
		r.code = exitTrouble
		_ = r.fail(err)
	}
	r.report = report
	if err := r.sinks.settle(report, r.in.ReportFile, Attest(report, r.logURL())); err != nil {
		r.warn("%v", err)
	}
	r.summarise(nil)
	return &r.report
}

func (r *run) summarise(remarks []string) {
	at := r.where()
	at.Remarks = remarks
	if err := r.sinks.writeSummary(markdown.JobSummary(&r.report, at, markdown.MaxSummary)); err != nil {
		r.warn("%v", err)
	}
}

// runAndPublish is the single-job form. The check run is opened first and always
// completed; the report is on disk before anything is published.
func (r *run) runAndPublish(ctx context.Context) {
	publisher, err := ghreport.New(r.api, r.api, r.target(), r.host.Now)
	if err != nil {
		r.warn("nothing can be published: %v", err)
		r.measured(ctx)
		return
	}
	_, out, _ := publisher.Around(ctx, func(ctx context.Context) (*gates.Report, error) {
		return r.measured(ctx), nil
	})
	r.published(out)
	r.summarise(out.Remarks())
}

// published reports what was published: addresses as outputs, faults as notes.
func (r *run) published(out ghreport.Outcome) {
	for _, f := range out.Faults {
		if f.Kind != ghreport.Denied { // a missing permission is normal and stands in the summary
			r.warn("%v", f)
		}
	}
	if r.sinks == nil {
		return
	}
	err := errors.Join(r.sinks.output("check_run_url", out.CheckRunURL), r.sinks.output("comment_url", out.CommentURL))
	if err != nil {
		r.warn("%v", err)
	}
}

// target says where results go.
func (r *run) target() ghreport.Target {
	id, _ := strconv.ParseInt(r.env("GITHUB_RUN_ID"), 10, 64) // zero is refused by the publisher
	attempt, _ := strconv.Atoi(orElse(r.env("GITHUB_RUN_ATTEMPT"), "1"))
	return ghreport.Target{
		CheckName: r.in.CheckName, HeadSHA: headOf(r.event), Before: r.event.Before, PullRequest: r.event.Number,
		Comment: r.in.Comment, Annotations: r.in.Annotations, RunID: id, Attempt: attempt,
		Stream: r.stream(), DetailsURL: r.logURL(), Place: r.where(),
	}
}

// stream names the runs that replace each other: workflow file, event, pull request.
func (r *run) stream() string {
	file, _, _ := strings.Cut(r.env("GITHUB_WORKFLOW_REF"), "@")
	if _, after, ok := strings.Cut(file, "/.github/workflows/"); ok {
		file = path.Base(after)
	}
	return strings.TrimSpace(orElse(file, r.env("GITHUB_WORKFLOW")) + " " + r.event.Name + " " + strconv.Itoa(r.event.Number))
}

func (r *run) where() markdown.Place {
	return markdown.Place{Server: r.env("GITHUB_SERVER_URL"), Log: r.logURL()}
}

func (r *run) logURL() string {
	server, repo, id := r.env("GITHUB_SERVER_URL"), r.env("GITHUB_REPOSITORY"), r.env("GITHUB_RUN_ID")
	if server == "" || repo == "" || id == "" {
		return ""
	}
	return strings.TrimSuffix(server, "/") + "/" + repo + "/actions/runs/" + id
}
