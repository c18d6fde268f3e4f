package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// program is a built gatesworn and a repository for it to check.
type program struct {
	bin, dir string
	env      []string
}

func newProgram(t *testing.T, ledger string) *program {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &program{dir: t.TempDir()}
	p.bin = filepath.Join(t.TempDir(), "gatesworn") // testscript.Main goes by this name
	if err := os.Symlink(self, p.bin); err != nil {
		t.Fatal(err)
	}
	p.env = append(os.Environ(), "XDG_STATE_HOME="+t.TempDir())
	if err := os.WriteFile(filepath.Join(p.dir, "GATES.md"), []byte(ledger), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *program) command(args ...string) (*exec.Cmd, *bytes.Buffer) {
	c := exec.Command(p.bin, args...)
	c.Dir, c.Env = p.dir, p.env
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	return c, &out
}

func (p *program) ledger(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, "GATES.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// marker is a sleep that no other process has, to be found in /proc by its argument.
func marker() string { return fmt.Sprintf("%d.%d", 3000+os.Getpid()%1000, time.Now().UnixNano()) }

// alive lists the processes that have the marker among their arguments.
func alive(t *testing.T, marker string) []string {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no /proc: %v", err)
	}
	var found []string
	for _, d := range dirs {
		line, err := os.ReadFile(filepath.Join(d, "cmdline"))
		if err != nil || filepath.Base(d) == strconv.Itoa(os.Getpid()) {
			continue
		}
		if args := strings.ReplaceAll(string(line), "\x00", " "); strings.Contains(args, marker) {
			found = append(found, args)
		}
	}
	return found
}

// eventually waits for a condition that another process brings about.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 600 {
		if is() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("never happened: %s", what)
}

// escapes are ways a check leaves something behind.
var escapes = map[string]string{
	"background":    "sleep MARK & echo ok",
	"setsid":        "setsid sleep MARK & sleep 0.05; echo ok",
	"double fork":   "setsid env -i sh -c 'sleep MARK & sleep MARK &' ; echo ok",
	"trap":          `sh -c 'trap "" TERM; sleep MARK; sleep MARK' & echo ok`,
	"holds pipe":    "(sleep MARK; echo late) & echo ok",
	"nohup":         "nohup sleep MARK >/dev/null 2>&1 & echo ok",
	"daemon, fails": "setsid sleep MARK & exit 3",
}

// TestNothingSurvivesItsCheck looks for the processes of every escape, with four slots at once.
func TestNothingSurvivesItsCheck(t *testing.T) {
	t.Parallel()
	mark := marker()
	var b strings.Builder
	i := 0
	for range 3 {
		for name, script := range escapes {
			i++
			fmt.Fprintf(&b, "- [ ] G%d: %s\n  CHECK: %s\n  EXPECT: ok\n", i, name, strings.ReplaceAll(script, "MARK", mark))
		}
	}
	p := newProgram(t, b.String())
	c, out := p.command("check", "--approve", "--jobs", "4")
	_ = c.Run()
	if c.ProcessState.ExitCode() != 1 || !strings.Contains(out.String(), "UNMET: 3 (met: 18)") {
		t.Errorf("exit %d\n%s", c.ProcessState.ExitCode(), out)
	}
	if left := alive(t, mark); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// TestKilledCheckerLeavesNothing sends SIGKILL while checks of every kind run.
func TestKilledCheckerLeavesNothing(t *testing.T) {
	t.Parallel()
	mark := marker()
	script := strings.ReplaceAll("setsid env -i sh -c 'sleep MARK & sleep MARK' & sleep MARK", "MARK", mark)
	p := newProgram(t, "- [ ] G1: a\n  CHECK: "+script+"\n  EXPECT: /^/\n- [ ] G2: b\n  CHECK: trap '' TERM; sleep "+mark+"; sleep "+mark+"\n  EXPECT: /^/\n")
	c, _ := p.command("check", "--approve", "--jobs", "2")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "checks run", func() bool { return len(alive(t, "sleep "+mark)) >= 4 })
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	eventually(t, "everything is gone", func() bool { return len(alive(t, mark)) == 0 })
	if strings.Contains(p.ledger(t), "[x]") {
		t.Error("a box was ticked")
	}
}

