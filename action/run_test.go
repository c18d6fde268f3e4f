package action

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gatesworn/gatesworn/action/actiontest"
	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/ghreport/ghtest"
)

const twoGates = `# Gates
- [x] G1: the readme is there
  CHECK: test -f README.md && echo found
  EXPECT: found
  EVIDENCE: pending
- [ ] G2: it adds up
  CHECK: echo $((40 + 2))
  EXPECT: /^42$/m
`

// signedWorld is a pull request whose base has a root and whose gates are signed.
func signedWorld(t *testing.T, policy string, edit func(files actiontest.Files, by actiontest.Signer) actiontest.Files) *actiontest.World {
	t.Helper()
	s := ghtest.New(t)
	alice := actiontest.NewSigner(t, "alice@example.org")
	base := actiontest.Root(s.Repo.FullName(), policy, alice).With(actiontest.Files{"GATES.md": twoGates, "README.md": "hello\n"})
	base = actiontest.Sign(t, base, alice, time.Now().Add(-time.Hour))
	head := base.With(actiontest.Files{"change.txt": "a change\n"})
	if edit != nil {
		head = edit(head, alice)
	}
	return actiontest.NewWorld(t, s, t.TempDir(), base, head)
}

// result is what one run left.
type result struct {
	code    int
	log     string
	outputs map[string]string
	report  gates.Report
	summary string
}

func host(w *actiontest.World, out io.Writer, inputs map[string]string) Host {
	rest, secrets := TakeSecrets(w.Env(inputs))
	h := Host{Env: rest, Secrets: secrets, Out: out, Random: rand.Reader, Now: time.Now, Sleep: noSleep, Program: "/proc/self/exe", Version: "test"}
	if runtime.GOOS == "linux" {
		h.Helper = []string{"/proc/self/exe", slotCommand}
	}
	return h
}

func runAction(t *testing.T, w *actiontest.World, inputs map[string]string) result {
	t.Helper()
	var log bytes.Buffer
	r := result{code: Run(context.Background(), host(w, &log, inputs))}
	r.log = log.String()
	return collect(t, w, r)
}

// collect reads what the run wrote, with a reader of its own.
func collect(t *testing.T, w *actiontest.World, r result) result {
	t.Helper()
	r.outputs = map[string]string{}
	data, _ := os.ReadFile(filepath.Join(w.Temp, "output"))
	lines := strings.Split(string(data), "\n")
	for i := 0; i < len(lines); i++ {
		name, end, ok := strings.Cut(lines[i], "<<")
		if !ok {
			continue
		}
		var value []string
		for i++; i < len(lines) && lines[i] != end; i++ {
			value = append(value, lines[i])
		}
		r.outputs[name] = strings.Join(value, "\n")
	}
	summary, _ := os.ReadFile(filepath.Join(w.Temp, "summary"))
	r.summary = string(summary)
	if report, err := os.ReadFile(filepath.Join(w.Top, DefaultReport)); err == nil && len(report) > 0 {
		if err := json.Unmarshal(report, &r.report); err != nil {
			t.Fatalf("report: %v", err)
		}
	}
	return r
}

// needs fails with everything a person needs when something is not as it should be.
func (r result) needs(t *testing.T, ok bool, what string) {
	t.Helper()
	if !ok {
		t.Errorf("%s\ncode %d outputs %v\nreport %+v\nlog:\n%s\nsummary:\n%s", what, r.code, r.outputs, r.report, r.log, r.summary)
	}
}

