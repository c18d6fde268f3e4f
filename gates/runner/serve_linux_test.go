package runner

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/gates/evidence"
)

// These tests run the helper's side in this process, where coverage and the race
// detector see it. They are not parallel: it waits for every child there is.

// serveHere starts a helper in this process and returns the checker's end.
func serveHere(t *testing.T, how setup) (send func([]byte), recv func() (byte, []byte), end func() int) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	status := make(chan int)
	go func() {
		defer unix.Close(fds[1])
		status <- serve(fds[1], time.Now)
	}()
	in := bufio.NewReader(socket(fds[0]))
	send = func(p []byte) {
		t.Helper()
		if err := writeAll(fds[0], p); err != nil {
			t.Fatal(err)
		}
	}
	recv = func() (byte, []byte) {
		t.Helper()
		kind, p, err := readFrame(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		return kind, p
	}
	if how.grace == 0 {
		how.grace, how.limit = 200*time.Millisecond, 2*time.Second
	}
	send(how.append(nil))
	return send, recv, func() int { unix.Close(fds[0]); return <-status }
}

func TestServe(t *testing.T) {
	send, recv, end := serveHere(t, setup{})
	send(appendEnv(nil, 3, []string{"PATH=/usr/bin:/bin", "X=1"}))
	m := mark(800)
	dir := t.TempDir()
	tests := []struct {
		script string
		change func(*order)
		want   gates.Result
		cause  cause
	}{
		{"echo $X; echo err >&2; exit 4", nil, gates.Result{End: gates.Exited, Code: 4, Stdout: []byte("1\n"), Stderr: []byte("err\n")}, causeNone},
		{"kill -9 $$", nil, gates.Result{End: gates.Signaled, Signal: 9}, causeNone},
		{"yes", nil, gates.Result{End: gates.Overflowed}, causeNone},
		{"head -c 1048500 /dev/zero; exec head -c 100 /dev/zero", nil, gates.Result{End: gates.Overflowed}, causeNone},
		{"echo early; sleep " + m, func(o *order) { o.timeout = 100 * time.Millisecond }, gates.Result{End: gates.TimedOut, Stdout: []byte("early\n")}, causeNone},
		{"setsid -f env -i sleep " + m, nil, gates.Result{End: gates.Exited}, causeNone},
		{"(trap '' TERM; : > up; while :; do sleep " + m + "; done) & while ! test -e up; do :; done; exit 3", nil, gates.Result{End: gates.Exited, Code: 3}, causeNone},
		{"trap 'echo last >&2; exit' TERM; while :; do sleep 0.01; done", func(o *order) { o.timeout = 100 * time.Millisecond }, gates.Result{End: gates.TimedOut}, causeNone},
		{"true", func(o *order) { o.dir = "/no/such" }, gates.Result{}, causeDir},
		{"true", func(o *order) { o.dir = "/dev/null" }, gates.Result{}, causeDir},
		{"true", func(o *order) { o.shell = "/no/such" }, gates.Result{}, causeShell},
		{"exec sleep 1.2", nil, gates.Result{End: gates.Exited}, causeNone},
	}
	for i, tt := range tests {
		o := order{seq: uint64(i), env: 3, timeout: time.Minute, shell: "/bin/sh", dir: dir, script: tt.script}
		if tt.change != nil {
			tt.change(&o)
		}
		send(appendCancel(o.append(appendCancel(nil, 999)), 998)) // cancels of other checks do nothing
		kind, p := recv()
		seq, out, got, err := parseOutcome(p)
		if kind != frameDone || seq != o.seq || err != nil {
			t.Fatalf("%s: frame %q, check %d, %v", tt.script, kind, seq, err)
		}
		if out.cause != tt.cause || (tt.cause != causeNone) != (out.errno != 0) {
			t.Errorf("%s: cause %d, %v", tt.script, out.cause, out.errno)
		}
		got.Tail, got.Duration = nil, 0
		if g, w := fmt.Sprint(text(got)), fmt.Sprint(text(tt.want)); g != w {
			t.Errorf("%s:\n got %s\nwant %s", tt.script, g, w)
		}
		if left := marked(t, m); len(left) > 0 {
			t.Errorf("%s: left %v", tt.script, left)
		}
	}
	if got := end(); got != 0 {
		t.Errorf("status %d", got)
	}
}

