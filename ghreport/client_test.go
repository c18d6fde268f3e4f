package ghreport

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatesworn/gatesworn/ghreport/ghtest"
)

func TestNewClientRefuses(t *testing.T) {
	t.Parallel()
	c := newClock()
	good := Config{Repository: "o/r", Token: "t", BaseURL: "https://api.github.com", Now: c.Now, Sleep: c.Sleep}
	if _, err := NewClient(good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Config){
		"no repository": func(c *Config) { c.Repository = "" }, "three parts": func(c *Config) { c.Repository = "a/b/c" }, "dots": func(c *Config) { c.Repository = "../x" }, "query": func(c *Config) { c.Repository = "a/b?x" },
		"no token": func(c *Config) { c.Token = "" }, "plain http": func(c *Config) { c.BaseURL = "http://api.github.com" }, "userinfo": func(c *Config) { c.BaseURL = "https://u:p@api.github.com" },
		"no host": func(c *Config) { c.BaseURL = "https://" }, "file": func(c *Config) { c.BaseURL = "file:///etc" }, "fake loopback": func(c *Config) { c.BaseURL = "http://127.0.0.1.evil.example" },
		"no clock": func(c *Config) { c.Now = nil }, "no sleep": func(c *Config) { c.Sleep = nil },
	} {
		bad := good
		change(&bad)
		if _, err := NewClient(bad); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// The token goes to the API's host alone and into no error.
func TestTokenStaysHome(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var leaked []string
	away := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		leaked = append(leaked, r.Header.Get("Authorization"))
	}))
	t.Cleanup(away.Close)
	w := newWorld(t)
	for name, f := range map[string]ghtest.Fault{
		"redirect": {Status: 302, Header: http.Header{"Location": {away.URL}}, Times: 1},
		"moved":    {Status: 307, Header: http.Header{"Location": {away.URL}}, Times: 1},
		"denied":   {Status: 401, Times: 1},
		"torn":     {},
		"html":     {Status: 200, Answer: "<html>", Times: 1},
	} {
		w.Break(f)
		_, err := w.client.Repository(context.Background())
		w.Mend()
		if err == nil || strings.Contains(fmt.Sprintf("%v %+v", err, err), ghtest.Token) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := w.client.Repository(context.Background()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(leaked) > 0 {
		t.Errorf("another host was asked: %q", leaked)
	}
}

// A next page elsewhere is not followed.
func TestForeignNextPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Break(ghtest.Fault{Path: "/comments", Status: 200, Answer: "[]", Header: http.Header{"Link": {`<http://127.0.0.1:9/x>; rel="next"`}}})
	if _, err := w.client.List(context.Background(), 412); err == nil || Classify(err) != Unavailable {
		t.Errorf("%v", err)
	}
}

func TestWaits(t *testing.T) {
	t.Parallel()
	start := newClock().Now()
	reset := fmt.Sprint(start.Add(20 * time.Second).Unix())
	for _, tc := range []struct {
		name   string
		fault  ghtest.Fault
		slept  []time.Duration
		failed Kind
	}{
		{"retry-after", ghtest.Fault{Status: 429, Times: 1, Header: http.Header{"Retry-After": {"7"}}}, []time.Duration{7 * time.Second}, ""},
		{"retry-after on 403", ghtest.Fault{Status: 403, Times: 1, Header: http.Header{"Retry-After": {"3"}}}, []time.Duration{3 * time.Second}, ""},
		{"retry-after wins over reset", ghtest.Fault{Status: 429, Times: 1, Header: http.Header{"Retry-After": {"2"}, "X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {reset}}}, []time.Duration{2 * time.Second}, ""},
		{"reset", ghtest.Fault{Status: 403, Times: 1, Header: http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {reset}}}, []time.Duration{21 * time.Second}, ""},
		{"no headers", ghtest.Fault{Status: 429, Times: 1}, []time.Duration{time.Minute}, ""},
		{"no headers twice", ghtest.Fault{Status: 429, Times: 2}, []time.Duration{time.Minute}, Limited}, // 60 s + 120 s is over the total
		{"secondary", ghtest.Fault{Status: 403, Times: 1, Answer: `{"message":"You have exceeded a secondary rate limit"}`}, []time.Duration{time.Minute}, ""},
		{"an hour", ghtest.Fault{Status: 429, Header: http.Header{"Retry-After": {"3600"}}}, nil, Limited},
		{"far reset", ghtest.Fault{Status: 403, Header: http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"4102444800"}}}, nil, Limited},
		{"absurd retry-after", ghtest.Fault{Status: 429, Header: http.Header{"Retry-After": {"99999999999999999999"}}}, []time.Duration{time.Minute}, Limited},
		{"server error", ghtest.Fault{Status: 502, Times: 2}, []time.Duration{time.Second, 2 * time.Second}, ""},
		{"server down", ghtest.Fault{Status: 503}, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}, Unavailable},
		{"torn", ghtest.Fault{Times: 1}, []time.Duration{time.Second}, ""},
		{"half", ghtest.Fault{Half: true, Times: 1}, []time.Duration{time.Second}, ""},
		{"no permission", ghtest.Fault{Status: 403}, nil, Denied},
		{"not found", ghtest.Fault{Status: 404}, nil, Denied},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.Break(tc.fault)
			_, err := w.client.Repository(context.Background())
			if got := Classify(err); got != tc.failed {
				t.Errorf("error %v is %q, want %q", err, got, tc.failed)
			}
			if fmt.Sprint(w.clock.slept) != fmt.Sprint(tc.slept) {
				t.Errorf("slept %v, want %v", w.clock.slept, tc.slept)
			}
		})
	}
}

