package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/gatesworn/gatesworn/action/actiontest"
)

// gate adds a signed gate to a head's ledger.
func gate(id, check, expect string) func(actiontest.Files, actiontest.Signer) actiontest.Files {
	return func(f actiontest.Files, by actiontest.Signer) actiontest.Files {
		text := f["GATES.md"] + fmt.Sprintf("- [ ] %s: added\n  CHECK: %s\n  EXPECT: %s\n", id, check, expect)
		return actiontest.Sign(oneT, f.With(actiontest.Files{"GATES.md": text}), by, time.Now().Add(-time.Minute), id)
	}
}

// oneT fails loudly where there is no test at hand.
var oneT = panicking{}

type panicking struct{ testing.TB }

func (panicking) Helper()           {}
func (panicking) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

func TestActVerdicts(t *testing.T) {
	for _, c := range []struct {
		name       string
		edit       func(actiontest.Files, actiontest.Signer) actiontest.Files
		conclusion string
		title      string
	}{
		{"failed", func(f actiontest.Files, _ actiontest.Signer) actiontest.Files {
			return f.With(actiontest.Files{"README.md": ""})
		}, "failure", "G1 failed (1 of 2 met)"},
		{"unsigned", func(f actiontest.Files, _ actiontest.Signer) actiontest.Files {
			return f.With(actiontest.Files{"GATES.md": f["GATES.md"] + "- [ ] G3: more\n  CHECK: echo never | tee /tmp/never\n  EXPECT: never\n"})
		}, "action_required", "waiting for a maintainer to sign G3 (2 of 3 met)"},
		{"removed", func(f actiontest.Files, _ actiontest.Signer) actiontest.Files {
			return f.With(actiontest.Files{"GATES.md": strings.Split(f["GATES.md"], "- [ ] G2")[0]})
		}, "failure", "G2 was removed from GATES.md (1 of 2 met)"},
		{"changed root", func(f actiontest.Files, _ actiontest.Signer) actiontest.Files {
			return f.With(actiontest.Files{".gatesworn/policy.yml": f[".gatesworn/policy.yml"] + "removal: allow\n"})
		}, "action_required", ".gatesworn/"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScenario(t, workflow, "mode: run", "", c.edit)
			s.run(t)
			s.needs(t, s.outcome == "failure" && s.outputs["conclusion"] == c.conclusion, c.conclusion)
			checks := s.Checks()
			s.needs(t, len(checks) == 1 && checks[0].Conclusion == c.conclusion && strings.Contains(checks[0].Title, c.title), "check run")
			s.needs(t, len(s.Comments(412)) == 1, "one comment")
			s.clean(t)
		})
	}
}

// TestActReadOnlyToken: 403 at every write, as for a fork.
func TestActReadOnlyToken(t *testing.T) {
	s := newScenario(t, workflow, "mode: run", "", nil)
	s.May = map[string]string{"contents": "read", "pull_requests": "read", "checks": "read"}
	s.run(t)
	s.needs(t, s.outcome == "success" && s.outputs["conclusion"] == "success", "the verdict stands")
	s.needs(t, strings.Contains(s.log, "No check run: the token has no checks: write"), "the summary says so")
	s.clean(t)
}

// TestActSpy: a signed check tries everything that no check may do.
func TestActSpy(t *testing.T) {
	script := `for f in /proc/1/environ /proc/1/mem /var/run/act/workflow/event.json "$SPY_EVENT" "$SPY_TOP/.git/config" /etc/shadow; do if cat "$f" >/dev/null 2>&1; then echo BREACH read "$f"; fi; done; ` +
		`for f in /var/run/act/workflow/outputcmd.txt /var/run/act/workflow/envs.txt /var/run/act/workflow/pathcmd.txt "$SPY_TOP/README.md" /usr/local/bin/gatesworn; do if ( : >>"$f" ) 2>/dev/null; then echo BREACH write "$f"; fi; done; ` +
		`curl -s --unix-socket /var/run/docker.sock http://x/version && echo BREACH docker; (ls -A "$HOME"; ls -A "$TMPDIR") | grep . && echo BREACH home; env | grep -i -E 'token|github_' && echo BREACH env; ` +
		`git config --list | grep -i -E 'header|include' && echo BREACH git; (setsid sh -c 'sleep 611' >/dev/null 2>&1 &); grep -i nonewprivs /proc/self/status; id; touch here && git status --short | head -3; echo spied`
	// It fails in the end, so that its output shows what it saw and that it did look.
	s := newScenario(t, workflow, "mode: run", "env: [SPY_TOP, SPY_EVENT]\n", gate("G3", script+"; exit 1", "/^spied$/m"))
	s.run(t, "--env", "SPY_TOP="+s.Top, "--env", "SPY_EVENT="+s.Temp+"/event.json")
	tail := ""
	for _, g := range s.report.Ledgers[0].Gates {
		if g.ID == "G3" && g.Run != nil {
			tail = g.Run.Tail
		}
	}
	s.needs(t, strings.Contains(tail, "uid=59173") && strings.Contains(tail, "NoNewPrivs:\t1") && strings.Contains(tail, "?? here"), "what the check saw: "+tail)
	s.needs(t, strings.Contains(tail, "spied") && !strings.Contains(tail, "BREACH"), "nothing is within reach: "+tail)
	s.clean(t)
}