func TestAllMet(t *testing.T) {
	t.Parallel()
	w := signedWorld(t, "", nil)
	r := runAction(t, w, nil)
	r.needs(t, r.code == 0 && r.report.Conclusion == gates.Success && r.report.Counts.Met == 2, "a success")
	for name, want := range map[string]string{
		"conclusion": "success", "verdict": "all-met", "met": "2", "total": "2", "unsigned": "0",
		"report_file": ".gatesworn-out/report.json", "attestation_file": ".gatesworn-out/attestation.json",
	} {
		r.needs(t, r.outputs[name] == want, name)
	}
	r.needs(t, r.outputs["check_run_url"] != "", "check_run_url")
	checks := w.Checks()
	r.needs(t, len(checks) == 1 && checks[0].Conclusion == "success" && checks[0].HeadSHA == w.Head && checks[0].Title == "2 of 2 gates met", "the check run")
	r.needs(t, len(w.Comments(412)) == 0, "no comment on a success")
	r.needs(t, strings.Contains(r.summary, "2 of 2 gates met"), "the summary")
	if n := w.Reads(); n > 9 {
		r.needs(t, false, "at most 8 reads and one for the ledger")
		for _, c := range w.Calls() {
			t.Log(c)
		}
	}
	if n := w.Writes(); n > 6 {
		t.Errorf("%d writes", n)
	}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, policy string
		edit         func(actiontest.Files, actiontest.Signer) actiontest.Files
		code         int
		conclusion   gates.Conclusion
		title        string
	}{
		{"failed", "", func(f actiontest.Files, _ actiontest.Signer) actiontest.Files {
			return f.With(actiontest.Files{"README.md": ""})
		}, 1, gates.Failure, "G1 failed (1 of 2 met)"},
		{"unsigned", "", func(f actiontest.Files, _ actiontest.Signer) actiontest.Files {
			return f.With(actiontest.Files{"GATES.md": f["GATES.md"] + "- [ ] G3: more\n  CHECK: echo never\n  EXPECT: never\n"})
		}, 1, gates.ActionRequired, "waiting for a maintainer to sign G3 (2 of 3 met)"},
		{"removed", "", func(f actiontest.Files, _ actiontest.Signer) actiontest.Files {
			return f.With(actiontest.Files{"GATES.md": strings.Split(f["GATES.md"], "- [ ] G2")[0]})
		}, 1, gates.Failure, "G2 was removed from GATES.md (1 of 2 met)"},
		{"changed root", "", func(f actiontest.Files, _ actiontest.Signer) actiontest.Files {
			return f.With(actiontest.Files{".gatesworn/policy.yml": f[".gatesworn/policy.yml"] + "removal: allow\n"})
		}, 1, gates.ActionRequired, ".gatesworn/"},
		{"edited workflow", "", func(f actiontest.Files, _ actiontest.Signer) actiontest.Files {
			return f.With(actiontest.Files{".github/workflows/ci.yml": "on: push\n"})
		}, 0, gates.Success, "2 of 2 gates met"},
		{"malformed", "", func(f actiontest.Files, _ actiontest.Signer) actiontest.Files {
			return f.With(actiontest.Files{"GATES.md": "- [ ] G1 no colon\n  CHECK: true\n  EXPECT: /^/\n"})
		}, 2, gates.Failure, "GATES.md:1"},
		{"other repository", "", nil, 0, "", ""},
	} {
		if c.edit == nil {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := signedWorld(t, c.policy, c.edit)
			r := runAction(t, w, nil)
			r.needs(t, r.code == c.code && r.report.Conclusion == c.conclusion, "verdict")
			checks := w.Checks()
			r.needs(t, len(checks) == 1 && checks[0].Status == "completed" && checks[0].Conclusion == string(c.conclusion), "check run")
			if len(checks) == 1 {
				r.needs(t, strings.Contains(checks[0].Title, c.title), "title "+checks[0].Title)
			}
			if c.name == "edited workflow" {
				r.needs(t, strings.HasPrefix(r.summary, "⚠ This PR edits") && strings.Contains(r.summary, "ci.yml"), "first line")
			}
			if c.conclusion != gates.Success {
				r.needs(t, len(w.Comments(412)) == 1, "one comment")
			}
		})
	}
}

// TestMeasureWritesNothing: the measuring job has no token that can write.
func TestMeasureWritesNothing(t *testing.T) {
	t.Parallel()
	w := signedWorld(t, "", nil)
	w.May = map[string]string{"contents": "read", "pull_requests": "read"}
	r := runAction(t, w, map[string]string{"mode": "measure"})
	r.needs(t, r.code == 0 && w.Writes() == 0, "a success without writes")
	r.needs(t, !strings.Contains(strings.Join(r.report.Protections.Missing, " "), "cannot write"), "protections")

	// The second job publishes the saved report and runs nothing.
	w.May = map[string]string{"contents": "read", "pull_requests": "write", "checks": "write"}
	p := runAction(t, w, map[string]string{"mode": "publish", "comment": "always"})
	p.needs(t, p.code == 0 && len(w.Checks()) == 1 && len(w.Comments(412)) == 1, "published")
}

