package runner

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gatesworn/gatesworn/gates"
)

// child is the shell of the check that runs, in its helper.
type child struct {
	pid    int
	ended  int    // readable when the shell ended
	pipes  [2]int // what it prints; -1 once closed
	exited bool
	status syscall.WaitStatus
}

// run runs one check to its end.
func (h *helper) run(o order) outcome {
	began := h.now()
	c, why := h.start(o)
	if c == nil {
		return why
	}
	defer c.close()
	end := h.watch(c, began.Add(o.timeout), o.seq)
	if end == gates.Exited && !h.drain(c) {
		end = gates.Overflowed
	}
	res := outcome{end: end, duration: max(h.now().Sub(began), 0)}
	if c.reap() && !c.clear(h, end != gates.Exited && end != gates.Overflowed) {
		return outcome{cause: causeSurvived, duration: res.duration}
	}
	if end != gates.Exited {
		return res
	}
	if c.status.Signaled() {
		res.end, res.signal = gates.Signaled, int(c.status.Signal())
	} else {
		res.code = c.status.ExitStatus()
	}
	return res
}

// start starts the shell: own session and process group, nothing on its standard
// input, no descriptor but the three. It dies with this thread.
func (h *helper) start(o order) (*child, outcome) {
	var out, errs [2]int
	if err := unix.Pipe2(out[:], unix.O_CLOEXEC); err != nil {
		return nil, refused(causeShell, err)
	}
	if err := unix.Pipe2(errs[:], unix.O_CLOEXEC); err != nil {
		closeAll(out[:]...)
		return nil, refused(causeShell, err)
	}
	pidfd := -1
	attr := &syscall.ProcAttr{
		Dir: o.dir, Env: h.envs[o.env],
		Files: []uintptr{uintptr(h.null), uintptr(out[1]), uintptr(errs[1])},
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL, PidFD: &pidfd},
	}
	if u := h.setup.user; u != nil {
		attr.Sys.Credential = &syscall.Credential{Uid: u.UID, Gid: u.GID}
	}
	pid, err := syscall.ForkExec(o.shell, []string{o.shell, "-c", o.script}, attr)
	closeAll(out[1], errs[1])
	if err != nil {
		closeAll(out[0], errs[0])
		return nil, blame(o, err)
	}
	if pidfd < 0 {
		pidfd = waitPipe(pid)
	}
	return &child{pid: pid, ended: pidfd, pipes: [2]int{out[0], errs[0]}}, outcome{}
}

// blame finds out what execve's error was about: the directory gives the same ones.
func blame(o order, err error) outcome {
	var st unix.Stat_t
	if dirErr := unix.Stat(o.dir, &st); dirErr != nil {
		return refused(causeDir, dirErr)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return refused(causeDir, unix.ENOTDIR)
	}
	if errors.Is(err, unix.EACCES) && unix.Access(o.dir, unix.X_OK) != nil {
		return refused(causeDir, unix.EACCES)
	}
	return refused(causeShell, err)
}

func refused(why cause, err error) outcome {
	var errno syscall.Errno
	errors.As(err, &errno)
	return outcome{end: gates.NotStarted, cause: why, errno: errno}
}

// waitPipe stands in for a pidfd where the kernel has none (before 5.4): a pipe
// that becomes readable when the process ended. It does not reap. It returns -1
// if there is no pipe; the watch then looks once a second.
func waitPipe(pid int) int {
	var p [2]int
	if unix.Pipe2(p[:], unix.O_CLOEXEC) != nil {
		return -1
	}
	go func() {
		for {
			err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
			if !errors.Is(err, unix.EINTR) {
				break
			}
		}
		_ = unix.Close(p[1])
	}()
	return p[0]
}

// watch waits until the shell ended by itself (gates.Exited) or has to be
// stopped. A shell that has ended by the time its deadline is noticed has ended.
func (h *helper) watch(c *child, deadline time.Time, seq uint64) gates.End {
	for {
		if h.in.Buffered() > 0 && h.cancelled(seq) {
			return gates.Interrupted
		}
		left := min(max(deadline.Sub(h.now()), 0), time.Second)
		fds := [4]unix.PollFd{
			{Fd: int32(c.pipes[stdout]), Events: unix.POLLIN},
			{Fd: int32(c.pipes[stderr]), Events: unix.POLLIN},
			{Fd: int32(c.ended), Events: unix.POLLIN},
			{Fd: int32(h.fd), Events: unix.POLLIN},
		}
		n, err := unix.Poll(fds[:], int((left+time.Millisecond-1)/time.Millisecond))
		if err != nil && !errors.Is(err, unix.EINTR) {
			return gates.Interrupted // cannot be watched, so it is not let run
		}
		for i := range c.pipes {
			if n > 0 && fds[i].Revents != 0 && !h.read(c, i, len(h.chunk)) {
				return gates.Overflowed
			}
		}
		late := !h.now().Before(deadline)
		if n <= 0 || fds[2].Revents != 0 || late {
			c.reap() // on every tick also the orphans of a check that makes many
		}
		switch {
		case c.exited:
			return gates.Exited
		case n > 0 && fds[3].Revents != 0 && h.cancelled(seq):
			return gates.Interrupted
		case late:
			return gates.TimedOut
		}
	}
}

// cancelled reads what the checker sent meanwhile. Its end and anything
// unexpected count: the next read will see them again.
func (h *helper) cancelled(seq uint64) bool {
	kind, p, err := readFrame(h.in, nil)
	if err != nil || kind != frameCancel {
		return true
	}
	b := body{rest: p}
	return b.number() == seq || b.bad
}

// read takes at most limit bytes of what is there and reports whether they fitted.
func (h *helper) read(c *child, stream, limit int) bool {
	n, err := unix.Read(c.pipes[stream], h.chunk[:min(limit, len(h.chunk))])
	if errors.Is(err, unix.EINTR) {
		return true
	}
	if n <= 0 {
		closeAll(c.pipes[stream])
		c.pipes[stream] = -1
		return true
	}
	return h.out.add(stream, h.chunk[:n])
}

// drain takes what the pipes held when the shell ended, and nothing that
// background processes print after that.
func (h *helper) drain(c *child) bool {
	for i := range c.pipes {
		if c.pipes[i] < 0 {
			continue
		}
		n, err := unix.IoctlGetInt(c.pipes[i], unix.TIOCINQ)
		for err == nil && n > 0 && c.pipes[i] >= 0 {
			before := h.out.total
			if !h.read(c, i, n) {
				return false
			}
			n -= int(h.out.total - before)
		}
	}
	return true
}

func (c *child) close() { closeAll(c.ended, c.pipes[stdout], c.pipes[stderr]) }

func closeAll(fds ...int) {
	for _, fd := range fds {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}
