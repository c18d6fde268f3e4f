package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// inProcess is the program within a benchmark: 20 ms are less than starting it may take on a busy machine.
func inProcess(dir string, env []string, in string, args ...string) (code int, out string) {
	var b bytes.Buffer
	code = run(app{
		args: args, in: strings.NewReader(in), out: &b, err: io.Discard, env: env,
		dir: func() (string, error) { return dir, nil }, now: time.Now, after: time.After,
	})
	return code, b.String()
}

func TestOutsideGit(t *testing.T) {
	t.Parallel()
	path := strings.Join([]string{"/usr/lib/git-core", "/usr/bin", "/x/git-core"}, string(filepath.ListSeparator))
	got := outsideGit([]string{"A=1", "GIT_DIR=.git", "PATH=" + path, "GIT_AUTHOR_NAME=x", "GIT_INDEX_FILE=y"})
	want := []string{"A=1", "PATH=" + strings.Join([]string{"/usr/bin", "/x/git-core"}, string(filepath.ListSeparator)), "GIT_AUTHOR_NAME=x"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// What git says is local to a repository is what checks do not inherit.
func TestGitLocalIsComplete(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("git", "rev-parse", "--local-env-vars").Output()
	if err != nil {
		if os.Getenv("REQUIRE_TOOLS") == "1" {
			t.Fatal(err)
		}
		t.Skip("git is missing")
	}
	for _, name := range strings.Fields(string(out)) {
		if !slices.Contains(gitLocal, name) {
			t.Errorf("%s is missing", name)
		}
	}
}

// BenchmarkHookStop20 is a stop in a scope with 20 ledgers, two gates to approve in each.
func BenchmarkHookStop20(b *testing.B) {
	dir := b.TempDir()
	for i := range 20 {
		file := filepath.Join(dir, ".unlazy", "s", "gates", fmt.Sprintf("leaf-%02d.md", i))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			b.Fatal(err)
		}
		text := "OWNS: x\n\n- [ ] G1: a\n  CHECK: true\n  EXPECT: /^/\n- [ ] G2: b\n  CHECK: true\n  EXPECT: /a.b/\n- [ ] G3: c\n- [ ] G4: d\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	env := []string{"HOME=" + b.TempDir(), "PATH=" + os.Getenv("PATH")}
	best := time.Hour
	for b.Loop() {
		at := time.Now()
		if code, out := inProcess(dir, env, `{"session_id":"s"}`, "hook", "stop"); code != 0 || !strings.Contains(out, "not approved") {
			b.Fatal(code, out)
		}
		best = min(best, time.Since(at))
	}
	b.ReportMetric(float64(best.Microseconds())/1000, "best-ms")
}

// BenchmarkPrePush is a push in this very repository.
func BenchmarkPrePush(b *testing.B) {
	out, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil {
		b.Skip("no git repository")
	}
	in := fmt.Sprintf("refs/heads/x %s refs/heads/x %040d\n", strings.TrimSpace(string(out)), 0)
	env := []string{"HOME=" + b.TempDir(), "PATH=" + os.Getenv("PATH")}
	dir, err := os.Getwd()
	if err != nil {
		b.Fatal(err)
	}
	best := time.Hour
	for b.Loop() {
		at := time.Now()
		if code, out := inProcess(dir, env, in, "hook", "pre-push"); code == 2 {
			b.Fatal(out)
		}
		best = min(best, time.Since(at))
	}
	b.ReportMetric(float64(best.Microseconds())/1000, "best-ms")
}
