package runner

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gatesworn/gatesworn/gates"
)

// marked returns the processes that have the mark among their arguments.
func marked(t testing.TB, mark string) []int {
	t.Helper()
	var found []int
	for _, p := range processes() {
		line, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/cmdline")
		if err == nil && bytes.Contains(line, []byte(mark)) {
			found = append(found, p.pid)
		}
	}
	return found
}

func waitForMarked(t testing.TB, mark string, what func(n int) bool) {
	t.Helper()
	n := 0
	for range 3000 {
		if n = len(marked(t, mark)); what(n) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%d processes with mark %s", n, mark)
}

// escapes are ways to outlive one's shell. M stands for the mark. All but the
// last word of the names describe what is left when the shell ends.
var escapes = []struct{ name, script string }{
	{"background", "sleep M & echo done"},
	{"nohup", "nohup sleep M >/dev/null 2>&1 & echo done"},
	{"setsid", "setsid -f sleep M; echo done"},
	{"setsid, empty environment", "setsid -f env -i sleep M; echo done"},
	{"double fork", "(setsid -f sh -c 'setsid -f env -i sleep M' &) ; echo done"},
	{"daemon", `perl -MPOSIX -e 'fork and exit; POSIX::setsid(); fork and exit; chdir "/"; open STDOUT, ">/dev/null"; exec "sleep", "M"'; echo done`},
	{"stopped", "sleep M & kill -STOP $!; echo done"},
	{"ignores TERM", `setsid -f sh -c 'trap "" TERM INT HUP; while :; do sleep M; done'; echo done`},
	{"starts more on TERM", `setsid -f sh -c 'trap "setsid -f sleep M; sleep M" TERM; sleep M & wait; sleep M'; echo done`},
	{"its own subreaper", `perl -e 'syscall(157,36,1,0,0,0); if (fork) { exec "sleep", "M" } setpgrp; if (fork) { exit } exec "sleep", "M"' & sleep 0.1; echo done`},
	{"keeps starting more", `setsid -f sh -c 'while :; do setsid -f sleep M; sleep 0.01; done'; sleep 0.1; echo done`},
	{"a deep line", `sh -c 'sh -c "sh -c \"sh -c \\\"sleep M & sleep M\\\" & sleep M\" & sleep M" & sleep M' & sleep 0.1; echo done`},
}

func TestNothingSurvivesAnExit(t *testing.T) {
	t.Parallel()
	r := newRunner(t, Config{Jobs: 4, Helper: []string{"/proc/self/exe", slotCommand}, grace: 300 * time.Millisecond})
	for i, tt := range escapes {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := mark(i)
			got := r.Exec(context.Background(), command(t, strings.ReplaceAll(tt.script, "M", m)))
			if left := marked(t, m); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			if got.End != gates.Exited || got.Code != 0 || !strings.HasSuffix(string(got.Stdout), "done\n") {
				t.Errorf("%+v, stderr %s", got, got.Stderr)
			}
		})
	}
}

func TestNothingSurvivesBeingStopped(t *testing.T) {
	t.Parallel()
	r := newRunner(t, Config{Jobs: 4, Helper: []string{"/proc/self/exe", slotCommand}, grace: 300 * time.Millisecond})
	ways := []struct {
		name, script string
		timeout      time.Duration
		end          gates.End
	}{
		{"timeout", "sleep M", 300 * time.Millisecond, gates.TimedOut},
		{"output limit", "sleep 0.3; yes", time.Minute, gates.Overflowed},
		{"signal", "sleep 0.3; kill -9 $$", time.Minute, gates.Signaled},
	}
	for i, tt := range escapes {
		for j, way := range ways {
			t.Run(tt.name+"/"+way.name, func(t *testing.T) {
				t.Parallel()
				m := mark(100 + 10*i + j)
				c := command(t, strings.ReplaceAll(tt.script+"; "+way.script, "M", m))
				c.Timeout = way.timeout
				got := r.Exec(context.Background(), c)
				if left := marked(t, m); len(left) > 0 {
					t.Errorf("left: %v", left)
				}
				if got.End != way.end {
					t.Errorf("End = %v (%v), want %v", got.End, got.Err, way.end)
				}
			})
		}
	}
}

