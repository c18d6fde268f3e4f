package ghreport

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/ghreport/ghtest"
	"github.com/gatesworn/gatesworn/ghreport/markdown"
)

// clock is a clock that only sleeping moves.
type clock struct {
	mu    sync.Mutex
	t     time.Time
	slept []time.Duration
}

func newClock() *clock { return &clock{t: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
	c.slept = append(c.slept, d)
	return nil
}

func (c *clock) total() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	var sum time.Duration
	for _, d := range c.slept {
		sum += d
	}
	return sum
}

// world is a repository with a pull request and a client of it.
type world struct {
	*ghtest.Server
	clock  *clock
	client *Client
	head   string
	target Target
}

func newWorld(t *testing.T, opts ...ghtest.Option) *world {
	t.Helper()
	w := &world{Server: ghtest.New(t, opts...), clock: newClock()}
	w.Now = w.clock.Now
	base := w.Commit(map[string]ghtest.File{"GATES.md": {Data: "# Gates\n"}, ".gatesworn/policy.yml": {Data: "version: 1\n"}})
	w.Branch("main", base)
	w.head = w.Commit(map[string]ghtest.File{"GATES.md": {Data: "# Gates\n\n- [ ] G1: x\n"}}, base)
	w.Pull(ghtest.Pull{Number: 412, HeadSHA: w.head})
	w.client = w.connect(t)
	w.target = Target{
		CheckName: DefaultCheckName, HeadSHA: w.head, PullRequest: 412, Comment: CommentFailures, Annotations: true, Stream: "gatesworn.yml pull_request 412", RunID: 100, Attempt: 1,
		Place: markdown.Place{Server: "https://github.com", Log: "https://github.com/octo/widgets/actions/runs/100"},
	}
	return w
}

func (w *world) connect(t *testing.T) *Client {
	t.Helper()
	c, err := NewClient(Config{Repository: "octo/widgets", Token: ghtest.Token, BaseURL: w.URL, Now: w.clock.Now, Sleep: w.clock.Sleep, CallTimeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (w *world) publisher(t *testing.T, tg Target) *Publisher {
	t.Helper()
	c := w.connect(t) // a process of its own: limits are not remembered from the last one
	p, err := New(c, c, tg, w.clock.Now)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (w *world) publish(t *testing.T, tg Target, r *gates.Report) Outcome {
	t.Helper()
	return w.publisher(t, tg).Finish(context.Background(), r)
}

// load reads a report of the renderer's corpus and puts it on the world's head.
func (w *world) load(t *testing.T, name string) *gates.Report {
	t.Helper()
	data, err := os.ReadFile("markdown/testdata/reports/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	r := new(gates.Report)
	if err := json.Unmarshal(data, r); err != nil {
		t.Fatal(err)
	}
	r.Subject.HeadSHA = w.head
	return r
}

// failing is a report with n failed gates.
func failing(n int) *gates.Report {
	one := 1
	r := &gates.Report{Verdict: gates.VerdictUnmet, Conclusion: gates.Failure, Trust: gates.Trust{Mode: "allowlist", Ref: "main", Governed: true}, Ledgers: []gates.Ledger{{Path: "GATES.md"}}}
	for i := range n {
		r.Ledgers[0].Gates = append(r.Ledgers[0].Gates, gates.Gate{ID: fmt.Sprint("G", i), Name: fmt.Sprint("GATES:G", i), Title: "x", Line: i + 1, State: gates.Failed, Check: "false", Reason: "exit 1", Run: &gates.Run{Exit: &one, Tail: "boom\n"}})
	}
	return r
}

func (w *world) only(t *testing.T) ghtest.CheckRun {
	t.Helper()
	all := w.Checks()
	if len(all) != 1 {
		t.Fatalf("%d check runs: %+v", len(all), all)
	}
	return all[0]
}

func (w *world) mine(t *testing.T) ghtest.Comment {
	t.Helper()
	var out []ghtest.Comment
	for _, c := range w.Comments(412) {
		if strings.HasPrefix(c.Body, markerHead) && c.Author == "github-actions[bot]" {
			out = append(out, c)
		}
	}
	if len(out) != 1 {
		t.Fatalf("%d comments of ours", len(out))
	}
	return out[0]
}