// TestActHostile: what a check prints stays text in every sink.
func TestActHostile(t *testing.T) {
	script := `printf '::set-output name=verdict::evil\n##[error]evil\n::add-mask::met\n::stop-commands::x\n\r::error::evil\n\033[31mred\033]0;title\007\n~~~~\n@everyone #1 </details><img src=x onerror=alert(1)>\n'; head -c 300000 /dev/zero | tr '\0' 'a'; printf '\342\200\256evil\n'; exit 1`
	s := newScenario(t, workflow, "mode: run\n          comment: always", "", func(f actiontest.Files, by actiontest.Signer) actiontest.Files {
		return gate("G3", "sh hostile.sh", "/never/")(f.With(actiontest.Files{"hostile.sh": script + "\n"}), by)
	})
	s.run(t)
	s.needs(t, s.outcome == "failure" && s.outputs["verdict"] == "unmet" && s.outputs["met"] == "2", "outputs")
	for _, command := range []string{"⚙  ::set-output:: verdict=evil", "❗  ::error::evil", "⚙  ::add-mask::"} {
		s.needs(t, !strings.Contains(s.log, command), "no live command "+command)
	}
	for _, text := range []string{s.Checks()[0].Text, s.Comments(412)[0].Body} {
		s.needs(t, !strings.Contains(text, "\x1b") && !strings.Contains(text, "\u202e") && len(text) <= 65535, "no escapes")
	}
	s.clean(t)
}

func TestActManyGates(t *testing.T) {
	s := newScenario(t, workflow, "mode: run\n          jobs: 8", "", func(f actiontest.Files, by actiontest.Signer) actiontest.Files {
		var b strings.Builder
		b.WriteString(f["GATES.md"])
		for i := range 198 {
			fmt.Fprintf(&b, "- [ ] M%d: gate %d\n  CHECK: echo n%dn\n  EXPECT: n%dn\n", i, i, i, i)
		}
		return actiontest.Sign(oneT, f.With(actiontest.Files{"GATES.md": b.String()}), by, time.Now().Add(-time.Minute))
	})
	s.run(t)
	s.needs(t, s.outcome == "success" && s.outputs["total"] == "200" && s.outputs["met"] == "200", "all met")
	if s.Reads() > 10 || s.Writes() > 6 {
		t.Errorf("%d reads, %d writes", s.Reads(), s.Writes())
	}
	s.clean(t)
}

// TestActKilled: a container that is killed leaves its check run open; the next run
// of the same pull request completes it.
func TestActKilled(t *testing.T) {
	s := newScenario(t, workflow, "mode: run", "env: [FAST]\n", gate("G3", `[ -n "$FAST" ] || sleep 307; echo awake`, "awake"))
	var log bytes.Buffer
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := s.command(t, "--env", "GITHUB_RUN_ID=100")
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for ctx.Err() == nil {
		if procs, _ := exec.Command("pgrep", "-u", "59173", "-fx", "sleep 307").Output(); len(procs) > 0 {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	id, err := exec.Command("docker", "ps", "-q", "--filter", "ancestor=act-gatesworn-gatesworn-v1-dockeraction:latest").Output()
	if err != nil || len(bytes.Fields(id)) != 1 {
		t.Fatalf("the action's container: %q %v", id, err)
	}
	if out, err := exec.Command("docker", "kill", string(bytes.TrimSpace(id))).CombinedOutput(); err != nil {
		t.Fatalf("docker kill: %s", out)
	}
	_ = cmd.Wait() // the job failed, as it should
	s.log = log.String()
	checks := s.Checks()
	s.needs(t, len(checks) == 1 && checks[0].Status == "in_progress", "a check run is left open")

	s.run(t, "--env", "GITHUB_RUN_ID=101", "--env", "FAST=1")
	s.needs(t, s.outcome == "success", "the next run")
	open := 0
	for _, c := range s.Checks() {
		if c.Status != "completed" {
			open++
		}
	}
	s.needs(t, open == 0, "no check run is left open")
	s.clean(t)
}

// hostWorkflow is the composite form, built from source on the runner.
var hostWorkflow = strings.ReplaceAll(workflow, "gatesworn/gatesworn@v1", "gatesworn/gatesworn/host@v1")

func TestActHost(t *testing.T) {
	// No process of the job keeps the token in its environment while checks run.
	look := `cat /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n' | grep -a -c ghs_; echo looked`
	s := newScenario(t, hostWorkflow, "mode: run", "", gate("G3", look, `/^0\nlooked\n$/`))
	s.run(t, "-P", "ubuntu-latest=gatesworn-e2e-host:1")
	s.needs(t, s.outcome == "success" && s.outputs["conclusion"] == "success", "success")
	missing := strings.Join(s.report.Protections.Missing, " ")
	s.needs(t, strings.Contains(missing, "separate user") && strings.Contains(missing, "container"), "the report says what is missing")
	s.needs(t, s.report.Execution.Containment == "slots", "containment")
}
