package ghreport

import (
	"context"
	"time"

	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/ghreport/markdown"
)

// maxRepairs bounds how many check runs that killed processes left open one run
// completes: each is a write.
const maxRepairs = 2

// checkRun is the life of one check run.
type checkRun struct {
	api Checks
	t   Target
	now func() time.Time
	run CheckRun // ID 0: not created
	out *Outcome
	bar bool // creating was denied: do not try again
}

// open finds or creates the check run and completes what others left open.
func (c *checkRun) open(ctx context.Context) {
	there, err := c.api.CheckRuns(ctx, c.t.HeadSHA, c.t.CheckName)
	if err != nil {
		c.out.fault(SinkCheck, "list the check runs", err)
	}
	w := CheckWrite{
		Name: c.t.CheckName, HeadSHA: c.t.HeadSHA, ExternalID: c.t.externalID(), DetailsURL: c.t.DetailsURL,
		Status: "in_progress", StartedAt: c.now(),
	}
	if mine, ok := c.mine(there); ok {
		c.reopen(ctx, mine, w)
	} else {
		c.create(ctx, w)
	}
	if c.t.Before != "" && c.t.Before != c.t.HeadSHA {
		if earlier, err := c.api.CheckRuns(ctx, c.t.Before, c.t.CheckName); err == nil {
			there = append(there, earlier...)
		}
	}
	c.repair(ctx, there)
}

func (c *checkRun) mine(there []CheckRun) (CheckRun, bool) {
	for _, r := range there {
		if r.ExternalID == c.t.externalID() {
			return r, true
		}
	}
	return CheckRun{}, false
}

// reopen goes on with the check run of this very run and attempt.
func (c *checkRun) reopen(ctx context.Context, mine CheckRun, w CheckWrite) {
	c.run = mine
	if mine.Status != "completed" {
		return
	}
	w.StartedAt = time.Time{}
	if _, err := c.api.UpdateCheckRun(ctx, mine.ID, w); err != nil {
		c.out.fault(SinkCheck, "reopen the check run", err)
	}
}

// create creates the check run once: when the answer was lost, it is looked for
// before another is made.
func (c *checkRun) create(ctx context.Context, w CheckWrite) {
	r, err := c.api.CreateCheckRun(ctx, w)
	if Classify(err) == Unavailable {
		if there, lerr := c.api.CheckRuns(ctx, c.t.HeadSHA, c.t.CheckName); lerr == nil {
			if mine, ok := c.mine(there); ok {
				c.run = mine
				return
			}
			r, err = c.api.CreateCheckRun(ctx, w)
		}
	}
	if err != nil {
		c.bar = Classify(err) == Denied
		c.out.fault(SinkCheck, "create the check run", err)
		return
	}
	c.run = r
}

// repair completes older check runs of the same stream that are still open: a
// killed process left them, or a process that this run replaces. The latter
// overwrites this when it ends.
func (c *checkRun) repair(ctx context.Context, there []CheckRun) {
	stream, me, _ := parseExternalID(c.t.externalID())
	n := 0
	for _, r := range there {
		s, ro, ok := parseExternalID(r.ExternalID)
		if !ok || s != stream || r.Status == "completed" || !me.after(ro) || r.ID == c.run.ID {
			continue
		}
		if n++; n > maxRepairs {
			return
		}
		_, err := c.api.UpdateCheckRun(ctx, r.ID, CheckWrite{
			Name: c.t.CheckName, Status: "completed", Conclusion: string(gates.Failure), CompletedAt: c.now(),
			Output: markdown.CheckRun{Title: "interrupted", Summary: "The run that opened this check run ended without a result. A later run replaces it."},
		})
		if err != nil {
			c.out.fault(SinkCheck, "complete an interrupted check run", err)
		}
	}
}