// TestReadOnlyToken: a fork's token cannot write; verdict and report stay.
func TestReadOnlyToken(t *testing.T) {
	t.Parallel()
	w := signedWorld(t, "", func(f actiontest.Files, _ actiontest.Signer) actiontest.Files {
		return f.With(actiontest.Files{"README.md": ""})
	})
	w.May = map[string]string{"contents": "read", "pull_requests": "read", "checks": "read"}
	r := runAction(t, w, nil)
	r.needs(t, r.code == 1 && r.outputs["conclusion"] == "failure", "the verdict")
	r.needs(t, strings.Contains(r.summary, "No comment: the token has no pull-requests: write"), "one plain line")
	r.needs(t, !strings.Contains(r.log, "::warning"), "no warning")
}

func TestBootstrap(t *testing.T) {
	t.Parallel()
	s := ghtest.New(t)
	alice := actiontest.NewSigner(t, "alice@example.org")
	base := actiontest.Files{"GATES.md": twoGates, "README.md": "hello\n"}
	head := actiontest.Sign(t, actiontest.Root(s.Repo.FullName(), "", alice).With(base), alice, time.Now().Add(-time.Hour))
	w := actiontest.NewWorld(t, s, t.TempDir(), base, head)
	r := runAction(t, w, nil)
	r.needs(t, r.code == 1 && r.report.Conclusion == gates.ActionRequired && r.report.Counts.Unapproved == 2, "nothing runs")
	r.needs(t, strings.Contains(w.Checks()[0].Title, "main has no .gatesworn/ yet"), "title")
	r.needs(t, strings.Contains(r.summary, "Once merged: 2 of 2 gates are signed by alice"), "preview")
}

// TestRefusals are runs that cannot be carried out: exit status 2, nothing runs.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		inputs map[string]string
		spoil  func(t *testing.T, w *actiontest.World)
		want   string
	}{
		{"kept credentials", nil, func(t *testing.T, w *actiontest.World) {
			write2(t, filepath.Join(w.Top, ".git/config"), "[http \"https://github.com/\"]\n\textraheader = AUTHORIZATION: basic x\n")
		}, "persist-credentials: false"},
		{"dirty tree", nil, func(t *testing.T, w *actiontest.World) {
			write2(t, filepath.Join(w.Top, "README.md"), "more\n")
		}, "README.md differs from commit"},
		{"moved on", nil, func(_ *testing.T, w *actiontest.World) {
			w.Pull(ghtest.Pull{Number: 412, HeadSHA: strings.Repeat("a", 40), BaseRef: "main"})
		}, "now ends in aaaaaaaaaaaa"},
		{"closed", nil, func(_ *testing.T, w *actiontest.World) {
			w.Pull(ghtest.Pull{Number: 412, HeadSHA: w.Head, BaseRef: "main", State: "closed"})
		}, "is closed"},
		{"not the merge", nil, func(_ *testing.T, w *actiontest.World) {
			w.Pull(ghtest.Pull{Number: 412, HeadSHA: w.Head, BaseRef: "main"})
			w.Branch("main", w.Server.Commit(map[string]ghtest.File{"x": {Data: "x"}}))
		}, "which is not main"},
		{"trust_ref that is not listed", map[string]string{"trust_ref": "evil"}, nil, "not among the branches"},
		{"ledger that is not there", map[string]string{"ledger": "OTHER.md"}, nil, "has no ledger"},
		{"clock", nil, func(_ *testing.T, w *actiontest.World) {
			w.Now = func() time.Time { return time.Now().Add(time.Hour) }
		}, "clock"},
		{"no permission", nil, func(_ *testing.T, w *actiontest.World) { w.May = map[string]string{"contents": "read"} }, "pull-requests: read"},
		{"root that cannot be read", nil, func(t *testing.T, w *actiontest.World) {
			w.Branch("main", w.Server.Commit(map[string]ghtest.File{".gatesworn/policy.yml": {Data: "version: 1\nbogus: x\n"}, ".gatesworn/allowed_signers": {Data: ""}}))
		}, "policy.yml"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := signedWorld(t, "", nil)
			if c.spoil != nil {
				c.spoil(t, w)
			}
			r := runAction(t, w, c.inputs)
			r.needs(t, r.code == 2 && strings.Contains(r.log, c.want), c.want)
			r.needs(t, r.report.Verdict == gates.VerdictError && r.outputs["conclusion"] == "failure", "an error report")
			for _, check := range w.Checks() {
				r.needs(t, check.Status == "completed" && check.Conclusion == "failure", "the check run is completed")
			}
		})
	}
}

