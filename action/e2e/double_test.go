package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatesworn/gatesworn/action/e2e/openapi"
	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/ghreport"
	"github.com/gatesworn/gatesworn/ghreport/ghtest"
	"github.com/gatesworn/gatesworn/ghreport/markdown"
)

const (
	description = "fetched/node_modules/@octokit/openapi/generated/api.github.com.json"
	payloads    = "fetched/node_modules/@octokit/webhooks-examples/api.github.com/index.json"
)

// need skips without a fetched file, or fails where tools are required.
func need(t testing.TB, file string) string {
	t.Helper()
	if _, err := os.Stat(file); err == nil {
		return file
	}
	if os.Getenv("REQUIRE_TOOLS") == "1" {
		t.Fatalf("%s is missing; run: sh action/e2e/fetch.sh", file)
	}
	t.Skipf("%s is missing; run: sh action/e2e/fetch.sh", file)
	return ""
}

var loaded = sync.OnceValues(func() (*openapi.Description, error) {
	return openapi.Load(description, func(path string) bool {
		rest, ok := strings.CutPrefix(path, "/repos/{owner}/{repo}")
		if !ok {
			return false
		}
		for _, p := range []string{"/branches/{branch}", "/pulls/{pull_number}", "/git/commits/", "/git/trees/", "/git/blobs/", "/git/ref/", "/actions/runs/{run_id}", "/commits/{ref}/check-runs", "/check-runs", "/issues/{issue_number}/comments", "/issues/comments/{comment_id}"} {
			if rest == p || strings.HasPrefix(rest, p) && strings.HasSuffix(p, "/") || p == "/check-runs" && strings.HasPrefix(rest, p) {
				return true
			}
		}
		return rest == ""
	})
})

// double starts the double with every exchange checked against the description.
func double(t *testing.T) *ghtest.Server {
	t.Helper()
	need(t, description)
	d, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	return ghtest.New(t, ghtest.Wrap(func(next http.Handler) http.Handler { return d.Wrap(next, t.Errorf) }))
}

