package actiontest

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gatesworn/gatesworn/ghreport/ghtest"
)

// World is a pull request that the Action judges: 412 into main.
type World struct {
	*ghtest.Server
	Top    string // the workspace: a checkout of the test merge
	Temp   string // the runner's own files: event, outputs, summary
	Base   string // commit names
	Head   string
	Merge  string
	Number int
}

// NewWorld makes a pull request from base to head in folder, which is made. Both
// are complete sets of files.
func NewWorld(t testing.TB, s *ghtest.Server, folder string, base, head Files) *World {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		if os.Getenv("REQUIRE_TOOLS") == "1" {
			t.Fatal(err)
		}
		t.Skip("no git")
	}
	w := &World{Server: s, Number: 412, Top: filepath.Join(folder, "widgets"), Temp: filepath.Join(folder, "_temp")}
	for _, dir := range []string{w.Top, w.Temp} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.git(t, nil, "init", "-q", "-b", "main")
	w.Base = w.commit(t, base)
	w.Head = w.commit(t, head, w.Base)
	w.Merge = w.commit(t, head, w.Base, w.Head)
	w.git(t, nil, "checkout", "-q", "--detach", w.Merge)
	s.Branch("main", w.Base)
	s.Pull(ghtest.Pull{Number: w.Number, HeadSHA: w.Head, BaseRef: "main", MergeCommit: w.Merge})
	w.event(t)
	for _, name := range []string{"output", "summary", "env", "path", "state"} {
		if err := os.WriteFile(filepath.Join(w.Temp, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// event writes what the runner hands over. Only the number counts.
func (w *World) event(t testing.TB) {
	t.Helper()
	data, err := json.Marshal(map[string]any{
		"action": "opened", "number": w.Number,
		"pull_request": map[string]any{"number": w.Number, "head": map[string]any{"sha": w.Head}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.Temp, "event.json"), data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// commit makes the same commit on disk and at the double.
func (w *World) commit(t testing.TB, files Files, parents ...string) string {
	t.Helper()
	w.git(t, nil, "rm", "-rq", "--cached", "--ignore-unmatch", ".")
	entries, _ := os.ReadDir(w.Top)
	for _, e := range entries {
		if e.Name() != ".git" {
			_ = os.RemoveAll(filepath.Join(w.Top, e.Name()))
		}
	}
	there := map[string]ghtest.File{}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		name := filepath.Join(w.Top, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(files[path]), 0o644); err != nil {
			t.Fatal(err)
		}
		there[path] = ghtest.File{Data: files[path]}
	}
	w.git(t, nil, "add", "-A", "-f")
	tree := w.git(t, nil, "write-tree")
	args := []string{"commit-tree", tree}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	sha := w.git(t, strings.NewReader("x\n"), args...)
	if got := w.Server.Commit(there, parents...); got != sha {
		t.Fatalf("the double has commit %s, git %s", got, sha)
	}
	return sha
}

func (w *World) git(t testing.TB, in *strings.Reader, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = w.Top
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.Temp, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_AUTHOR_DATE=1790000000 +0000",
		"GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org", "GIT_COMMITTER_DATE=1790000000 +0000",
	}
	if in != nil {
		cmd.Stdin = in
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// Env is the environment that the runner gives the step, with the inputs in.
func (w *World) Env(inputs map[string]string) []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(w.Temp, "home"), "CI=true", "GITHUB_ACTIONS=true",
		"GITHUB_EVENT_NAME=pull_request", "GITHUB_EVENT_PATH=" + filepath.Join(w.Temp, "event.json"),
		"GITHUB_SHA=" + w.Merge, "GITHUB_REF=refs/pull/412/merge", "GITHUB_REPOSITORY=" + w.Repo.FullName(),
		"GITHUB_WORKSPACE=" + w.Top, "RUNNER_TEMP=" + w.Temp, "GITHUB_API_URL=https://api.github.com", "GITHUB_SERVER_URL=https://github.com",
		"GITHUB_RUN_ID=100", "GITHUB_RUN_ATTEMPT=1", "GITHUB_WORKFLOW_REF=" + w.Repo.FullName() + "/.github/workflows/gatesworn.yml@refs/pull/412/merge",
		"GITHUB_OUTPUT=" + filepath.Join(w.Temp, "output"), "GITHUB_STEP_SUMMARY=" + filepath.Join(w.Temp, "summary"),
		"GITHUB_ENV=" + filepath.Join(w.Temp, "env"), "GITHUB_PATH=" + filepath.Join(w.Temp, "path"), "GITHUB_STATE=" + filepath.Join(w.Temp, "state"),
		"INPUT_GITHUB_TOKEN=" + ghtest.Token, "INPUT_API_URL=" + w.URL,
	}
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		env = append(env, "INPUT_"+strings.ToUpper(name)+"="+inputs[name])
	}
	return env
}
