package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gatesworn/gatesworn/action/actiontest"
	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/ghreport/ghtest"
)

// runnerImage is what act runs jobs in (.ci/images).
const runnerImage = "gatesworn-e2e-runner:1"

// actBinary is act, built by .ci/e2e; "" skips, or fails where tools are required.
func actBinary(t *testing.T) string {
	t.Helper()
	path := os.Getenv("ACT")
	ok := path != "" && exec.Command("docker", "info").Run() == nil
	if !ok && os.Getenv("REQUIRE_TOOLS") == "1" {
		t.Fatal("act or docker is missing; run: make e2e")
	}
	if !ok {
		t.Skip("act or docker is missing; run: make e2e")
	}
	return path
}

// source is a copy of this repository as an action is fetched: what git tracks or
// does not ignore, so without downloads and history.
var source = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "gatesworn-action-")
	if err != nil {
		return "", err
	}
	script := `cd ../.. && git ls-files -co --exclude-standard -z | xargs -0 sh -c 'for f; do [ -f "$f" ] && printf "%s\0" "$f"; done' sh | tar -c --null -T - | tar -x -C "$0"`
	out, err := exec.Command("bash", "-c", script, dir).CombinedOutput()
	if err != nil {
		return "", &exec.Error{Name: string(out), Err: err}
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := source(); err == nil {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// workflow is what a scenario runs. The last step shows what a later step sees.
const workflow = `on: [pull_request, push]
permissions:
  contents: read
jobs:
  gatesworn:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
        with:
          persist-credentials: false
      - id: g
        uses: gatesworn/gatesworn@v1
        with:
          api_url: API
          INPUTS
      - if: always()
        run: |
          printf '%s' '${{ toJSON(steps.g.outputs) }}' > .gatesworn-out/outputs.json
          printf '%s' '${{ steps.g.outcome }}' > .gatesworn-out/outcome
`

// scenario is one run of a workflow in act.
type scenario struct {
	*actiontest.World
	workflow string
	log      string
	code     int
	outcome  string
	outputs  map[string]string
	report   gates.Report
}

// newScenario makes a pull request whose head has the workflow, as its base does.
func newScenario(t *testing.T, flow string, inputs string, policy string, edit func(actiontest.Files, actiontest.Signer) actiontest.Files) *scenario {
	t.Helper()
	s := double(t)
	alice := actiontest.NewSigner(t, "alice@example.org")
	flow = strings.ReplaceAll(strings.ReplaceAll(flow, "API", s.URL), "INPUTS", inputs)
	base := actiontest.Root(s.Repo.FullName(), policy, alice).With(actiontest.Files{
		"GATES.md": ledger, "README.md": "hello\n", ".github/workflows/gatesworn.yml": flow,
	})
	base = actiontest.Sign(t, base, alice, time.Now().Add(-time.Hour))
	head := base.With(actiontest.Files{"change.txt": "a change\n"})
	if edit != nil {
		head = edit(head, alice)
	}
	folder, err := os.MkdirTemp("", "gatesworn-act-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	w := actiontest.NewWorld(t, s, folder, base, head)
	chown(t, w.Top, 1001, 1002)
	return &scenario{World: w, workflow: ".github/workflows/gatesworn.yml"}
}

const ledger = `# Gates
- [x] G1: the readme is there
  CHECK: test -f README.md && echo found
  EXPECT: found
  EVIDENCE: pending
- [ ] G2: it adds up
  CHECK: echo $((40 + 2))
  EXPECT: /^42$/m
`

func chown(t *testing.T, top string, uid, gid int) {
	t.Helper()
	err := filepath.WalkDir(top, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, uid, gid)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// command is act with everything that keeps it on this machine.
func (s *scenario) command(t *testing.T, more ...string) *exec.Cmd {
	t.Helper()
	act := actBinary(t)
	src, err := source()
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{
		"pull_request", "-W", s.workflow, "-e", filepath.Join(s.Temp, "event.json"), "-b", "-P", "ubuntu-latest=" + runnerImage,
		"--pull=false", "--rebuild=" + rebuild(), "--network", "host", "-s", "GITHUB_TOKEN=" + ghtest.Token, "--no-cache-server", "--rm",
		"--local-repository", "gatesworn/gatesworn@v1=" + src, "--action-offline-mode",
		"--env", "GITHUB_REPOSITORY=" + s.Repo.FullName(), "--container-options", "--pids-limit=400",
	}, more...)
	cmd := exec.Command(act, args...)
	cmd.Dir = s.Top
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.Temp, "XDG_CACHE_HOME=" + filepath.Join(os.TempDir(), "gatesworn-act-cache")}
	return cmd
}

// rebuild has the first scenario build the action's image, as a runner does.
func rebuild() string {
	answer := "false"
	first.Do(func() { answer = "true" })
	return answer
}

var first sync.Once

// run runs the workflow and reads what it left in the workspace.
func (s *scenario) run(t *testing.T, more ...string) {
	t.Helper()
	var log bytes.Buffer
	cmd := s.command(t, more...)
	cmd.Stdout, cmd.Stderr = &log, &log
	err := cmd.Run()
	s.log = log.String()
	if exit, ok := err.(*exec.ExitError); ok {
		s.code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	s.collect(t)
}

func (s *scenario) collect(t *testing.T) {
	t.Helper()
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(s.Top, ".gatesworn-out", name))
		if err != nil {
			t.Errorf("%v\n%s", err, s.log)
		}
		return data
	}
	s.outcome = string(read("outcome"))
	if err := json.Unmarshal(read("outputs.json"), &s.outputs); err != nil {
		t.Errorf("outputs: %v", err)
	}
	if err := json.Unmarshal(read("report.json"), &s.report); err != nil {
		t.Errorf("report: %v", err)
	}
}

func (s *scenario) needs(t *testing.T, ok bool, what string) {
	t.Helper()
	if !ok {
		t.Errorf("%s\noutcome %s, act's status %d, outputs %v\n%s", what, s.outcome, s.code, s.outputs, s.log)
	}
}

// clean checks what holds after every scenario.
func (s *scenario) clean(t *testing.T) {
	t.Helper()
	s.needs(t, !strings.Contains(s.log, ghtest.Token), "the token is in the log")
	err := filepath.WalkDir(s.Top, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		if base := filepath.Base(path); st.Uid != 1001 && base != "outputs.json" && base != "outcome" {
			t.Errorf("%s belongs to %d", path, st.Uid)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	out, err := exec.Command("docker", "ps", "-q", "--filter", "ancestor="+runnerImage).Output()
	if err != nil || len(bytes.TrimSpace(out)) > 0 {
		t.Errorf("containers are left: %s %v", out, err)
	}
	procs, _ := exec.Command("pgrep", "-u", "59173").Output()
	if len(bytes.TrimSpace(procs)) > 0 {
		t.Errorf("processes of checks are left: %s", procs)
	}
}

func TestActAllMet(t *testing.T) {
	s := newScenario(t, workflow, "mode: run", "", nil)
	s.run(t)
	s.needs(t, s.outcome == "success" && s.outputs["conclusion"] == "success" && s.outputs["met"] == "2", "success")
	s.needs(t, len(s.Checks()) == 1 && s.Checks()[0].Conclusion == "success", "check run")
	s.needs(t, s.report.Execution.Containment == "uid", "containment")
	s.clean(t)
}