// complete ends the check run with a conclusion, whatever else is refused.
func (c *checkRun) complete(ctx context.Context, conclusion gates.Conclusion, page markdown.CheckRun) {
	if c.run.ID == 0 && c.bar {
		return
	}
	if !c.t.Annotations {
		page.Annotations = nil
	}
	notes := page.Annotations
	page.Annotations = notes[:min(len(notes), MaxAnnotations)]
	w := CheckWrite{
		Name: c.t.CheckName, HeadSHA: c.t.HeadSHA, ExternalID: c.t.externalID(), DetailsURL: c.t.DetailsURL,
		Status: "completed", Conclusion: concluded(conclusion), CompletedAt: c.now(), Output: page,
	}
	sent, ok := c.ladder(ctx, w)
	if !ok {
		return
	}
	c.out.CheckRunID, c.out.CheckRunURL = c.run.ID, c.run.URL
	c.out.Annotations = sent
	if sent == len(page.Annotations) && len(notes) > sent {
		c.more(ctx, w, notes[sent:])
	}
}

// concluded never lets an unknown conclusion pass.
func concluded(c gates.Conclusion) string {
	switch c {
	case gates.Success, gates.ActionRequired:
		return string(c)
	}
	return string(gates.Failure)
}

// ladder writes w, and less of it each time it is refused: without annotations,
// without text, at last the bare conclusion. It returns how many annotations were
// accepted.
func (c *checkRun) ladder(ctx context.Context, w CheckWrite) (int, bool) {
	steps := []func(*CheckWrite){
		func(*CheckWrite) {},
		func(w *CheckWrite) { w.Output.Annotations = nil },
		func(w *CheckWrite) { w.Output.Text = "" },
		func(w *CheckWrite) { w.Output = markdown.CheckRun{} },
	}
	var err error
	for i, less := range steps {
		before := w.Output
		less(&w)
		if i > 0 && same(before, w.Output) {
			continue
		}
		if err = c.write(ctx, w); err == nil {
			return len(w.Output.Annotations), true
		}
		switch Classify(err) {
		case Rejected:
			sink := SinkCheck
			if i == 0 && len(w.Output.Annotations) > 0 {
				sink = SinkAnnotations
			}
			c.out.fault(sink, "write all of the check run", err)
		case Unavailable:
			w.Output = markdown.CheckRun{} // an answer that never comes may be a body that is too much
		default:
			c.out.fault(SinkCheck, "complete the check run", err)
			return 0, false
		}
	}
	c.out.fault(SinkCheck, "complete the check run", err)
	return 0, false
}

func same(a, b markdown.CheckRun) bool {
	return a.Title == b.Title && a.Text == b.Text && len(a.Annotations) == len(b.Annotations)
}

// write creates or updates. When the answer is lost it looks whether the write
// happened, since annotations would be added twice, and repeats it once if not.
func (c *checkRun) write(ctx context.Context, w CheckWrite) error {
	had := c.run.Annotations
	err := c.put(ctx, w)
	if Classify(err) != Unavailable {
		return err
	}
	there, lerr := c.api.CheckRuns(ctx, c.t.HeadSHA, c.t.CheckName)
	if lerr != nil {
		return err
	}
	if mine, ok := c.mine(there); ok {
		c.run = mine
		if mine.Status == "completed" && mine.Conclusion == w.Conclusion && mine.Annotations == had+len(w.Output.Annotations) {
			return nil
		}
	}
	return c.put(ctx, w)
}

func (c *checkRun) put(ctx context.Context, w CheckWrite) error {
	var r CheckRun
	var err error
	if c.run.ID == 0 {
		r, err = c.api.CreateCheckRun(ctx, w)
	} else {
		r, err = c.api.UpdateCheckRun(ctx, c.run.ID, w)
	}
	if err == nil {
		had := c.run.Annotations
		c.run = r
		c.run.Annotations = max(r.Annotations, had+len(w.Output.Annotations))
	}
	return err
}

// more appends the annotations after the first batch. The rest of the output is
// sent again: it would be replaced by nothing otherwise.
func (c *checkRun) more(ctx context.Context, w CheckWrite, notes []markdown.Annotation) {
	for len(notes) > 0 {
		n := min(len(notes), MaxAnnotations)
		w.Output.Annotations = notes[:n]
		if err := c.write(ctx, w); err != nil {
			c.out.fault(SinkAnnotations, "add "+plural(len(notes), "more annotation"), err)
			return
		}
		c.out.Annotations += n
		notes = notes[n:]
	}
}
