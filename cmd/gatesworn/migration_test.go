package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMigrationTable runs every command of the right-hand column of docs/migration.md,
// in order, in one tree as unlazy leaves it.
func TestMigrationTable(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		if os.Getenv("REQUIRE_TOOLS") == "1" {
			t.Fatal(err)
		}
		t.Skip("git is missing")
	}
	page, err := os.ReadFile("../../docs/migration.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| .* \\| `(gatesworn [^`]+)` \\|$").FindAllStringSubmatch(string(page), -1)
	if n := strings.Count(string(page), "\n| ") - strings.Count(string(page), "\n|---"); n != len(rows) || len(rows) < 40 {
		t.Fatalf("%d commands in %d rows", len(rows), n)
	}
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| unlazy |") && !strings.Contains(line, "`gatesworn ") {
			t.Errorf("a row without a command: %s", line)
		}
	}
	tree := newMigrated(t)
	for _, row := range rows {
		tree.run(row[1])
	}
	for file, want := range map[string]string{
		".unlazy/auth/status.log":    "text\n",
		".unlazy/auth/session":       "SESSION\n",
		".unlazy/auth/dispatch.json": `"state": "abandoned"`,
	} {
		if got, err := os.ReadFile(filepath.Join(tree.root, filepath.FromSlash(file))); err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%s: %v\n%s", file, err, got)
		}
	}
}

// migrated is a tree with unlazy's files in it.
type migrated struct {
	t         *testing.T
	root, bin string
	env       []string
}

func newMigrated(t *testing.T) *migrated {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := &migrated{t: t, root: filepath.Join(dir, "tree"), bin: filepath.Join(dir, "gatesworn")}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, m.bin); err != nil { // by that name the test binary is the program (TestMain)
		t.Skipf("needs the right to make links: %v", err)
	}
	for _, d := range []string{"src", ".unlazy/auth/gates", ".unlazy/locks", ".claude"} {
		if err := os.MkdirAll(filepath.Join(m.root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	ledger := "OWNS: src/**\n\n- [ ] G1: it runs\n  CHECK: echo it runs\n  EXPECT: it runs\n  EVIDENCE: pending\n"
	for name, text := range map[string]string{
		"GATES.md": ledger, ".unlazy/auth/gates/leaf-login.md": ledger,
		".claude/settings.local.json": `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"'/usr/bin/node' '/opt/unlazy/stop-hook.mjs' --unlazy-hook-v2","timeout":20}]}]}}`,
	} {
		if err := os.WriteFile(filepath.Join(m.root, filepath.FromSlash(name)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	m.env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+filepath.Join(home, "state"), "GIT_CONFIG_GLOBAL="+os.DevNull, "UNLAZY_SCOPE=", "CLAUDE_SESSION_ID=")
	if out, err := exec.Command("git", "init", "-q", m.root).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	return m
}

// run runs one command as a shell would. Status 1 says that something is unmet, which
// is no fault of the command; 2 and 3 are faults of the page.
func (m *migrated) run(command string) {
	m.t.Helper()
	if strings.Contains(command, "wave abandon") {
		m.run("gatesworn wave open --scope auth --wave w2 --leaf leaf-login")
	}
	words := strings.Fields(strings.ReplaceAll(command, `"`, "")) // the page quotes single words only
	c := exec.Command(m.bin, words[1:]...)
	c.Dir, c.Env, c.Stdin = m.root, m.env, strings.NewReader(`{"session_id":"SESSION"}`)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	refused := strings.Contains(out.String(), "hook install --claude --replace-unlazy") // that unlazy's hook is there
	if code := c.ProcessState.ExitCode(); code != 0 && code != 1 && !refused {
		m.t.Errorf("%s: %v\n%s", command, err, out.String())
	}
	if command == "gatesworn hook install --claude" && !refused {
		m.t.Errorf("%s took the place of unlazy's unasked:\n%s", command, out.String())
	}
}
