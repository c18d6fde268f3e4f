package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary serve as gatesworn in scripts, slot helpers included.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == slotCommand {
		main()
	}
	testscript.Main(m, map[string]func(){"gatesworn": main})
}

// TestScripts runs every command, flag and exit status as a user would.
func TestScripts(t *testing.T) {
	if os.Getenv("REQUIRE_TOOLS") == "1" { // scripts skip what is missing; in CI nothing may be
		for _, tool := range []string{"git", "ssh-keygen", "mkfifo", "sh"} {
			if _, err := exec.LookPath(tool); err != nil {
				t.Fatalf("the scripts need %s: %v", tool, err)
			}
		}
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			home, err := os.MkdirTemp("", "gatesworn-home-") // approvals lie outside of what is judged
			if err != nil {
				return err
			}
			e.Defer(func() { _ = os.RemoveAll(home) })
			e.Setenv("HOME", home)
			e.Setenv("XDG_STATE_HOME", home+"/state")
			e.Setenv("GIT_CONFIG_GLOBAL", home+"/gitconfig")
			e.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			return os.WriteFile(home+"/gitconfig", []byte("[user]\n\tname = T\n\temail = t@example.org\n[init]\n\tdefaultBranch = main\n"), 0o600)
		},
		Condition: func(cond string) (bool, error) {
			_, err := exec.LookPath(cond)
			return err == nil, nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"status": exitStatus,
			"key":    sshKey,
		},
	})
}

// exitStatus runs a command and compares its exit status: status 2 gatesworn check
func exitStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command…")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("exit status %s, want %s", got, args[0])
	}
}

// sshKey makes a key without a passphrase in ~/.ssh: key id_ed25519
func sshKey(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: key NAME [ssh-keygen options]")
	}
	dir := ts.Getenv("HOME") + "/.ssh"
	ts.Check(os.MkdirAll(dir, 0o700))
	ts.Check(ts.Exec("ssh-keygen", append([]string{"-q", "-t", "ed25519", "-N", "", "-C", args[0], "-f", dir + "/" + args[0]}, args[1:]...)...))
}