func TestServeCancel(t *testing.T) {
	send, recv, end := serveHere(t, setup{})
	send(appendEnv(nil, 0, []string{"PATH=/usr/bin:/bin"}))
	dir := t.TempDir()
	o := order{seq: 5, timeout: time.Minute, shell: "/bin/sh", dir: dir, script: ": > started; sleep " + mark(810)}
	send(o.append(nil))
	waitForFile(t, dir+"/started")
	send(appendCancel(nil, 5))
	_, p := recv()
	if _, out, _, err := parseOutcome(p); err != nil || out.end != gates.Interrupted {
		t.Errorf("%+v %v", out, err)
	}
	// Order and cancel in one piece: the cancel is in the reader's buffer.
	o.seq = 6
	send(appendCancel(o.append(nil), 6))
	_, p = recv()
	if _, out, _, err := parseOutcome(p); err != nil || out.end != gates.Interrupted {
		t.Errorf("%+v %v", out, err)
	}
	// The checker goes away while a check runs.
	m := mark(811)
	o.seq, o.script = 7, "setsid -f sleep "+m+"; sleep "+m
	send(o.append(nil))
	waitForMarked(t, m, func(n int) bool { return n >= 2 })
	end()
	if left := marked(t, m); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestServeLeftover(t *testing.T) {
	// A helper that finds strangers below it when its checker is gone kills them too.
	_, _, end := serveHere(t, setup{})
	m := mark(815)
	stranger := exec.Command("sleep", m)
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	if got := end(); got != 0 || len(marked(t, m)) > 0 {
		t.Errorf("status %d, left %v", got, marked(t, m))
	}
	_ = stranger.Wait() // the helper has reaped it
}

func TestServeRefuses(t *testing.T) {
	for name, frames := range map[string][]byte{
		"a result":               outcome{}.append(nil, 1, &capture{}),
		"a second setup":         setup{}.append(nil),
		"an order of nothing":    finish(begin(nil, frameRun), 0),
		"an environment too far": appendEnv(nil, maxEnvs, nil),
		"half a frame":           {0, 0, 0, 9, 'R'},
	} {
		send, _, end := serveHere(t, setup{})
		send(frames)
		if got := end(); got != 2 {
			t.Errorf("%s: status %d", name, got)
		}
	}
	for name, first := range map[string][]byte{
		"no setup":         appendCancel(nil, 1),
		"another protocol": {0, 0, 0, 2, frameSetup, protocol + 1},
	} {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := writeAll(fds[0], first); err != nil {
			t.Fatal(err)
		}
		if got := serve(fds[1], time.Now); got != 2 {
			t.Errorf("%s: status %d", name, got)
		}
		kind, p, err := readFrame(socket(fds[0]), nil)
		if err != nil || kind != frameFail || len(p) == 0 {
			t.Errorf("%s: frame %q %q %v", name, kind, p, err)
		}
		closeAll(fds[0], fds[1])
	}
}

// What the pipes held when the shell ended is taken, and no more.
func TestDrain(t *testing.T) {
	t.Parallel()
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer closeAll(p[:]...)
	h, c := &helper{}, &child{pipes: [2]int{p[0], -1}}
	if !h.drain(c) || h.out.total != 0 {
		t.Error("an empty pipe that somebody holds open is not waited for")
	}
	if err := writeAll(p[1], []byte("last words")); err != nil {
		t.Fatal(err)
	}
	if !h.drain(c) || string(h.out.streams[stdout]) != "last words" {
		t.Errorf("got %q", h.out.streams[stdout])
	}
	h.out.streams[stderr] = make([]byte, evidence.MaxOutput-10)
	if err := writeAll(p[1], []byte("x")); err != nil {
		t.Fatal(err)
	}
	if h.drain(c) {
		t.Error("over the limit, and it fitted")
	}
}

// Without a pidfd the end of the shell is seen through a pipe.
func TestWaitPipe(t *testing.T) {
	cmd := exec.Command("sh", "-c", "read x")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fd := waitPipe(cmd.Process.Pid)
	defer closeAll(fd)
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	if n, err := unix.Poll(fds, 10); n != 0 || err != nil {
		t.Errorf("readable while it runs: %d %v", n, err)
	}
	in.Close()
	for n := 0; n == 0; {
		if n, err = unix.Poll(fds, 10000); err != nil && err != unix.EINTR {
			t.Fatal(err)
		}
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "exit status 1") {
		t.Errorf("reaped by the pipe: %v", err)
	}
}

func TestCloseInherited(t *testing.T) {
	fd, err := unix.Open("/dev/null", unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := closeInherited(); err != nil {
		t.Fatal(err)
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	if err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("flags %d, %v", flags, err)
	}
	if _, err := os.ReadDir("/"); err != nil {
		t.Error(err)
	}
}
