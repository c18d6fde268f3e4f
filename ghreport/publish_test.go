package ghreport

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/ghreport/ghtest"
)

func TestPublish(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.load(t, "realistic")
	p := w.publisher(t, w.target)
	p.Begin(context.Background())
	if c := w.only(t); c.Status != "in_progress" || c.Conclusion != "" || c.Name != DefaultCheckName {
		t.Errorf("after Begin: %+v", c)
	}
	out := p.Finish(context.Background(), r)
	c := w.only(t)
	if c.Status != "completed" || c.Conclusion != "failure" || c.Title != "G3 failed, G5 removed, G4 not signed (2 of 5 met)" || len(c.Annotations) != 3 {
		t.Errorf("after Finish: %+v", c)
	}
	if len(out.Faults) > 0 || out.Annotations != 3 || out.Comment != CommentCreated || out.CheckRunID != c.ID || !out.Published() {
		t.Errorf("outcome %+v", out)
	}
	if m := w.mine(t); !strings.Contains(m.Body, "### 2 of 5 gates met") || out.CommentURL == "" {
		t.Errorf("comment %q", m.Body)
	}
	if w.Reads() > 5 || w.Writes() > 4 {
		t.Errorf("%d reads, %d writes: %v", w.Reads(), w.Writes(), w.Calls())
	}
	if again := p.Finish(context.Background(), r); again.CheckRunID != out.CheckRunID || w.Writes() > 3 {
		t.Errorf("a second Finish wrote: %v", w.Calls())
	}
}

func TestConclusions(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"met": "success", "unsigned": "action_required", "malformed": "failure", "bootstrap": "action_required"} {
		w := newWorld(t)
		w.publish(t, w.target, w.load(t, name))
		if c := w.only(t); c.Conclusion != want {
			t.Errorf("%s: %s, want %s", name, c.Conclusion, want)
		}
	}
	for _, odd := range []gates.Conclusion{"", "neutral", "skipped", "pass"} {
		if got := concluded(odd); got != "failure" {
			t.Errorf("%q becomes %q", odd, got)
		}
	}
}

func TestAnnotationBatches(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 50, 51, 120} {
		w := newWorld(t)
		out := w.publish(t, w.target, failing(n))
		c := w.only(t)
		if out.Annotations != n || len(c.Annotations) != n || len(out.Faults) > 0 || c.Text == "" {
			t.Errorf("%d: %d accepted, %d there, faults %v", n, out.Annotations, len(c.Annotations), out.Faults)
		}
		if n <= 50 && w.Writes() > 3 {
			t.Errorf("%d writes for %d annotations", w.Writes(), n)
		}
	}
	w := newWorld(t)
	w.target.Annotations = false
	w.publish(t, w.target, failing(3))
	if c := w.only(t); len(c.Annotations) != 0 {
		t.Errorf("annotations although switched off")
	}
}

// 422 on annotations, on the text, on any output: less each time, completed always.
func TestLadder(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		refuse      string
		text, title bool
	}{
		{`"annotations"`, true, true},
		{`"text"`, false, true},
		{`"output"`, false, false},
	} {
		w := newWorld(t)
		w.Break(ghtest.Fault{Method: http.MethodPatch, Path: "/check-runs/", Body: tc.refuse, Status: 422})
		out := w.publish(t, w.target, w.load(t, "realistic"))
		c := w.only(t)
		if c.Status != "completed" || c.Conclusion != "failure" || len(c.Annotations) != 0 || c.Text != "" != tc.text || c.Title != "" != tc.title {
			t.Errorf("%s refused: %+v", tc.refuse, c)
		}
		if len(out.Faults) == 0 || out.Comment != CommentCreated {
			t.Errorf("%s refused: %+v", tc.refuse, out)
		}
	}
}

