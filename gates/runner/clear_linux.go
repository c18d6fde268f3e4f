package runner

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// reap collects every child of this process that has ended and reports whether
// one is left alive. ECHILD proves that nothing is: this process is the subreaper
// of all that the check started.
func (c *child) reap() bool {
	for {
		var ws syscall.WaitStatus
		// __WALL: also children made by clone with another exit signal.
		pid, err := syscall.Wait4(-1, &ws, unix.WNOHANG|unix.WALL, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return false
		case pid == 0:
			return true
		case pid == c.pid:
			c.exited, c.status = true, ws
		}
	}
}

// clear ends everything below this process: TERM, and after the grace KILL. It
// reports whether nothing is left. With listen, what is still printed goes to the tail.
func (c *child) clear(h *helper, listen bool) bool {
	c.terminate()
	pause := pauser{}
	for began := h.now(); h.now().Sub(began) < h.setup.grace; pause.wait() {
		left := c.reap()
		if listen {
			h.listen(c) // also the last words of one that is gone
		}
		if !left {
			return true
		}
	}
	pause = pauser{}
	for began := h.now(); h.now().Sub(began) < h.setup.limit; pause.wait() {
		for _, p := range below(processes(), os.Getpid()) {
			_ = unix.Kill(p.pid, unix.SIGKILL)
		}
		if !c.reap() {
			return true
		}
	}
	return !c.reap()
}

// terminate asks the process group, once, and every descendant outside of it to
// end. CONT lets stopped ones hear it. The group of a shell that was reaped is
// not signalled: its number may be somebody else's by now.
func (c *child) terminate() {
	if !c.exited {
		_ = unix.Kill(-c.pid, unix.SIGTERM)
		_ = unix.Kill(-c.pid, unix.SIGCONT)
	}
	for _, p := range below(processes(), os.Getpid()) {
		if c.exited || p.group != c.pid {
			_ = unix.Kill(p.pid, unix.SIGTERM)
			_ = unix.Kill(p.pid, unix.SIGCONT)
		}
	}
}

// listen takes what a check prints while it is being stopped, for people only.
func (h *helper) listen(c *child) {
	fds := [2]unix.PollFd{
		{Fd: int32(c.pipes[stdout]), Events: unix.POLLIN},
		{Fd: int32(c.pipes[stderr]), Events: unix.POLLIN},
	}
	if n, err := unix.Poll(fds[:], 0); err != nil || n == 0 {
		return
	}
	for i := range fds {
		if fds[i].Revents&unix.POLLIN == 0 {
			continue
		}
		if n, err := unix.Read(c.pipes[i], h.chunk[:]); err == nil {
			h.out.addTail(h.chunk[:n])
		}
	}
}

// pauser waits longer each time: most processes are gone in a millisecond.
type pauser struct{ next time.Duration }

func (p *pauser) wait() {
	p.next = min(max(2*p.next, 250*time.Microsecond), 20*time.Millisecond)
	time.Sleep(p.next)
}

// process is one line of the process table.
type process struct{ pid, parent, group, session int }

// processes reads the process table. What ends meanwhile is left out; without
// /proc it is empty, and what cannot be found cannot be killed.
func processes() []process {
	names, err := readNames("/proc")
	if err != nil {
		return nil
	}
	list := make([]process, 0, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue
		}
		if p, ok := parseStat(pid, stat); ok {
			list = append(list, p)
		}
	}
	return list
}

func readNames(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// parseStat reads parent, group and session from a line of proc_pid_stat(5). The
// command stands in parentheses and may hold any byte, so fields count from the last one.
func parseStat(pid int, stat []byte) (process, bool) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 4 {
		return process{}, false
	}
	p := process{pid: pid}
	for i, v := range []*int{&p.parent, &p.group, &p.session} {
		n, err := strconv.Atoi(string(fields[i+1]))
		if err != nil {
			return process{}, false
		}
		*v = n
	}
	return p, true
}

// below returns all descendants of root.
func below(all []process, root int) []process {
	children := make(map[int][]process, len(all))
	for _, p := range all {
		children[p.parent] = append(children[p.parent], p)
	}
	// The table is no snapshot: with a number used twice it may hold a circle.
	seen := map[int]bool{root: true}
	var found []process
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		for _, p := range children[queue[0]] {
			if !seen[p.pid] {
				seen[p.pid] = true
				found, queue = append(found, p), append(queue, p.pid)
			}
		}
	}
	return found
}
