package gitobj

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repoAt is a repository that the real git program looks after.
type repoAt struct {
	t   testing.TB
	dir string
}

// needGit skips without git, unless REQUIRE_TOOLS=1 demands it.
func needGit(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		if os.Getenv("REQUIRE_TOOLS") == "1" {
			t.Fatal("git is missing")
		}
		t.Skip("git is missing")
	}
}

func newRepo(t testing.TB, format string) repoAt {
	t.Helper()
	needGit(t)
	r := repoAt{t, filepath.Join(tempDir(t), "repo")}
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.git("init", "-q", "-b", "main", "--object-format="+format)
	return r
}

// tempDir is a temporary folder without links on the way (macOS).
func tempDir(t testing.TB) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func gitEnv() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "LC_ALL=C", "SystemRoot=" + os.Getenv("SystemRoot"),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_AUTHOR_DATE=1700000000 +0130",
		"GIT_COMMITTER_NAME=Bob", "GIT_COMMITTER_EMAIL=bob@example.org", "GIT_COMMITTER_DATE=1700000100 -0500",
	}
}

func (r repoAt) git(args ...string) string {
	r.t.Helper()
	return r.gitIn("", args...)
}

func (r repoAt) gitIn(stdin string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "protocol.file.allow=always", "-c", "core.quotePath=false"}, args...)...)
	cmd.Dir, cmd.Env = r.dir, gitEnv()
	cmd.Stdin = strings.NewReader(stdin)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, errs.String())
	}
	return string(out)
}

func (r repoAt) write(path, data string) {
	r.t.Helper()
	full := filepath.Join(r.dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(data), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r repoAt) commit(msg string) OID {
	r.t.Helper()
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", msg)
	return r.oid("HEAD")
}

func (r repoAt) oid(rev string) OID {
	r.t.Helper()
	oid, err := ParseOID(strings.TrimSpace(r.git("rev-parse", rev)))
	if err != nil {
		r.t.Fatal(err)
	}
	return oid
}

func (r repoAt) path(rel string) string { return filepath.Join(r.dir, filepath.FromSlash(rel)) }

func (r repoAt) open() *Repo {
	r.t.Helper()
	g, err := Open(r.dir)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { g.Close() })
	return g
}

// headEntries opens the repository and lists HEAD's tree.
func (r repoAt) headEntries() (*Repo, []Entry) {
	r.t.Helper()
	g := r.open()
	head, err := g.Head()
	if err != nil {
		r.t.Fatal(err)
	}
	c, err := g.Commit(head.OID)
	if err != nil {
		r.t.Fatal(err)
	}
	list, err := g.List(context.Background(), c.Tree)
	if err != nil {
		r.t.Fatal(err)
	}
	return g, list
}

func eachFormat(t *testing.T, fn func(t *testing.T, format string)) {
	for _, f := range []string{"sha1", "sha256"} {
		t.Run(f, func(t *testing.T) { t.Parallel(); fn(t, f) })
	}
}