// Every fault at every write and read: the report stays as it was, nothing is
// written twice, and what is open afterwards the next run completes.
func TestFaults(t *testing.T) {
	t.Parallel()
	places := []struct {
		name, method, path string
		skip               int
	}{
		{"list checks", "GET", "/check-runs", 0},
		{"create check", "POST", "/check-runs", 0},
		{"complete check", "PATCH", "/check-runs/", 0},
		{"second batch", "PATCH", "/check-runs/", 1},
		{"read pull", "GET", "/pulls/", 0},
		{"list comments", "GET", "/comments", 0},
		{"look again", "GET", "/comments", 1},
		{"post comment", "POST", "/comments", 0},
	}
	faults := map[string]ghtest.Fault{
		"403": {Status: 403}, "404": {Status: 404}, "422": {Status: 422, Times: 1}, "422 always": {Status: 422},
		"429 retry-after": {Status: 429, Header: http.Header{"Retry-After": {"7"}}, Times: 1}, "429 bare": {Status: 429, Times: 1}, "429 always": {Status: 429},
		"403 secondary": {Status: 403, Answer: `{"message":"You have exceeded a secondary rate limit. Please wait."}`, Times: 1},
		"403 exhausted": {Status: 403, Header: http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"1795000000"}}},
		"500 once":      {Status: 500, Times: 1}, "502 after": {Status: 502, After: true, Times: 1}, "503 always": {Status: 503},
		"torn": {Times: 1}, "torn after": {After: true, Times: 1}, "torn always": {}, "half": {Half: true, Times: 1}, "half always": {Half: true},
	}
	for _, place := range places {
		for name, f := range faults {
			t.Run(place.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				f.Method, f.Path, f.Skip = place.method, place.path, place.skip
				w.Break(f)
				r := failing(60)
				p := w.publisher(t, w.target)
				p.Begin(context.Background())
				out := p.Finish(context.Background(), r)
				if r.Verdict != gates.VerdictUnmet || r.Conclusion != gates.Failure {
					t.Fatalf("the verdict changed")
				}
				if w.clock.total() > DefaultMaxWait {
					t.Errorf("waited %v", w.clock.total())
				}
				if len(w.Calls()) > 60 {
					t.Errorf("%d calls", len(w.Calls()))
				}
				once := f.Times == 1 && f.Status != 422
				checkAftermath(t, w, out, once)
				w.Mend()
				next := w.target
				next.RunID++
				w.publish(t, next, r)
				for _, c := range w.Checks() {
					if c.Status != "completed" || c.Conclusion == "success" {
						t.Errorf("left open after the next run: %+v", c)
					}
				}
				w.mine(t)
			})
		}
	}
}

func checkAftermath(t *testing.T, w *world, out Outcome, passing bool) {
	t.Helper()
	checks := w.Checks()
	if len(checks) > 1 {
		t.Errorf("%d check runs", len(checks))
	}
	for _, c := range checks {
		if len(c.Annotations) > 60 {
			t.Errorf("%d annotations of 60", len(c.Annotations))
		}
	}
	if n := len(w.Comments(412)); n > 1 {
		t.Errorf("%d comments", n)
	}
	if !passing {
		return
	}
	// What goes wrong once is made good in the same run.
	if len(checks) != 1 || checks[0].Status != "completed" || len(checks[0].Annotations) != 60 || len(w.Comments(412)) != 1 {
		t.Errorf("not made good: %d checks, %d comments, faults %v\n%v", len(checks), len(w.Comments(412)), out.Faults, w.Calls())
	}
}

func TestReadOnlyToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.May["checks"], w.May["pull_requests"] = "read", "read"
	out := w.publish(t, w.target, failing(2))
	if out.Published() || len(out.Faults) == 0 {
		t.Errorf("%+v", out)
	}
	for _, f := range out.Faults {
		if f.Kind != Denied || !strings.Contains(f.Error(), "missing permission or not visible") {
			t.Errorf("fault %v", f)
		}
	}
	want := []string{"No check run: the token has no checks: write (normal for forks).", "No comment: the token has no pull-requests: write (normal for forks)."}
	if got := out.Remarks(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("remarks %q", got)
	}
	if w.Writes() > 2 {
		t.Errorf("%d writes of a token that may not write: %v", w.Writes(), w.Calls())
	}
}

// A process that was killed after Begin leaves a check run open; the next run for
// the commit completes it, and only it.
func TestRepair(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publisher(t, w.target).Begin(context.Background())
	other := w.target
	other.Stream = "gatesworn.yml push main"
	w.publisher(t, other).Begin(context.Background())
	w.AddCheck(ghtest.CheckRun{Name: DefaultCheckName, HeadSHA: w.head, Status: "in_progress", ExternalID: "somebody else's"})
	next := w.target
	next.Attempt = 2
	out := w.publish(t, next, failing(1))
	var open int
	for _, c := range w.Checks() {
		switch {
		case c.ExternalID == w.target.externalID() && (c.Status != "completed" || c.Conclusion != "failure" || c.Title != "interrupted"):
			t.Errorf("not repaired: %+v", c)
		case c.Status != "completed":
			open++
		}
	}
	if open != 2 || len(out.Faults) > 0 {
		t.Errorf("%d open, faults %v", open, out.Faults)
	}
}

