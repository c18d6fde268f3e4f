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

// drainTime is how long output that a background process may still hold open is
// read after the shell ended.
const drainTime = 100 * time.Millisecond

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
	cmd := exec.Command(c.Shell, "-c", c.Script)
	cmd.Dir = c.Dir
	cmd.Env = append([]string{}, c.Env...) // nil would mean this process's
	cmd.WaitDelay = drainTime
	cmd.SysProcAttr = ownGroup()
	out := &sharedCapture{full: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = out.stream(stdout), out.stream(stderr)

	began := g.cfg.Now()
	if err := cmd.Start(); err != nil {
		return notStarted(blameStart(c, err))
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // ProcessState says how it ended; ErrWaitDelay is a background child
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

// sharedCapture is a capture that os/exec's copying goroutines write to.
type sharedCapture struct {
	mu   sync.Mutex
	c    capture
	full chan struct{} // closed on overflow
}

type captureStream struct {
	to     *sharedCapture
	stream int
}

func (s *sharedCapture) stream(n int) *captureStream { return &captureStream{s, n} }

// Write never fails: what is over the limit is read and dropped until the check is stopped.
func (w *captureStream) Write(p []byte) (int, error) {
	w.to.mu.Lock()
	defer w.to.mu.Unlock()
	was := w.to.c.overflow
	if !w.to.c.add(w.stream, p) && !was {
		close(w.to.full)
	}
	return len(p), nil
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
