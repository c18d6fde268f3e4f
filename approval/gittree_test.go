package approval_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/internal/gitobj"
)

// git runs the real program; the package itself never does.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	program, err := exec.LookPath("git")
	if err != nil {
		if os.Getenv("REQUIRE_TOOLS") == "1" {
			t.Fatal("git is missing")
		}
		t.Skip("git is missing")
	}
	cmd := exec.Command(program, append([]string{
		"-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main",
	}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func commitTree(t *testing.T, dir string) approval.Tree {
	t.Helper()
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "x")
	return treeOf(t, dir)
}

func treeOf(t *testing.T, dir string) approval.Tree {
	t.Helper()
	repo, err := gitobj.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = repo.Close() })
	oid, err := gitobj.ParseOID(git(t, dir, "rev-parse", "HEAD^{tree}"))
	if err != nil {
		t.Fatal(err)
	}
	tree, err := approval.NewGitTree(context.Background(), repo, oid)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func localTree(t *testing.T, dir string) approval.Tree {
	t.Helper()
	repo, err := gitobj.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = repo.Close() })
	tree, err := approval.LocalTree(context.Background(), repo, nil)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestRealRepository(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	sub := filepath.Join(dir, "sub.git")
	top := filepath.Join(dir, "top")
	for _, d := range []string{sub, top} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
		git(t, d, "init", "-q")
	}
	write(t, sub, "lib.sh", "lib\n")
	commitTree(t, sub)
	git(t, top, "submodule", "--quiet", "add", "../sub.git", "vendor/lib")
	write(t, top, "scripts/a.sh", "echo a\n")
	write(t, top, "scripts/b.sh", "echo b\n")
	write(t, top, ".gitignore", "*.log\n")
	write(t, top, "scripts/x.log", "noise")
	if err := os.Chmod(filepath.Join(top, "scripts/b.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	patterns := []string{"scripts/*", "vendor/lib"}
	judged := commitTree(t, top)
	signed, err := approval.Bind(judged, patterns)
	if err != nil || len(signed) != 3 {
		t.Fatal(signed, err)
	}
	local, err := approval.Bind(localTree(t, top), patterns)
	if diff := cmp.Diff(signed, local); diff != "" || err != nil {
		t.Fatalf("a clean work tree binds otherwise than its commit: %s %v", diff, err)
	}
	if err := approval.Unchanged(top, signed); err != nil {
		t.Fatal(err)
	}
	if _, err := approval.Bind(judged, []string{"vendor/lib/lib.sh"}); err == nil {
		t.Error("a file of a submodule is bound")
	}
	write(t, top, "scripts/c.sh", "new")
	if more, err := approval.Bind(localTree(t, top), patterns); err != nil || len(more) != 4 {
		t.Error("an untracked file that matches is left out", more, err)
	}
	write(t, sub, "lib.sh", "lib 2\n")
	commitTree(t, sub)
	git(t, filepath.Join(top, "vendor/lib"), "pull", "-q")
	head := git(t, filepath.Join(top, "vendor/lib"), "rev-parse", "HEAD")
	git(t, filepath.Join(top, "vendor/lib"), "checkout", "-q", head)
	if err := approval.Unchanged(top, signed); err == nil || !strings.Contains(err.Error(), "another commit") {
		t.Error("a submodule bump:", err)
	}
	bumped, err := approval.Bind(commitTree(t, top), patterns)
	if err != nil || len(bumped) != 4 || bumped[3] == signed[2] {
		t.Error("a submodule bump in the commit:", bumped, err)
	}
}

// TestAttributesShadow: a checkout that git's attributes changed is not what was bound.
func TestAttributesShadow(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	git(t, top, "init", "-q")
	write(t, top, "a.sh", "echo a\n")
	bound, err := approval.Bind(commitTree(t, top), []string{"a.sh"})
	if err != nil {
		t.Fatal(err)
	}
	write(t, top, ".gitattributes", "a.sh text eol=crlf\n")
	git(t, top, "add", ".gitattributes")
	git(t, top, "commit", "-qm", "x")
	if err := os.Remove(filepath.Join(top, "a.sh")); err != nil {
		t.Fatal(err)
	}
	git(t, top, "checkout", "--", "a.sh")
	if err := approval.Unchanged(top, bound); err == nil {
		t.Error("a file that was checked out with other bytes counts")
	}
}