// The same after a push: the open run is on the head before.
func TestRepairEarlierHead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publisher(t, w.target).Begin(context.Background())
	now := w.target
	now.Before, now.HeadSHA, now.RunID = w.head, w.Commit(map[string]ghtest.File{"x": {Data: "y"}}, w.head), 101
	w.Pull(ghtest.Pull{Number: 412, HeadSHA: now.HeadSHA})
	w.publish(t, now, failing(1))
	for _, c := range w.Checks() {
		if c.Status != "completed" {
			t.Errorf("open: %+v", c)
		}
	}
}

// The same run and attempt goes on with its own check run.
func TestReopen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish(t, w.target, failing(1))
	p := w.publisher(t, w.target)
	p.Begin(context.Background())
	if c := w.only(t); c.Status != "in_progress" {
		t.Errorf("not reopened: %+v", c)
	}
	p.Finish(context.Background(), w.load(t, "met"))
	if c := w.only(t); c.Conclusion != "success" {
		t.Errorf("%+v", c)
	}
}

func TestAround(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	t.Run("error", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		_, _, err := w.publisher(t, w.target).Around(context.Background(), func(context.Context) (*gates.Report, error) { return nil, boom })
		if !errors.Is(err, boom) || w.only(t).Conclusion != "failure" {
			t.Errorf("%v, %+v", err, w.only(t))
		}
	})
	t.Run("panic", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			_, _, _ = w.publisher(t, w.target).Around(context.Background(), func(context.Context) (*gates.Report, error) { panic("x") })
		}()
		if c := w.only(t); c.Conclusion != "failure" || c.Title != "gatesworn crashed" {
			t.Errorf("%+v", c)
		}
	})
	t.Run("signal", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		ctx, cancel := context.WithCancel(context.Background())
		_, _, _ = w.publisher(t, w.target).Around(ctx, func(context.Context) (*gates.Report, error) { cancel(); return nil, ctx.Err() })
		if c := w.only(t); c.Conclusion != "failure" || c.Title != "interrupted" {
			t.Errorf("%+v", c)
		}
	})
	t.Run("signal with a report", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		ctx, cancel := context.WithCancel(context.Background())
		_, out, err := w.publisher(t, w.target).Around(ctx, func(context.Context) (*gates.Report, error) { cancel(); return failing(1), nil })
		if c := w.only(t); err != nil || c.Title != "G0 failed (0 of 1 met)" || out.Comment != CommentCreated {
			t.Errorf("%v %+v %+v", err, c, out)
		}
	})
	t.Run("nothing", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		if _, _, err := w.publisher(t, w.target).Around(context.Background(), func(context.Context) (*gates.Report, error) { return nil, nil }); err == nil {
			t.Error("no report, no error")
		}
	})
}

// A signal while an answer is held back ends the call soon after the grace.
func TestSignalWhileSlow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.publisher(t, w.target)
	p.Begin(context.Background())
	p.grace = 50 * time.Millisecond
	gate := make(chan struct{})
	t.Cleanup(func() { close(gate) })
	w.Break(ghtest.Fault{Method: "PATCH", Gate: gate, Times: 1})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	out := p.Finish(ctx, failing(1))
	if len(out.Faults) == 0 {
		t.Errorf("no fault although the answer never came: %+v", out)
	}
}

func TestTargetValidate(t *testing.T) {
	t.Parallel()
	sha := strings.Repeat("a", 40)
	good := Target{CheckName: "x", HeadSHA: sha, RunID: 1, Attempt: 1}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Target){
		"name": func(t *Target) { t.CheckName = "" }, "head": func(t *Target) { t.HeadSHA = "main" }, "before": func(t *Target) { t.Before = "x" }, "pull": func(t *Target) { t.PullRequest = -1 },
		"run": func(t *Target) { t.RunID = 0 }, "attempt": func(t *Target) { t.Attempt = 0 }, "policy": func(t *Target) { t.Comment = "Always" },
	} {
		bad := good
		change(&bad)
		if bad.Validate() == nil {
			t.Errorf("%s: accepted %+v", name, bad)
		}
	}
	if (Target{}).Validate() == nil {
		t.Error("the zero target is accepted")
	}
}
