package action

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatesworn/gatesworn/action/actiontest"
	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/ghreport/ghtest"
	"github.com/gatesworn/gatesworn/ghreport/markdown"
)

// TestPublishRefuses: a report that is not this run's, or that lies, is not published.
func TestPublishRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		edit func(r *gates.Report)
		want string
	}{
		{"another commit", func(r *gates.Report) { r.Subject.JudgedCommit = strings.Repeat("b", 40) }, "another commit"},
		{"another head", func(r *gates.Report) { r.Subject.HeadSHA = strings.Repeat("b", 40) }, "another commit"},
		{"another pull request", func(r *gates.Report) { r.Subject.PullRequest = 1 }, "another commit"},
		{"another repository", func(r *gates.Report) { r.Subject.Repository = "evil/evil" }, "another commit"},
		{"says success", func(r *gates.Report) { r.Verdict, r.Conclusion = gates.VerdictAllMet, gates.Success }, "contradicts itself"},
		{"another schema", func(r *gates.Report) { r.Schema = "x" }, "schema"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := signedWorld(t, "", func(f actiontest.Files, _ actiontest.Signer) actiontest.Files {
				return f.With(actiontest.Files{"README.md": ""})
			})
			r := runAction(t, w, map[string]string{"mode": "measure"})
			c.edit(&r.report)
			data, err := json.Marshal(r.report)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(w.Top, DefaultReport), data, 0o644); err != nil {
				t.Fatal(err)
			}
			p := runAction(t, w, map[string]string{"mode": "publish"})
			p.needs(t, p.code == 2 && strings.Contains(p.log, c.want), c.want)
			p.needs(t, w.Writes() == 0, "nothing is written")
		})
	}
}

// TestPublishShowsWhatWasDryRun: publish posts exactly what --dry-run prints.
func TestPublishShowsWhatWasDryRun(t *testing.T) {
	t.Parallel()
	w := signedWorld(t, "", func(f actiontest.Files, _ actiontest.Signer) actiontest.Files {
		return f.With(actiontest.Files{"README.md": ""})
	})
	r := runAction(t, w, map[string]string{"mode": "measure"})
	var b bytes.Buffer
	at := markdown.Place{Server: "https://github.com", Log: "https://github.com/octo/widgets/actions/runs/100"}
	if err := DryRun(&b, r.report, at); err != nil {
		t.Fatal(err)
	}
	p := runAction(t, w, map[string]string{"mode": "publish"})
	p.needs(t, p.code == 1 && len(w.Checks()) == 1 && len(w.Comments(412)) == 1, "published")
	check := w.Checks()[0]
	for _, text := range []string{check.Title, check.Summary, check.Text} {
		if !strings.Contains(b.String(), text) {
			t.Errorf("the dry run lacks:\n%s", text)
		}
	}
	_, body, _ := strings.Cut(w.Comments(412)[0].Body, "\n") // behind the hidden marker
	if !strings.Contains(b.String(), strings.TrimSpace(body)) && !strings.Contains(b.String(), strings.TrimSpace(strings.Split(w.Comments(412)[0].Body, "<!--")[0])) {
		t.Errorf("the dry run lacks the comment:\n%s\n---\n%s", w.Comments(412)[0].Body, b.String())
	}
}