// TestInterruptKeepsWhatIsDone stops a run: verdict so far, the command that
// continues it, status 2, and the next call goes on from there.
// TestReaderThatGoesAway closes standard output after the first result, as head does.
func TestReaderThatGoesAway(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 30 {
		fmt.Fprintf(&text, "- [ ] G%d: a\n  CHECK: yes | head -1\n  EXPECT: y\n", i)
	}
	p := newProgram(t, text.String())
	c, out := p.command("check", "--approve")
	if err := c.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.WriteFile(filepath.Join(p.dir, "GATES.md"), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	c, out = p.command("check")
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stdout = write
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	_ = write.Close()
	if _, err := read.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	_ = read.Close()
	_ = c.Wait()
	if c.ProcessState.ExitCode() != 2 || !strings.Contains(out.String(), "cannot print the verdict") {
		t.Errorf("exit %d\n%s", c.ProcessState.ExitCode(), out)
	}
	if n := strings.Count(p.ledger(t), "- [x] "); n != 30 {
		t.Errorf("%d of 30 results are in the ledger", n)
	}
}

func TestInterruptKeepsWhatIsDone(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			mark := marker()
			p := newProgram(t, "- [ ] G1: a\n  CHECK: echo ok\n  EXPECT: ok\n- [ ] G2: b\n  CHECK: test -e go || sleep "+mark+"\n  EXPECT: /^/\n")
			c, out := p.command("check", "--approve")
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "G2 runs", func() bool { return len(alive(t, "sleep "+mark)) > 0 })
			if err := c.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			_ = c.Wait()
			if c.ProcessState.ExitCode() != 2 || !strings.Contains(out.String(), "PASS GATES:G1") ||
				!strings.Contains(out.String(), "UNMET: 1 (met: 1)") || !strings.Contains(out.String(), "next: gatesworn check\n") {
				t.Errorf("exit %d\n%s", c.ProcessState.ExitCode(), out)
			}
			if left := alive(t, mark); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
			if err := os.WriteFile(filepath.Join(p.dir, "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			c, out = p.command("check")
			if err := c.Run(); err != nil || strings.Contains(out.String(), "G1") || !strings.Contains(out.String(), "ALL MET (2 met)") {
				t.Errorf("the next call: %v\n%s", err, out)
			}
		})
	}
}

// TestTwoCheckersLoseNothing runs two at once over one ledger.
func TestTwoCheckersLoseNothing(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, "- [ ] G%d: a\n  CHECK: echo ok\n  EXPECT: ok\n", i+1)
	}
	p := newProgram(t, b.String())
	one, out1 := p.command("check", "--approve", "--jobs", "2")
	two, out2 := p.command("check", "--approve", "--jobs", "3")
	if err := one.Start(); err != nil {
		t.Fatal(err)
	}
	if err := two.Start(); err != nil {
		t.Fatal(err)
	}
	if err1, err2 := one.Wait(), two.Wait(); err1 != nil || err2 != nil {
		t.Fatalf("%v\n%s\n%v\n%s", err1, out1, err2, out2)
	}
	if n := strings.Count(p.ledger(t), "- [x] "); n != 40 {
		t.Errorf("%d of 40 boxes are ticked", n)
	}
}

// TestKillDuringWrites kills the checker over and over while it writes: the
// ledger is valid and complete at every moment, and the last run finishes it.
func TestKillDuringWrites(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, "- [ ] G%d: a\n  CHECK: sleep 0.01; echo ok\n  EXPECT: ok\n", i+1)
	}
	p := newProgram(t, b.String())
	for i := range 6 {
		c, _ := p.command("check", "--approve", "--jobs", "2")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(150+i*60) * time.Millisecond) // any moment will do
		_ = c.Process.Kill()
		_ = c.Wait()
		if n := strings.Count(p.ledger(t), "] G"); n != 60 {
			t.Fatalf("%d of 60 gates after a kill", n)
		}
	}
	c, out := p.command("check", "--approve", "--jobs", "4")
	if err := c.Run(); err != nil || !strings.Contains(out.String(), "ALL MET (60 met)") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestReadOnlyFolder runs as a user who may not write beside the ledger.
func TestReadOnlyFolder(t *testing.T) {
	t.Parallel()
	p := newProgram(t, "- [ ] G1: a\n  CHECK: echo ok\n  EXPECT: ok\n")
	c, out := p.command("check", "--approve")
	if os.Getuid() == 0 {
		state := t.TempDir()
		for _, dir := range []string{state, filepath.Dir(state), filepath.Dir(p.bin), p.dir, filepath.Dir(p.dir)} {
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chown(state, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(p.dir, "GATES.md"), 0o644); err != nil {
			t.Fatal(err)
		}
		copied := filepath.Join(state, "gatesworn") // the test binary may lie where that user cannot go
		data, err := os.ReadFile(p.bin)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(copied, data, 0o755); err != nil {
			t.Fatal(err)
		}
		c.Path, c.Args[0] = copied, copied
		c.Env = append(c.Env, "XDG_STATE_HOME="+filepath.Join(state, "s"))
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	} else if err := os.Chmod(p.dir, 0o555); err != nil {
		t.Fatal(err)
	}
	before := p.ledger(t)
	_ = c.Run()
	if c.ProcessState.ExitCode() != 2 || !strings.Contains(out.String(), "gatesworn: error: cannot record GATES:G1") {
		t.Errorf("exit %d\n%s", c.ProcessState.ExitCode(), out)
	}
	if p.ledger(t) != before {
		t.Error("the ledger was touched")
	}
}
