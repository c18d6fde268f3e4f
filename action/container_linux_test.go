package action

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gatesworn/gatesworn/action/actiontest"
	"github.com/gatesworn/gatesworn/gates"
)

// containerHost is a host that believes to be the container. It needs root, as the
// container has it.
func containerHost(t *testing.T, w *actiontest.World, out io.Writer, inputs map[string]string) Host {
	t.Helper()
	if os.Geteuid() != 0 {
		if os.Getenv("REQUIRE_TOOLS") == "1" {
			t.Fatal("this test needs root")
		}
		t.Skip("this test needs root")
	}
	folder, err := os.MkdirTemp("", "gatesworn-program-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	program := filepath.Join(folder, "gatesworn")
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, self, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	h := host(w, out, inputs)
	h.Container, h.Program = true, program
	return h
}

// spy is a gate whose check tries what it must not be able to do; its output names
// what worked.
func spy(w map[string]string) string {
	script := "for f in " + w["read"] + "; do if cat \"$f\" >/dev/null 2>&1; then echo BREACH read \"$f\"; fi; done; " +
		"for f in " + w["write"] + "; do if ( : >>\"$f\" ) 2>/dev/null; then echo BREACH write \"$f\"; fi; done; " +
		"id -u; id -G; pwd; ls -A \"$HOME\" \"$TMPDIR\"; git config --list 2>/dev/null | grep -i header; env | grep -i token; echo spied"
	return "- [ ] G3: nothing is within reach\n  CHECK: " + script + "\n  EXPECT: /^59173\\n59173\\n/\n"
}

func TestContainer(t *testing.T) { // not parallel: a user's processes are killed together
	w := signedWorld(t, "", func(f actiontest.Files, by actiontest.Signer) actiontest.Files {
		ledger := f["GATES.md"] + spy(map[string]string{
			"read":  "/proc/1/environ /proc/" + strconv.Itoa(os.Getpid()) + "/environ /proc/" + strconv.Itoa(os.Getpid()) + "/mem /etc/shadow",
			"write": "/etc/passwd /usr/bin/env /var/run/docker.sock",
		}) + "- [ ] G4: it writes beside itself and leaves a process\n  CHECK: echo x > build.out && (setsid sleep 977 >/dev/null 2>&1 &) ; git log --oneline | head -1 && echo done\n  EXPECT: done\n"
		return actiontest.Sign(t, f.With(actiontest.Files{"GATES.md": ledger}), by, time.Now().Add(-time.Minute))
	})
	var log bytes.Buffer
	h := containerHost(t, w, &log, map[string]string{"mode": "measure"})
	if err := os.Chown(w.Top, 1001, 1002); err != nil {
		t.Fatal(err)
	}
	r := collect(t, w, result{code: Run(context.Background(), h), log: log.String()})
	r.log = log.String()
	r.needs(t, r.code == 0 && r.report.Conclusion == gates.Success, "success")
	r.needs(t, r.report.Execution.Containment == "uid", "containment")
	r.needs(t, !strings.Contains(r.log, "BREACH"), "no breach")
	if _, err := os.Stat(filepath.Join(w.Top, "build.out")); err == nil {
		t.Error("a check wrote into the workspace")
	}
	for _, name := range []string{".gatesworn-out", ".gatesworn-out/report.json", ".gatesworn-out/.gitignore"} {
		info, err := os.Lstat(filepath.Join(w.Top, name))
		if err != nil {
			t.Fatal(err)
		}
		if st := info.Sys().(*syscall.Stat_t); st.Uid != 1001 || st.Gid != 1002 {
			t.Errorf("%s belongs to %d:%d", name, st.Uid, st.Gid)
		}
	}
	if left := processesOf(t, CheckID); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	scratch, _ := filepath.Glob(filepath.Join(os.TempDir(), "gatesworn-*", "work", "README.md"))
	for _, s := range scratch {
		if data, _ := os.ReadFile(filepath.Join(filepath.Dir(s), "GATES.md")); strings.Contains(string(data), "beside itself") {
			t.Errorf("the copy %s is still there", s)
		}
	}
}

// TestProbeRefuses: where something is within reach nothing runs at all.
func TestProbeRefuses(t *testing.T) { // not parallel: a user's processes are killed together
	w := signedWorld(t, "", nil)
	var log bytes.Buffer
	h := containerHost(t, w, &log, map[string]string{"mode": "measure"})
	open, err := os.MkdirTemp("", "gatesworn-open-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(open) })
	env := filepath.Join("/tmp", filepath.Base(open)+".env") // directly in a shared folder: it cannot be closed
	if err := os.WriteFile(env, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(env) })
	if err := os.Chmod(env, 0o666); err != nil {
		t.Fatal(err)
	}
	h.Env = append(h.Env, "GITHUB_ENV="+env)
	r := collect(t, w, result{code: Run(context.Background(), h), log: log.String()})
	r.log = log.String()
	r.needs(t, r.code == 2 && strings.Contains(r.log, "a check could write "+env), "refused")
	r.needs(t, r.report.Counts.Gates == 0, "nothing was judged")
}

// TestPersistedInMeasure: measure mode goes on, with a copy that has no credentials.
func TestPersistedInMeasure(t *testing.T) { // not parallel: a user's processes are killed together
	w := signedWorld(t, "", nil)
	var log bytes.Buffer
	h := containerHost(t, w, &log, map[string]string{"mode": "measure"})
	write2(t, filepath.Join(w.Top, ".git/config"), "[http \"https://github.com/\"]\n\textraheader = AUTHORIZATION: basic eDp5\n[core]\n\tfsmonitor = touch /tmp/pwned\n")
	r := collect(t, w, result{code: Run(context.Background(), h), log: log.String()})
	r.log = log.String()
	r.needs(t, r.code == 0, "success")
}

// processesOf lists running processes of a user.
func processesOf(t *testing.T, uid uint32) []string {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(dirs) == 0 {
		t.Fatal("cannot read /proc")
	}
	var out []string
	for _, d := range dirs {
		info, err := os.Stat(d)
		if err != nil {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid == uid {
			line, _ := os.ReadFile(d + "/cmdline")
			out = append(out, string(line))
		}
	}
	return out
}

func TestCleanConfig(t *testing.T) {
	t.Parallel()
	in := `[core]
	repositoryformatversion = 0
	filemode = true
	sshCommand = evil
	hooksPath = evil
[remote "origin"]
	url = https://github.com/o/r
[remote "secret"]
	url = https://x:y@github.com/o/r
[include]
	path = evil
[filter "lfs"]
	clean = evil
[extensions]
	objectformat = sha256
`
	got, err := cleanConfig([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{"evil", "x:y", "include", "filter"} {
		if strings.Contains(string(got), gone) {
			t.Errorf("%q is still there:\n%s", gone, got)
		}
	}
	for _, kept := range []string{"objectformat", "filemode", "https://github.com/o/r"} {
		if !strings.Contains(string(got), kept) {
			t.Errorf("%q is lost:\n%s", kept, got)
		}
	}
}