// TestForkComment is the second stage for forks: a comment, never a check run.
func TestForkComment(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		spoil func(w *actiontest.World)
		code  int
		want  string
	}{
		{"comment", nil, 1, ""},
		{"of a push", func(w *actiontest.World) {
			w.Run(ghtest.Run{ID: 55, Attempt: 1, Event: "push", Path: ".github/workflows/gatesworn.yml", HeadSHA: w.Head})
		}, 2, "not a pull_request's"},
		{"of another commit", func(w *actiontest.World) {
			w.Run(ghtest.Run{ID: 55, Attempt: 1, Event: "pull_request", Path: ".github/workflows/gatesworn.yml", HeadSHA: w.Base})
		}, 2, "not of the workflow run's commit"},
		{"edited workflow", func(w *actiontest.World) {
			w.Run(ghtest.Run{ID: 55, Attempt: 1, Event: "pull_request", Path: ".github/workflows/other.yml", HeadSHA: w.Head})
		}, 2, "the fork ran another"},
		{"closed", func(w *actiontest.World) {
			w.Pull(ghtest.Pull{Number: 412, HeadSHA: w.Head, BaseRef: "main", HeadRepo: 77, State: "closed"})
		}, 2, "no open pull request of a fork"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := ghtest.New(t)
			alice := actiontest.NewSigner(t, "alice@example.org")
			base := actiontest.Root(s.Repo.FullName(), "", alice).With(actiontest.Files{"GATES.md": twoGates, "README.md": "x", ".github/workflows/gatesworn.yml": "on: pull_request\n"})
			base = actiontest.Sign(t, base, alice, time.Now().Add(-time.Hour))
			w := actiontest.NewWorld(t, s, t.TempDir(), base, base.With(actiontest.Files{"README.md": ""}))
			if r := runAction(t, w, map[string]string{"mode": "measure"}); r.code != 1 {
				r.needs(t, false, "measured")
			}
			w.May = map[string]string{"contents": "read", "actions": "read", "pull_requests": "write", "checks": "write"}
			w.Pull(ghtest.Pull{Number: 412, HeadSHA: w.Head, BaseRef: "main", HeadRepo: 77})
			w.Run(ghtest.Run{ID: 55, Attempt: 1, Event: "pull_request", Path: ".github/workflows/gatesworn.yml", HeadSHA: w.Head})
			if c.spoil != nil {
				c.spoil(w)
			}
			event := filepath.Join(w.Temp, "run.json")
			if err := os.WriteFile(event, []byte(`{"action":"completed","workflow_run":{"id":55}}`), 0o644); err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			h := host(w, &log, map[string]string{"mode": "publish"})
			h.Env = append(h.Env, "GITHUB_EVENT_NAME=workflow_run", "GITHUB_EVENT_PATH="+event, "GITHUB_SHA="+w.Base)
			r := result{code: Run(context.Background(), h), log: log.String()}
			r.log = log.String()
			r.needs(t, r.code == c.code && strings.Contains(r.log, c.want), c.want)
			r.needs(t, len(w.Checks()) == 0, "no check run")
			if c.code == 1 {
				comments := w.Comments(412)
				r.needs(t, len(comments) == 1 && strings.Contains(comments[0].Body, "measured by the fork"), "the comment says who measured")
			} else {
				r.needs(t, w.Writes() == 0, "nothing is written")
			}
		})
	}
}

func shard(i, n int, states ...gates.State) gates.Report {
	r := gates.Report{Schema: gates.Schema, Trust: gates.Trust{Mode: gates.TrustAllowlist, Governed: true}, Part: &gates.Part{I: i, N: n}, Ledgers: []gates.Ledger{{Path: "GATES.md"}}}
	for k, s := range states {
		g := gates.Gate{ID: string(rune('A' + k)), State: s}
		if s == "" {
			g.State, g.NotAsked = gates.NotRun, true
		}
		r.Ledgers[0].Gates = append(r.Ledgers[0].Gates, g)
	}
	return gates.Evaluate(r)
}

func TestMerge(t *testing.T) {
	t.Parallel()
	whole, err := Merge([]gates.Report{shard(2, 2, "", gates.Met), shard(1, 2, gates.Met, "")})
	if err != nil || whole.Verdict != gates.VerdictAllMet || whole.Conclusion != gates.Success || whole.Counts.Met != 2 {
		t.Errorf("%+v %v", whole, err)
	}
	whole, err = Merge([]gates.Report{shard(1, 2, gates.Met, ""), shard(2, 2, "", gates.Failed)})
	if err != nil || whole.Conclusion != gates.Failure {
		t.Errorf("%+v %v", whole, err)
	}
	other := shard(2, 2, "", gates.Met)
	other.Subject.JudgedCommit = "x"
	for name, parts := range map[string][]gates.Report{
		"none":            nil,
		"a part missing":  {shard(1, 2, gates.Met, "")},
		"the same twice":  {shard(1, 2, gates.Met, ""), shard(1, 2, gates.Met, "")},
		"another commit":  {shard(1, 2, gates.Met, ""), other},
		"other gates":     {shard(1, 2, gates.Met, ""), shard(2, 2, "", gates.Met, gates.Met)},
		"not from shards": {{}, {}},
		"a gate left out": {shard(1, 2, gates.Met, ""), shard(2, 2, gates.Met, "")},
	} {
		if _, err := Merge(parts); err == nil {
			t.Errorf("%s is merged", name)
		}
	}
}
