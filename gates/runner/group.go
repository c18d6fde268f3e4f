package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/gatesworn/gatesworn/gates"
)

func groupBackend(cfg Config) backend {
	return backend{
		containment: ByGroup,
		worker:      func() worker { return &group{cfg: cfg} },
		finish:      func() {},
	}
}

// group runs a check as a child of this process and stops its process group.
type group struct{ cfg Config }

func (g *group) close() {}

func (g *group) run(ctx context.Context, c gates.Command) gates.Result {
	out := &sharedCapture{full: make(chan struct{}), closed: make(chan struct{}, 2)}
	began := g.cfg.Now()
	cmd, err := g.start(c, out)
	if err != nil {
		return notStarted(err)
	}
	defer out.close()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // ProcessState says how it ended
	}()
	timer := time.NewTimer(c.Timeout)
	defer timer.Stop()
	end := gates.Exited
	select {
	case <-ended:
	case <-out.full:
		end = gates.Overflowed
	case <-ctx.Done():
		end = gates.Interrupted
	case <-timer.C:
		end = gates.TimedOut
	}
	r := gates.Result{Duration: max(g.cfg.Now().Sub(began), 0)}
	g.stop(cmd, ended)
	select {
	case <-ended:
	case <-time.After(g.cfg.limit):
		r.Err = ErrSurvived
		return r
	}
	// With the group gone the pipes are at their end, unless a process that left
	// the group holds one. This also reads what background processes printed while
	// they were being stopped.
	out.wait(g.cfg.grace)
	out.result(&r)
	if r.End = end; end != gates.Exited {
		return r
	}
	if out.over() {
		r.End = gates.Overflowed
		return r
	}
	r.End, r.Code, r.Signal = ending(cmd.ProcessState)
	return r
}

// start starts the shell with pipes of our own: os/exec's would have to be read to
// their end before it says that the shell ended.
func (g *group) start(c gates.Command, out *sharedCapture) (*exec.Cmd, error) {
	cmd := exec.Command(c.Shell, "-c", c.Script)
	cmd.Dir = c.Dir
	cmd.Env = append([]string{}, c.Env...) // nil would mean this process's
	cmd.SysProcAttr = ownGroup()
	var theirs [2]*os.File
	for i := range theirs {
		r, w, err := os.Pipe()
		if err != nil {
			out.close()
			return nil, fmt.Errorf("%w %q: %w", ErrShell, c.Shell, err)
		}
		defer w.Close()
		out.pipes[i], theirs[i] = r, w
	}
	cmd.Stdout, cmd.Stderr = theirs[stdout], theirs[stderr]
	if err := cmd.Start(); err != nil {
		out.close()
		return nil, blameStart(c, err)
	}
	for i := range out.pipes {
		go out.read(i)
	}
	return cmd, nil
}

// stop ends the group: TERM, and KILL after the grace.
func (g *group) stop(cmd *exec.Cmd, ended <-chan struct{}) {
	if !groupAlive(cmd.Process, ended) {
		return
	}
	terminateGroup(cmd.Process)
	for began := g.cfg.Now(); g.cfg.Now().Sub(began) < g.cfg.grace; time.Sleep(2 * time.Millisecond) {
		if !groupAlive(cmd.Process, ended) {
			return
		}
	}
	killGroup(cmd.Process)
	for began := g.cfg.Now(); g.cfg.Now().Sub(began) < g.cfg.limit && groupAlive(cmd.Process, ended); {
		time.Sleep(time.Millisecond)
	}
}

func blameStart(c gates.Command, err error) error {
	var cause *fs.PathError // drops os/exec's "fork/exec PATH", which repeats ours
	why := err
	if errors.As(err, &cause) {
		why = cause.Err
	}
	if st, dirErr := os.Stat(c.Dir); dirErr != nil || !st.IsDir() {
		return fmt.Errorf("%w %q: %w", ErrDir, c.Dir, why)
	}
	return fmt.Errorf("%w %q: %w", ErrShell, c.Shell, why)
}

// sharedCapture is a capture with a goroutine for each stream.
type sharedCapture struct {
	pipes  [2]*os.File
	full   chan struct{} // closed on overflow
	closed chan struct{} // gets one value for each stream that is at its end

	mu sync.Mutex
	c  capture
}

// read takes a stream to its end. What is over the limit is read and dropped
// until the check is stopped.
func (s *sharedCapture) read(stream int) {
	buf := make([]byte, 64<<10)
	for {
		n, err := s.pipes[stream].Read(buf)
		s.mu.Lock()
		was := s.c.overflow
		if n > 0 && !s.c.add(stream, buf[:n]) && !was {
			close(s.full)
		}
		s.mu.Unlock()
		if err != nil {
			s.closed <- struct{}{}
			return
		}
	}
}

// wait waits for the end of both streams, at most that long.
func (s *sharedCapture) wait(limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for range s.pipes {
		select {
		case <-s.closed:
		case <-timer.C:
			return
		}
	}
}

func (s *sharedCapture) close() {
	for _, p := range s.pipes {
		if p != nil {
			p.Close()
		}
	}
}

func (s *sharedCapture) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.c.overflow
}

// result moves what was captured into r.
func (s *sharedCapture) result(r *gates.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Stdout, r.Stderr = s.c.streams[stdout], s.c.streams[stderr]
	r.Tail = s.c.tail(nil)
}