// An exhausted limit that a good answer announces is waited for before the next call.
func TestAnnouncedLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	answer := `{"id":1,"full_name":"octo/widgets","default_branch":"main"}`
	w.Break(ghtest.Fault{Status: 200, Times: 1, Answer: answer, Header: http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {fmt.Sprint(w.clock.Now().Add(5 * time.Second).Unix())}}})
	for range 2 {
		if _, err := w.client.Repository(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if fmt.Sprint(w.clock.slept) != "[6s]" {
		t.Errorf("slept %v", w.clock.slept)
	}
}

// Under load writes are a second apart.
func TestWriteSpacing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range writeBurst + 4 {
		if _, err := w.client.Create(context.Background(), 412, "x"); err != nil {
			t.Fatal(err)
		}
	}
	if fmt.Sprint(w.clock.slept) != "[1s 1s 1s 1s]" {
		t.Errorf("slept %v", w.clock.slept)
	}
}

// Writes never overlap, whatever the callers do.
func TestWritesAreSerial(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	busy, most := 0, 0
	watch := func(inner http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				inner.ServeHTTP(w, r)
				return
			}
			mu.Lock()
			busy++
			most = max(most, busy)
			mu.Unlock()
			inner.ServeHTTP(w, r)
			mu.Lock()
			busy--
			mu.Unlock()
		})
	}
	w := newWorld(t, ghtest.Wrap(watch))
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := w.client.Create(context.Background(), 412, "x"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if most != 1 {
		t.Errorf("%d writes at once", most)
	}
}

func TestStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := w.client.Repository(ctx); Classify(err) != Stopped {
		t.Errorf("%v", err)
	}
}

func TestServerOffset(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, ok := w.client.ServerOffset(); ok {
		t.Error("an offset before the first answer")
	}
	ours := w.clock.Now
	w.Now = func() time.Time { return ours().Add(10 * time.Minute) }
	if _, err := w.client.Repository(context.Background()); err != nil {
		t.Fatal(err)
	}
	if d, ok := w.client.ServerOffset(); !ok || d != 10*time.Minute {
		t.Errorf("%v %v", d, ok)
	}
}

