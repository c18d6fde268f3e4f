package signing

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatesworn/gatesworn/internal/gitobj"
)

// checkout is a repository made by git.
type checkout struct {
	t   *testing.T
	dir string
	env []string
}

func newCheckout(t *testing.T, options ...string) checkout {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		if os.Getenv("REQUIRE_TOOLS") == "1" {
			t.Fatal("git is missing")
		}
		t.Skip("git is missing")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := checkout{t, dir, []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + filepath.Join(dir, "none"),
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org",
		"GIT_DIR_OF_SOMEBODY=1",
	}}
	c.git(append([]string{"init", "-q", "-b", "main"}, options...)...)
	c.write("a", "a\n")
	c.git("add", "a")
	c.git("commit", "-q", "-m", "first")
	return c
}

func (c checkout) git(args ...string) string {
	c.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = c.dir, c.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (c checkout) write(name, text string) {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		c.t.Fatal(err)
	}
}

func (c checkout) commit() (string, error) {
	c.t.Helper()
	repo, err := gitobj.Open(c.dir)
	if err != nil {
		c.t.Fatal(err)
	}
	defer repo.Close()
	return Commit{
		Repo: repo, Files: map[string][]byte{"deep/er/x": []byte("x\r\n"), "y": []byte("y\n")}, Message: "two files",
		Name: "Bob", Email: "bob@example.org", Now: time.Unix(1790000000, 0).UTC(),
	}.Make(c.t.Context(), Program{Env: c.env})
}

func TestCommit(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(c checkout) checkout{
		"branch": func(c checkout) checkout { return c },
		"packed refs": func(c checkout) checkout {
			c.git("pack-refs", "--all")
			return c
		},
		"detached": func(c checkout) checkout {
			c.git("checkout", "-q", "--detach")
			return c
		},
		"staged and dirty": func(c checkout) checkout {
			c.write("staged", "s\n")
			c.git("add", "staged")
			c.write("a", "changed\n")
			return c
		},
		"work tree": func(c checkout) checkout {
			other := c
			other.dir = filepath.Join(c.dir, "other")
			c.git("worktree", "add", "-q", "-b", "topic/x", other.dir)
			return other
		},
		"index v4": func(c checkout) checkout {
			c.git("update-index", "--index-version", "4")
			return c
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testCommit(t, prepare(newCheckout(t)))
		})
	}
	t.Run("sha256", func(t *testing.T) {
		t.Parallel()
		testCommit(t, newCheckout(t, "--object-format=sha256"))
	})
}

func testCommit(t *testing.T, c checkout) {
	before, staged := c.git("rev-parse", "HEAD"), c.git("diff", "--cached", "--name-only")
	branch := c.git("rev-parse", "--abbrev-ref", "HEAD")
	c.write("deep/er/x", "x\r\n")
	c.write("y", "y\n")
	made, err := c.commit()
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"rev-parse HEAD":                            made,
		"rev-parse HEAD^":                           before,
		"rev-parse --abbrev-ref HEAD":               branch,
		"log -1 --format=%an|%ae|%cn|%at|%s":        "Bob|bob@example.org|Bob|1790000000|two files",
		"diff-tree -r --name-status HEAD^ HEAD":     "A\tdeep/er/x\nA\ty",
		"ls-tree -r --format=%(objectmode) HEAD y":  "100644",
		"diff --cached --name-only":                 staged,
		"status --porcelain -- y deep":              "",
		"log -1 -g --format=%gs HEAD":               "commit: two files",
		"rev-parse --verify --quiet HEAD@{1}":       before,
		"fsck --strict --no-dangling --no-progress": "",
	} {
		if got := c.git(strings.Fields(args)...); got != want {
			t.Errorf("git %s: %q, want %q", args, got, want)
		}
	}
	c.git("commit", "-q", "--allow-empty", "-m", "git goes on")
}

func TestCommitRefuses(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	before := c.git("rev-parse", "HEAD")
	c.write(".git/refs/heads/main.lock", "")
	if _, err := c.commit(); !errors.Is(err, ErrCommit) {
		t.Error(err)
	}
	if now := c.git("rev-parse", "HEAD"); now != before {
		t.Error("HEAD moved")
	}
	if _, err := os.Stat(filepath.Join(c.dir, ".git/refs/heads/main.lock")); err != nil {
		t.Error("another's lock was taken away")
	}
	empty := checkout{t: t, dir: t.TempDir(), env: c.env}
	empty.git("init", "-q")
	if _, err := empty.commit(); !errors.Is(err, ErrCommit) {
		t.Error(err)
	}
}