// With several jobs the end of one check must not take another's orphans along.
func TestOrphansBelongToTheirCheck(t *testing.T) {
	t.Parallel()
	r := slotRunner(t, 4)
	done := make(chan string)
	for i := range 4 {
		go func() {
			m := mark(400 + i)
			script := "setsid -f sh -c 'echo $$ > pid; exec env -i sleep " + m + "'; sleep 0.5; kill -0 $(cat pid) && echo alive"
			got := r.Exec(context.Background(), command(t, script))
			if string(got.Stdout) != "alive\n" || len(marked(t, m)) > 0 {
				done <- string(got.Stdout) + string(got.Stderr)
				return
			}
			done <- ""
		}()
	}
	for range 40 {
		r.Exec(context.Background(), command(t, "setsid -f sleep 0.01"))
	}
	for range 4 {
		if wrong := <-done; wrong != "" {
			t.Error(wrong)
		}
	}
}

func TestBackgroundOutputIsNotRead(t *testing.T) {
	t.Parallel()
	r := slotRunner(t, 1)
	got := r.Exec(context.Background(), command(t, `echo shell; (trap 'while :; do echo late; done' TERM; : > up; while :; do sleep 0.01; done) & while ! test -e up; do :; done`))
	if string(got.Stdout) != "shell\n" || got.End != gates.Exited {
		t.Errorf("%v %q", got.End, got.Stdout)
	}
}

func TestStoppingIsHeard(t *testing.T) {
	t.Parallel()
	r := slotRunner(t, 1)
	c := command(t, `exec 2>/dev/null; trap 'echo stopping; exit 0' TERM; while :; do sleep 0.01; done`)
	c.Timeout = 200 * time.Millisecond
	got := r.Exec(context.Background(), c)
	if got.End != gates.TimedOut || string(got.Tail) != "stopping\n" || len(got.Stdout) > 0 {
		t.Errorf("%+v", got)
	}
}