func TestFacts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := context.Background()
	w.Branch("release/1.0", w.head)
	w.Run(ghtest.Run{ID: 9, Attempt: 2, Event: "pull_request", Path: ".github/workflows/gatesworn.yml", HeadSHA: w.head})
	repo, err := w.client.Repository(ctx)
	if err != nil || repo.DefaultBranch != "main" || repo.FullName != "octo/widgets" || repo.ID != 7001 {
		t.Errorf("%+v %v", repo, err)
	}
	pull, err := w.client.Pull(ctx, 412)
	if err != nil || pull.HeadSHA != w.head || pull.BaseRef != "main" || pull.State != "open" || pull.Fork() {
		t.Errorf("%+v %v", pull, err)
	}
	branch, err := w.client.Branch(ctx, "release/1.0")
	if err != nil || branch.Commit != w.head {
		t.Errorf("%+v %v", branch, err)
	}
	commit, err := w.client.Commit(ctx, w.head)
	if err != nil || commit.Tree != branch.Tree || len(commit.Parents) != 1 {
		t.Errorf("%+v %v", commit, err)
	}
	tree, err := w.client.Tree(ctx, commit.Tree)
	if err != nil || len(tree) != 1 || tree[0].Path != "GATES.md" || tree[0].Mode != "100644" {
		t.Fatalf("%+v %v", tree, err)
	}
	data, err := w.client.Blob(ctx, tree[0].SHA)
	if err != nil || !strings.HasPrefix(string(data), "# Gates") {
		t.Errorf("%q %v", data, err)
	}
	if run, err := w.client.WorkflowRun(ctx, 9); err != nil || run.Event != "pull_request" || run.Attempt != 2 {
		t.Errorf("%+v %v", run, err)
	}
	if _, err := w.client.Branch(ctx, "none"); !PermissionError(err) {
		t.Errorf("%v", err)
	}
}

func TestForks(t *testing.T) {
	t.Parallel()
	for repo, want := range map[int64]bool{0: false, 7001: false, 9999: true, -1: true} {
		w := newWorld(t)
		w.Server.Pull(ghtest.Pull{Number: 1, HeadSHA: w.head, HeadRepo: repo})
		if p, err := w.client.Pull(context.Background(), 1); err != nil || p.Fork() != want {
			t.Errorf("head repository %d: fork %v, %v", repo, p.Fork(), err)
		}
	}
}

// What the API says about objects is checked against their names.
func TestFactsAreChecked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := context.Background()
	sha := strings.Repeat("a", 40)
	for name, call := range map[string]func() error{
		"other bytes": func() error {
			w.Break(ghtest.Fault{Path: "/blobs/", Times: 1, Status: 200, Answer: `{"content":"eA==","encoding":"base64"}`})
			_, err := w.client.Blob(ctx, sha)
			return err
		},
		"bad base64": func() error {
			w.Break(ghtest.Fault{Path: "/blobs/", Times: 1, Status: 200, Answer: `{"content":"???","encoding":"base64"}`})
			_, err := w.client.Blob(ctx, sha)
			return err
		},
		"truncated": func() error {
			w.Break(ghtest.Fault{Path: "/trees/", Times: 1, Status: 200, Answer: `{"sha":"` + sha + `","truncated":true,"tree":[]}`})
			_, err := w.client.Tree(ctx, sha)
			return err
		},
		"another tree": func() error {
			w.Break(ghtest.Fault{Path: "/trees/", Times: 1, Status: 200, Answer: `{"sha":"x","truncated":false,"tree":[]}`})
			_, err := w.client.Tree(ctx, sha)
			return err
		},
		"another branch": func() error {
			w.Break(ghtest.Fault{Path: "/branches/", Times: 1, Status: 200, Answer: `{"name":"evil","commit":{"sha":"` + sha + `"}}`})
			_, err := w.client.Branch(ctx, "main")
			return err
		},
		"short name": func() error { _, err := w.client.Blob(ctx, "abc"); return err },
		"path":       func() error { _, err := w.client.Tree(ctx, "../../user"); return err },
		"not JSON": func() error {
			w.Break(ghtest.Fault{Times: 1, Status: 200, Answer: `[`})
			_, err := w.client.Pull(ctx, 1)
			return err
		},
		"other shape": func() error {
			w.Break(ghtest.Fault{Times: 1, Status: 200, Answer: `[]`})
			_, err := w.client.Pull(ctx, 1)
			return err
		},
	} {
		if err := call(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err  error
		want Kind
	}{{nil, ""}, {errors.New("x"), ""}, {context.Canceled, Stopped}, {fmt.Errorf("x: %w", errAnswer), Unavailable}, {errTooLong, Limited}} {
		if got := Classify(tc.err); got != tc.want {
			t.Errorf("%v is %q, want %q", tc.err, got, tc.want)
		}
	}
}
