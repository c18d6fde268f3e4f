package runner

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// lastLimit bounds how long a helper whose checker is gone goes on killing.
const lastLimit = 30 * time.Second

// Slot is the whole life of a slot helper: the hidden command calls it with its
// standard input, the socket to the checker, and ends with the status it returns.
// It must be called from a process that starts no others.
func Slot(conn *os.File, now func() time.Time) int {
	// INT and HUP are meant for the checker, which decides what to stop; TERM to
	// every gatesworn must not keep a helper from killing. They are caught, not
	// ignored: a check would inherit that.
	signal.Notify(make(chan os.Signal, 1), unix.SIGINT, unix.SIGHUP, unix.SIGTERM, unix.SIGQUIT)
	// No debugger, and nothing of /proc/PID that a check could open.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	if err := closeInherited(); err != nil {
		return 2
	}
	return serve(int(conn.Fd()), now)
}

// closeInherited keeps descriptors that the checker itself inherited (a make
// jobserver's, a terminal's) from the checks.
func closeInherited() error {
	if unix.CloseRange(3, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return nil // Linux 5.11
	}
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, n := range names {
		if fd, err := strconv.Atoi(n.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// helper is a slot helper at work.
type helper struct {
	fd    int
	in    *bufio.Reader
	now   func() time.Time
	setup setup
	null  int // /dev/null, for the checks' standard input

	envs  [maxEnvs][]string
	out   capture
	chunk [64 << 10]byte
	body  []byte // of the last frame read
	frame []byte // of the last frame written
}

// serve works for the checker at the other end of fd until that end closes.
// It locks its goroutine to a thread, which all checks are started from:
// no_new_privs and the death signal belong to a thread.
func serve(fd int, now func() time.Time) int {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	h := &helper{fd: fd, in: bufio.NewReader(socket(fd)), now: now}
	if err := h.begin(); err != nil {
		h.fail(err)
		return 2
	}
	if h.setup.sweep {
		return sweepUser()
	}
	defer unix.Close(h.null)
	for {
		if err := h.next(); err != nil {
			h.setup.limit = lastLimit
			if c := (&child{exited: true}); c.reap() {
				c.clear(h, false)
			}
			if errors.Is(err, io.EOF) {
				return 0
			}
			return 2
		}
	}
}

// begin reads the first frame and prepares the process.
func (h *helper) begin() error {
	kind, p, err := readFrame(h.in, nil)
	if err != nil {
		return err
	}
	if kind != frameSetup {
		return errFrame
	}
	if h.setup, err = parseSetup(p); err != nil || h.setup.sweep {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl subreaper", err)
	}
	if h.setup.user != nil {
		if err := restrict(); err != nil {
			return err
		}
	}
	h.null, err = unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	return os.NewSyscallError("open /dev/null", err)
}

// restrict takes from this thread, and so from the checks, what a dedicated user must not have.
func restrict() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl no_new_privs", err)
	}
	return os.NewSyscallError("setrlimit core", unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}))
}

// next does what one frame asks for.
func (h *helper) next() error {
	kind, p, err := readFrame(h.in, h.body)
	if err != nil {
		return err
	}
	h.body = p
	switch kind {
	case frameEnv:
		id, env, err := parseEnv(p)
		if err != nil {
			return err
		}
		h.envs[id] = env
		return nil
	case frameCancel:
		return nil // of a check whose result is on its way
	case frameRun:
		o, err := parseOrder(p)
		if err != nil {
			return err
		}
		h.out.reset()
		res := h.run(o)
		h.frame = res.append(h.frame[:0], o.seq, &h.out)
		return writeAll(h.fd, h.frame)
	}
	return errFrame
}

// fail tells the checker why this helper cannot work.
func (h *helper) fail(err error) {
	frame := finish(append(begin(nil, frameFail), err.Error()...), 0)
	_ = writeAll(h.fd, frame) // a checker that is gone needs no answer
}

// sweepUser kills every process of this process's user but itself, until none is left.
func sweepUser() int {
	for range 1000 {
		if err := unix.Kill(-1, unix.SIGKILL); errors.Is(err, unix.ESRCH) {
			return 0
		}
		time.Sleep(time.Millisecond)
	}
	return 1
}

// socket reads from a blocking descriptor without the runtime's poller, so that
// the same thread can wait for several.
type socket int

func (s socket) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(int(s), p)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

func writeAll(fd int, p []byte) error {
	for len(p) > 0 {
		n, err := unix.Write(fd, p)
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return err
		}
		p = p[max(n, 0):]
	}
	return nil
}