func write2(t *testing.T, name, more string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(more)
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestSecretsShowNowhere: a check prints the token in several forms.
func TestSecretsShowNowhere(t *testing.T) {
	t.Parallel()
	const secret = "hunter2hunter2hunter2"
	w := signedWorld(t, "", func(f actiontest.Files, by actiontest.Signer) actiontest.Files {
		ledger := f["GATES.md"] + "- [ ] G3: leak " + secret + "\n  CHECK: echo " + secret + "; printf %s " + secret + " | base64; echo ::set-output name=x::y; exit 1\n  EXPECT: /^/\n"
		return actiontest.Sign(t, f.With(actiontest.Files{"GATES.md": ledger}), by, time.Now().Add(-time.Minute))
	})
	var log bytes.Buffer
	h := host(w, &log, nil)
	h.Secrets = append(h.Secrets, "DEPLOY_KEY="+secret)
	r := collect(t, w, result{code: Run(context.Background(), h), log: log.String()})
	r.log = log.String()
	r.needs(t, r.code == 1, "fails")
	all := r.log + r.summary
	for _, c := range w.Calls() {
		all += c.Body
	}
	for _, name := range []string{"report.json", "attestation.json", "predicate.json"} {
		data, err := os.ReadFile(filepath.Join(w.Top, ".gatesworn-out", name))
		if err != nil || len(data) == 0 {
			t.Fatalf("%s: %v", name, err)
		}
		all += string(data)
	}
	for _, form := range []string{secret, "aHVudGVyMmh1bnRlcjJodW50ZXIy"} {
		r.needs(t, !strings.Contains(all, form), "no "+form)
	}
	r.needs(t, !strings.Contains(r.log, "\n::set-output"), "no live command")
	r.needs(t, strings.Count(r.log, ghtest.Token) == 1 && strings.Contains(r.log, "::add-mask::"+ghtest.Token), "the token only in its mask")
}

// TestInterrupted: a signal stops the checks and completes the check run.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	w := signedWorld(t, "", func(f actiontest.Files, by actiontest.Signer) actiontest.Files {
		ledger := f["GATES.md"] + "- [ ] G3: slow\n  CHECK: echo started > \"$TMPDIR/x\"; sleep 600\n  EXPECT: /^/\n"
		return actiontest.Sign(t, f.With(actiontest.Files{"GATES.md": ledger}), by, time.Now().Add(-time.Minute))
	})
	ctx, cancel := context.WithCancel(context.Background())
	var log watched
	log.when, log.then = "GATES:G2", cancel
	r := result{code: Run(ctx, host(w, &log, nil)), log: log.String()}
	r = collect(t, w, r)
	r.needs(t, r.code == 2 && r.report.Verdict == gates.VerdictError, "interrupted")
	checks := w.Checks()
	r.needs(t, len(checks) == 1 && checks[0].Status == "completed" && checks[0].Conclusion == "failure", "the check run is completed")
}

// watched is a log that does something when a text appears.
type watched struct {
	bytes.Buffer
	when string
	then func()
}

func (w *watched) Write(p []byte) (int, error) {
	n, err := w.Buffer.Write(p)
	if w.then != nil && strings.Contains(w.Buffer.String(), w.when) {
		w.then()
		w.then = nil
	}
	return n, err
}
