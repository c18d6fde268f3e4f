package hook

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("REQUIRE_TOOLS") == "1" {
			t.Fatalf("%s is required", name)
		}
		t.Skipf("needs %s", name)
	}
	return path
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command(tool(t, "git"), append([]string{"-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// fake is a program that records how it was called.
func fake(t *testing.T, dir, name string, status string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	must(t, os.WriteFile(path, []byte("#!/bin/sh\n{ echo \"$(basename \"$0\") $*\"; cat; } >> \"$(dirname \"$0\")/calls\"\nexit "+status+"\n"), 0o755))
	return path
}

func TestPrePushInRealRepository(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("needs a POSIX shell")
	}
	bin, root, remote := tree(t), tree(t, "f", "x"), tree(t)
	program := fake(t, bin, "gates'worn program", "0")
	git(t, remote, "init", "-q", "--bare")
	git(t, root, "init", "-q", "-b", "main")
	git(t, root, "add", ".")
	git(t, root, "commit", "-qm", "x")
	hooks, err := HooksDir(root)
	must(t, err)
	must(t, os.MkdirAll(hooks, 0o755))
	must(t, os.RemoveAll(filepath.Join(hooks, prePush)))
	existing := "#!/bin/sh\n{ echo \"existing $*\"; cat; } >> '" + bin + "/calls'\n"
	must(t, os.WriteFile(filepath.Join(hooks, prePush), []byte(existing), 0o755))
	o, err := InstallGit(hooks, program, true)
	must(t, err)
	if !o.Changed || o.Backup == "" {
		t.Errorf("%+v", o)
	}
	git(t, root, "push", "-q", remote, "main")
	id := strings.TrimSpace(git(t, root, "rev-parse", "HEAD"))
	line := "refs/heads/main " + id + " refs/heads/main " + strings.Repeat("0", 40) + "\n"
	want := "existing " + remote + " " + remote + "\n" + line + "gates'worn program hook pre-push --run " + remote + " " + remote + "\n" + line
	if got := read(t, bin, "calls"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	pushes, err := ReadPushes(strings.NewReader(line))
	if err != nil || len(pushes) != 1 || pushes[0].LocalID != id || pushes[0].Delete() {
		t.Errorf("%+v %v", pushes, err)
	}
	o, err = UninstallGit(hooks)
	if err != nil || o.Removed != 1 || read(t, hooks, prePush) != existing {
		t.Errorf("%+v %v", o, err)
	}
	if _, err := os.Stat(filepath.Join(hooks, previous)); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestScriptStatuses(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("needs a POSIX shell")
	}
	for _, tt := range []struct {
		name, before, program string // statuses, "" for none
		want                  int
		says                  string
	}{
		{"nothing before", "", "0", 0, ""}, {"refuses", "", "1", 1, ""}, {"before refuses", "7", "0", 7, ""}, {"both agree", "0", "0", 0, ""}, {"program is gone", "0", "", 1, "is gone"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := tree(t)
			program := filepath.Join(dir, "gone", "gatesworn")
			if tt.program != "" {
				program = fake(t, dir, "p", tt.program)
			}
			if tt.before != "" {
				fake(t, dir, previous, tt.before)
			}
			text, err := Script(program, false)
			must(t, err)
			must(t, os.WriteFile(filepath.Join(dir, prePush), []byte(text), 0o755))
			cmd := exec.Command(tool(t, "sh"), filepath.Join(dir, prePush), "origin", "url")
			cmd.Env = []string{"PATH=/usr/bin:/bin"}
			var stderr bytes.Buffer
			cmd.Stdin, cmd.Stderr = strings.NewReader(""), &stderr
			_ = cmd.Run()
			if got := cmd.ProcessState.ExitCode(); got != tt.want || !strings.Contains(stderr.String(), tt.says) {
				t.Errorf("status %d, want %d; %s", got, tt.want, &stderr)
			}
			if tt.before == "7" && strings.Contains(read(t, dir, "calls"), "hook pre-push") {
				t.Error("the program ran after a refusal")
			}
		})
	}
}

func TestInstallGit(t *testing.T) {
	t.Parallel()
	hooks := filepath.Join(tree(t), "hooks") // made when it is missing
	o, err := InstallGit(hooks, "/a/gatesworn", false)
	if err != nil || !o.Changed || o.Backup != "" || o.Repaired {
		t.Fatalf("%+v %v", o, err)
	}
	if info, err := os.Stat(o.File); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o755 {
		t.Error(info.Mode(), err)
	}
	if o, err = InstallGit(hooks, "/a/gatesworn", false); err != nil || o.Changed {
		t.Errorf("twice: %+v %v", o, err)
	}
	if o, err = InstallGit(hooks, "/b/gatesworn", true); err != nil || !o.Repaired || !strings.Contains(read(t, hooks, prePush), "program='/b/gatesworn'") {
		t.Errorf("moved: %+v %v", o, err)
	}
	edited := read(t, hooks, prePush) + "echo mine\n"
	write(t, hooks, prePush, edited)
	if _, err = InstallGit(hooks, "/a/gatesworn", false); !errors.Is(err, ErrForeign) {
		t.Error(err)
	}
	if _, err = UninstallGit(hooks); !errors.Is(err, ErrForeign) || read(t, hooks, prePush) != edited {
		t.Error(err)
	}
	write(t, hooks, prePush, "#!/bin/sh\nmine\n")
	if o, err := UninstallGit(hooks); err != nil || o.Removed != 0 || read(t, hooks, prePush) != "#!/bin/sh\nmine\n" {
		t.Errorf("somebody else's: %+v %v", o, err)
	}
	write(t, hooks, previous, "kept before")
	if _, err := InstallGit(hooks, "/a/gatesworn", false); err == nil || read(t, hooks, previous) != "kept before" {
		t.Errorf("overwrote a kept hook: %v", err)
	}
	if _, err := InstallGit(hooks, "/a\nrm -rf x/gatesworn", false); err == nil {
		t.Error("a path with a line break")
	}
	must(t, os.Remove(filepath.Join(hooks, prePush)))
	if o, err := UninstallGit(hooks); err != nil || o.Removed != 0 {
		t.Errorf("none: %+v %v", o, err)
	}
}

// A linked hook is kept as the link it is.
func TestInstallGitOverALink(t *testing.T) {
	t.Parallel()
	hooks := tree(t, "real", "#!/bin/sh\n")
	link(t, "real", filepath.Join(hooks, prePush))
	_, err := InstallGit(hooks, "/a/gatesworn", false)
	must(t, err)
	if to, err := os.Readlink(filepath.Join(hooks, previous)); err != nil || to != "real" || read(t, hooks, "real") != "#!/bin/sh\n" {
		t.Error(to, err)
	}
	_, err = UninstallGit(hooks)
	must(t, err)
	if to, err := os.Readlink(filepath.Join(hooks, prePush)); err != nil || to != "real" {
		t.Error(to, err)
	}
}

// Where git says its hooks are, in every layout.
func TestHooksDirIsGits(t *testing.T) {
	t.Parallel()
	root := tree(t, "f", "x")
	git(t, root, "init", "-q", "-b", "main")
	git(t, root, "add", ".")
	git(t, root, "commit", "-qm", "x")
	other := filepath.Join(tree(t), "work")
	git(t, root, "worktree", "add", "-q", other)
	agree := func(dir string) {
		t.Helper()
		want := strings.TrimSpace(git(t, dir, "rev-parse", "--git-path", "hooks"))
		if !filepath.IsAbs(want) {
			want = filepath.Join(dir, want)
		}
		got, err := HooksDir(dir)
		if err != nil || filepath.Clean(got) != filepath.Clean(want) {
			t.Errorf("%s: %q, git says %q; %v", dir, got, want, err)
		}
	}
	agree(root)
	agree(other)
	git(t, root, "config", "core.hooksPath", ".githooks")
	agree(root)
	git(t, root, "config", "core.hooksPath", filepath.Join(root, "my hooks"))
	agree(root)
	agree(other)
	git(t, root, "config", "--unset", "core.hooksPath")
	user := filepath.Join(tree(t, "config", "[user]\n\tname = x\n[Core] hookspath = \"team\"\n"), "config")
	if got, err := HooksDir(root, "/nowhere", user); err != nil || got != filepath.Join(root, "team") {
		t.Error(got, err)
	}
	write(t, filepath.Dir(user), "config", "[core]\nhooksPath = ~/hooks\n")
	if _, err := HooksDir(root, user); err == nil {
		t.Error("a home folder's hooks")
	}
	if _, err := HooksDir(tree(t)); err == nil {
		t.Error("no git")
	}
	if _, err := HooksDir(tree(t, ".git", "nonsense")); err == nil {
		t.Error("a .git file that names nothing")
	}
}

func TestReadPushes(t *testing.T) {
	t.Parallel()
	a, zero := strings.Repeat("a", 40), strings.Repeat("0", 40)
	got, err := ReadPushes(strings.NewReader("refs/heads/x " + a + " refs/heads/y " + zero + "\n\n(delete) " + zero + " refs/heads/z " + a + "\n"))
	must(t, err)
	if d := cmp.Diff([]Push{{"refs/heads/x", a, "refs/heads/y", zero}, {"(delete)", zero, "refs/heads/z", a}}, got); d != "" {
		t.Error(d)
	}
	if got[0].Delete() || !got[1].Delete() {
		t.Error("deletion")
	}
	for _, bad := range []string{"x", "a b c d", "a " + a + " b " + a + " c", "a " + a + " b HEAD"} {
		if _, err := ReadPushes(strings.NewReader(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
	if _, err := ReadPushes(broken{}); err == nil {
		t.Error("broken")
	}
}