func TestKilledCheckerLeavesNothing(t *testing.T) {
	t.Parallel()
	for i, prefix := range []string{"", "kill -STOP $PPID; "} {
		m, helpers := mark(500+10*i), mark(501+10*i)
		var scripts []string
		for _, e := range []string{
			"sleep M",
			"setsid -f sleep M; sleep M",
			"(setsid -f sh -c 'setsid -f env -i sleep M' &); sleep M",
			`trap "" TERM; sleep M & sleep M; sleep M`,
		} {
			scripts = append(scripts, prefix+strings.ReplaceAll(e, "M", m))
		}
		cmd := checker(t, t.TempDir(), helpers, scripts...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		waitForMarked(t, "sleep\x00"+m, func(n int) bool { return n == 7 })
		if n := len(marked(t, slotCommand+"\x00"+helpers)); n != 4 {
			t.Errorf("%d helpers", n)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		waitForMarked(t, m, func(n int) bool { return n == 0 })
		waitForMarked(t, slotCommand+"\x00"+helpers, func(n int) bool { return n == 0 })
	}
}

// Not parallel: see TestBrokenHelper.
func TestCheckKillsItsHelper(t *testing.T) {
	for i, tt := range []struct {
		name, script string
		timeout      time.Duration
		ok           func(gates.Result) bool
	}{
		{"killed", "setsid -f sleep M; kill -9 $PPID; sleep M", time.Minute, func(r gates.Result) bool { return r.End == gates.NotStarted && errors.Is(r.Err, ErrHelper) }},
		{"stopped", "setsid -f sleep M; kill -STOP $PPID; sleep M", 200 * time.Millisecond, func(r gates.Result) bool { return r.End == gates.TimedOut }},
		{"TERM", "setsid -f sleep M; kill $PPID; kill -INT $PPID; kill -HUP $PPID; echo done", time.Minute, func(r gates.Result) bool { return r.End == gates.Exited && string(r.Stdout) == "done\n" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := mark(600 + i)
			r := newRunner(t, Config{Jobs: 1, Helper: []string{"/proc/self/exe", slotCommand}, grace: 200 * time.Millisecond, limit: 500 * time.Millisecond})
			c := command(t, strings.ReplaceAll(tt.script, "M", m))
			c.Timeout = tt.timeout
			if got := r.Exec(context.Background(), c); !tt.ok(got) {
				t.Errorf("%+v", got)
			}
			if left := marked(t, m); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			if got := r.Exec(context.Background(), command(t, "echo next")); string(got.Stdout) != "next\n" {
				t.Errorf("the next check: %+v", got)
			}
		})
	}
	t.Run("stopped, then interrupted", func(t *testing.T) {
		m := mark(620)
		r := newRunner(t, Config{Jobs: 1, Helper: []string{"/proc/self/exe", slotCommand}, grace: 200 * time.Millisecond, limit: 500 * time.Millisecond})
		c := command(t, "kill -STOP $PPID; : > started; sleep "+m)
		if got := r.Exec(cancelWhen(t, filepath.Join(c.Dir, "started")), c); got.End != gates.Interrupted {
			t.Errorf("%+v", got)
		}
		if left := marked(t, m); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
}

func TestCheckInheritsNothing(t *testing.T) {
	t.Parallel()
	cmd := checker(t, t.TempDir(), mark(700), "ls -l /proc/self/fd; echo; tr '\\0' '\\n' < /proc/$PPID/environ; cut -d' ' -f5-7 /proc/$PPID/stat > /dev/null")
	inherited, err := os.Open("/dev/zero") // as a make jobserver's would be
	if err != nil {
		t.Fatal(err)
	}
	defer inherited.Close()
	cmd.ExtraFiles = []*os.File{inherited, inherited}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var fds []string
	for _, match := range regexp.MustCompile(`(\d+) -> (/dev/null|pipe|/dev/zero|socket|[^ \n]*)`).FindAllStringSubmatch(string(out), -1) {
		if !strings.HasPrefix(match[2], "/proc/") { // ls's own
			fds = append(fds, match[1]+" "+match[2])
		}
	}
	if got, want := strings.Join(fds, ", "), "0 /dev/null, 1 pipe, 2 pipe"; got != want {
		t.Errorf("descriptors %s, want %s\n%s", got, want, out)
	}
	if strings.Contains(string(out), "=") {
		t.Errorf("the helper has an environment:\n%s", out)
	}
}

func TestOrphansAreReapedWhileACheckRuns(t *testing.T) {
	t.Parallel()
	r := slotRunner(t, 1)
	got := r.Exec(context.Background(), command(t, `i=0; while [ $i -lt 100 ]; do setsid -f true; i=$((i+1)); done; sleep 2.5; ps -o stat= --ppid $PPID`))
	if strings.Contains(string(got.Stdout), "Z") || got.Code != 0 {
		t.Errorf("%v: %s%s", got.End, got.Stdout, got.Stderr)
	}
}

func TestGigabyteCostsLittle(t *testing.T) {
	t.Parallel()
	if raceEnabled {
		t.Skip("the race detector needs memory of its own")
	}
	out, err := checker(t, t.TempDir(), mark(701), "head -c 1000000000 /dev/zero").Output()
	if err != nil {
		t.Fatal(err)
	}
	var end, code, kib int
	if _, err := fscan(string(out), "end %d code %d\n%d", &end, &code, &kib); err != nil {
		t.Fatalf("%v: %q", err, out)
	}
	t.Logf("peak %d KiB", kib)
	if gates.End(end) != gates.Overflowed || kib > 16<<10 {
		t.Errorf("End = %d, peak %d KiB", end, kib)
	}
}

func TestDedicatedUser(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	const uid = 61873
	dir, err := os.MkdirTemp("", "gatesworn-user")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	// /proc/self/exe, as cmd passes it: the sweeper starts as that user.
	self := "/proc/self/exe"
	m := mark(702)
	r := newRunner(t, Config{Jobs: 2, Helper: []string{self, slotCommand}, User: &User{UID: uid, GID: uid}})
	if r.Containment() != ByUser {
		t.Errorf("containment %q", r.Containment())
	}
	c := command(t, "id -u; id -g; id -G; grep -E '^NoNewPrivs' /proc/self/status; ulimit -c; kill -9 $PPID 2>/dev/null || echo refused; setsid -f sleep "+m)
	c.Dir = dir
	got := r.Exec(context.Background(), c)
	want := "61873\n61873\n61873\nNoNewPrivs:\t1\n0\nrefused\n"
	if string(got.Stdout) != want {
		t.Errorf("%+v\n%s%s", got, got.Stdout, got.Stderr)
	}
	if left := marked(t, m); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	// What got away from the slots is killed at the end.
	stray := exec.Command("sleep", m)
	stray.SysProcAttr = asUser(uid)
	if err := stray.Start(); err != nil {
		t.Fatal(err)
	}
	r.Close()
	if err := stray.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("stray: %v", err)
	}
	c.Dir = filepath.Join(dir, "closed")
	if err := os.Mkdir(c.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	r2 := newRunner(t, Config{Jobs: 1, Helper: []string{self, slotCommand}, User: &User{UID: uid, GID: uid}})
	if got := r2.Exec(context.Background(), c); !errors.Is(got.Err, ErrShell) || !errors.Is(got.Err, syscall.EACCES) {
		t.Errorf("in a folder closed to that user: %+v", got)
	}
}