func client(t *testing.T, s *ghtest.Server) *ghreport.Client {
	t.Helper()
	c, err := ghreport.NewClient(ghreport.Config{
		Repository: "octo/widgets", Token: ghtest.Token, BaseURL: s.URL, Now: time.Now,
		Sleep: func(context.Context, time.Duration) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func report(t *testing.T, name string) *gates.Report {
	t.Helper()
	data, err := os.ReadFile("../../ghreport/markdown/testdata/reports/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	r := new(gates.Report)
	if err := json.Unmarshal(data, r); err != nil {
		t.Fatal(err)
	}
	return r
}

// Everything ghreport sends, and everything the double answers, has the form that
// GitHub describes: all reports, all policies, repair, edits, refusals, pages.
func TestPublishAgainstDescription(t *testing.T) {
	t.Parallel()
	s := double(t)
	head := s.Commit(map[string]ghtest.File{"GATES.md": {Data: "# Gates\n"}})
	s.Branch("main", head)
	s.Pull(ghtest.Pull{Number: 412, HeadSHA: head})
	for i := range 130 {
		s.AddComment(412, "octocat", "comment "+string(rune('a'+i%26)))
	}
	files, err := filepath.Glob("../../ghreport/markdown/testdata/reports/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no reports: %v", err)
	}
	for i, f := range files {
		r := report(t, strings.TrimSuffix(filepath.Base(f), ".json"))
		tg := ghreport.Target{
			CheckName: ghreport.DefaultCheckName, HeadSHA: head, PullRequest: 412, Comment: ghreport.CommentAlways, Annotations: true, Stream: "s", RunID: int64(i + 1), Attempt: 1,
			DetailsURL: "https://github.com/octo/widgets/actions/runs/1", Place: markdown.Place{Server: "https://github.com"},
		}
		killed, err := ghreport.New(client(t, s), client(t, s), tg, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		killed.Begin(context.Background())
		tg.Attempt = 2
		p, err := ghreport.New(client(t, s), client(t, s), tg, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		if out := p.Finish(context.Background(), r); len(out.Faults) > 0 {
			t.Errorf("%s: %v", f, out.Faults)
		}
	}
	if s.Count("PATCH", "/issues/comments/") == 0 || s.Count("PATCH", "/check-runs/") == 0 {
		t.Error("nothing was edited")
	}
}

func TestRefusalsAgainstDescription(t *testing.T) {
	t.Parallel()
	s := double(t)
	head := s.Commit(map[string]ghtest.File{"GATES.md": {Data: "# Gates\n"}})
	s.Pull(ghtest.Pull{Number: 412, HeadSHA: head})
	s.May["checks"], s.May["pull_requests"] = "read", "read"
	p, err := ghreport.New(client(t, s), client(t, s), ghreport.Target{CheckName: "x", HeadSHA: head, PullRequest: 412, Comment: ghreport.CommentAlways, RunID: 1, Attempt: 1}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if out := p.Finish(context.Background(), report(t, "realistic")); len(out.Faults) != 2 {
		t.Errorf("%+v", out)
	}
}

func TestFactsAgainstDescription(t *testing.T) {
	t.Parallel()
	s := double(t)
	head := s.Commit(map[string]ghtest.File{"GATES.md": {Data: "# Gates\n"}, "a/b.sh": {Mode: "100755", Data: "true\n"}})
	s.Branch("release/1.0", head)
	for n, repo := range []int64{0, 9999} {
		s.Pull(ghtest.Pull{Number: n + 1, HeadSHA: head, HeadRepo: repo, BaseRef: "release/1.0"})
	}
	s.Run(ghtest.Run{ID: 9, Attempt: 1, Event: "pull_request", Path: ".github/workflows/g.yml", HeadSHA: head})
	c, ctx := client(t, s), context.Background()
	repo, err := c.Repository(ctx)
	if err != nil || repo.DefaultBranch != "main" {
		t.Errorf("%+v %v", repo, err)
	}
	for n := 1; n <= 2; n++ {
		if _, err := c.Pull(ctx, n); err != nil {
			t.Error(err)
		}
	}
	b, err := c.Branch(ctx, "release/1.0")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Commit(ctx, b.Commit); err != nil {
		t.Error(err)
	}
	tree, err := c.Tree(ctx, b.Tree)
	if err != nil || len(tree) != 3 {
		t.Fatalf("%+v %v", tree, err)
	}
	if _, err := c.Blob(ctx, tree[0].SHA); err != nil {
		t.Error(err)
	}
	if _, err := c.WorkflowRun(ctx, 9); err != nil {
		t.Error(err)
	}
	if _, err := c.Branch(ctx, "none"); err == nil {
		t.Error("a branch that is not there")
	}
}

// The validator itself notices: a field of the wrong type, a missing one, a path
// that is not GitHub's.
func TestValidatorNotices(t *testing.T) {
	t.Parallel()
	need(t, description)
	d, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	answers := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		status := http.StatusOK
		if r.Method == http.MethodPost {
			status = http.StatusCreated
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"sha":"x","tree":"not a list"}`))
	})
	for _, tc := range [][3]string{
		{"GET", "/repos/o/r/git/trees/main", ""},
		{"POST", "/repos/o/r/check-runs", `{"head_sha":1}`},
		{"POST", "/repos/o/r/issues/1/comments", `{"text":"x"}`},
		{"GET", "/nothing", ""},
	} {
		found := 0
		h := d.Wrap(answers, func(string, ...any) { found++ })
		req, err := http.NewRequest(tc[0], "http://127.0.0.1"+tc[1], strings.NewReader(tc[2]))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		h.ServeHTTP(discard{http.Header{}}, req)
		if found != 1 {
			t.Errorf("%v: %d findings", tc, found)
		}
	}
}

type discard struct{ h http.Header }

func (d discard) Header() http.Header         { return d.h }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

// GitHub's own example payloads: what the Action reads of an event is there under
// the names it uses.
func TestPayloads(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(need(t, payloads))
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Name     string            `json:"name"`
		Examples []json.RawMessage `json:"examples"`
	}
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, e := range all {
		for _, raw := range e.Examples {
			var p struct {
				Number      int `json:"number"`
				PullRequest struct {
					Number int `json:"number"`
					Head   struct{ SHA string }
				} `json:"pull_request"`
				MergeGroup struct {
					HeadSHA string `json:"head_sha"`
					BaseRef string `json:"base_ref"`
				} `json:"merge_group"`
				After      string
				Repository struct {
					FullName string `json:"full_name"`
				}
			}
			if json.Unmarshal(raw, &p) != nil {
				continue // other events use the same names for other things
			}
			switch {
			case e.Name == "pull_request" && p.PullRequest.Number > 0 && len(p.PullRequest.Head.SHA) == 40 && p.Number == p.PullRequest.Number,
				e.Name == "merge_group" && len(p.MergeGroup.HeadSHA) == 40 && strings.HasPrefix(p.MergeGroup.BaseRef, "refs/heads/"),
				e.Name == "push" && len(p.After) == 40:
				if p.Repository.FullName != "" {
					seen[e.Name]++
				}
			}
		}
	}
	for _, name := range []string{"pull_request", "merge_group", "push"} {
		if seen[name] == 0 {
			t.Errorf("no usable payload of %s", name)
		}
	}
	t.Log(seen)
}
