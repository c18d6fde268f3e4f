package ghreport

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/ghreport/markdown"
)

// grace is how long publishing goes on after the run was told to stop: GitHub
// kills a step 10 seconds after its first signal (actions/runner ProcessInvoker).
const grace = 4 * time.Second

// CommentDone says what became of the comment. The zero value: not attempted, or
// a fault says why not.
type CommentDone string

const (
	CommentCreated    CommentDone = "created"
	CommentUpdated    CommentDone = "updated"
	CommentUnchanged  CommentDone = "unchanged"
	CommentNotNeeded  CommentDone = "not needed"
	CommentSuperseded CommentDone = "superseded" // by a newer head or run
)

// Outcome is what was published.
type Outcome struct {
	CheckRunID  int64 // 0: there is none, or it was not completed
	CheckRunURL string
	Annotations int // accepted
	Comment     CommentDone
	CommentURL  string
	Faults      []Fault
}

func (o *Outcome) fault(s Sink, doing string, err error) {
	o.Faults = append(o.Faults, Fault{Sink: s, Doing: doing, Kind: Classify(err), Err: err})
}

// Remarks are plain last lines for the job summary: what is missing on the pull
// request and why, once per sink.
func (o Outcome) Remarks() []string {
	var out []string
	said := map[Sink]bool{}
	for _, f := range o.Faults {
		if said[f.Sink] {
			continue
		}
		said[f.Sink] = true
		switch {
		case f.Kind == Denied && f.Sink == SinkComment:
			out = append(out, "No comment: the token has no pull-requests: write (normal for forks).")
		case f.Kind == Denied:
			out = append(out, "No check run: the token has no checks: write (normal for forks).")
		default:
			out = append(out, "Not everything was published: "+f.Error()+".")
		}
	}
	return out
}

// Published reports whether any sink has the report.
func (o Outcome) Published() bool { return o.CheckRunID != 0 || o.CommentURL != "" }

// Publisher publishes one report for one target. It is not safe for concurrent use.
type Publisher struct {
	check *checkRun
	note  *sticky
	out   *Outcome
	begun bool
	done  bool
	grace time.Duration
}

// New makes a publisher. now is the clock of the times that a check run shows.
func New(checks Checks, comments Comments, t Target, now func() time.Time) (*Publisher, error) {
	if checks == nil || comments == nil || now == nil {
		return nil, errors.New("no API or no clock")
	}
	if err := t.Validate(); err != nil {
		return nil, err
	}
	out := &Outcome{}
	return &Publisher{
		check: &checkRun{api: checks, t: t, now: now, out: out},
		note:  &sticky{api: comments, checks: checks, t: t, out: out},
		out:   out,
		grace: grace,
	}, nil
}

// Begin creates the check run as in progress and completes those that earlier,
// killed runs left open. It cannot fail: faults are in the Outcome.
func (p *Publisher) Begin(ctx context.Context) {
	if p.begun {
		return
	}
	p.begun = true
	p.check.open(ctx)
}

// Finish completes the check run, adds the annotations and keeps the comment. It
// goes on for a few seconds after ctx ended, so that a signal leaves nothing open.
// A second call does nothing.
func (p *Publisher) Finish(ctx context.Context, r *gates.Report) Outcome {
	ctx, cancel := lasting(ctx, p.grace)
	defer cancel()
	p.Begin(ctx)
	if p.done {
		return *p.out
	}
	p.done = true
	p.check.complete(ctx, r.Conclusion, markdown.Check(r, p.check.t.Place))
	p.note.author = p.author()
	p.note.keep(ctx, r)
	return *p.out
}

// Abort completes the check run as a failure that has no report: why is shown.
// It does nothing after Finish.
func (p *Publisher) Abort(ctx context.Context, why string) Outcome {
	ctx, cancel := lasting(ctx, p.grace)
	defer cancel()
	p.Begin(ctx)
	if p.done {
		return *p.out
	}
	p.done = true
	p.check.complete(ctx, gates.Failure, markdown.CheckRun{Title: why, Summary: "No gate was judged: " + why + ". The job's log says more."})
	return *p.out
}

// author is the login that our comments have.
func (p *Publisher) author() string {
	switch {
	case p.check.t.Author != "":
		return p.check.t.Author
	case p.check.run.App != "":
		return p.check.run.App + "[bot]"
	}
	return defaultAuthor
}

// Around begins, runs work, and finishes with its report, whatever happens: an
// error or an end of ctx without a report completes the check run as a failure, a
// panic does too and goes on. The report and the error are work's own.
func (p *Publisher) Around(ctx context.Context, work func(context.Context) (*gates.Report, error)) (r *gates.Report, out Outcome, err error) {
	p.Begin(ctx)
	defer func() {
		if v := recover(); v != nil {
			p.Abort(ctx, "gatesworn crashed")
			panic(v)
		}
	}()
	r, err = work(ctx)
	switch {
	case r != nil:
		out = p.Finish(ctx, r)
	case ctx.Err() != nil:
		out = p.Abort(ctx, "interrupted")
	case err != nil:
		out = p.Abort(ctx, "the gates could not be judged")
	default:
		out = p.Abort(ctx, "there is no report")
		err = fmt.Errorf("no report")
	}
	return r, out, err
}

// lasting returns a context that outlives ctx by the grace.
func lasting(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		t := time.NewTimer(grace)
		defer t.Stop()
		select {
		case <-t.C:
			cancel()
		case <-longer.Done():
		}
	})
	return longer, func() { stop(); cancel() }
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
