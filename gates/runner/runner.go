package runner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/gatesworn/gatesworn/gates"
)

// MaxJobs is the largest number of slots.
const MaxJobs = 64

// How long a check may take to end. Together they keep an interrupted run
// within the five seconds it has.
const (
	defaultGrace = 2 * time.Second // from TERM to KILL
	defaultLimit = 2 * time.Second // from KILL to giving up (a process the kernel does not let go)
)

// Containment, as the report's execution.containment names it.
const (
	ByUser  = "uid"   // slots, and everything of a dedicated user is killed at the end
	BySlots = "slots" // a subreaper for each slot
	ByGroup = "group" // the process group only
)

// User is a dedicated user for checks, who owns nothing else on the machine.
type User struct{ UID, GID uint32 }

// Config says how to run checks.
type Config struct {
	// Jobs is the number of slots, 1 to MaxJobs. A slot's helper is started when
	// it is first needed.
	Jobs int
	// Helper is the command that enters Slot: an absolute path and its arguments.
	// On Linux the path is best "/proc/self/exe", which stays the running program
	// when the file is replaced. Empty, and on other systems: ByGroup.
	Helper []string
	// User, if not nil, is whom checks run as: no supplementary groups,
	// no_new_privs, no core dumps. It needs Linux, a Helper, and root.
	User *User
	// Now is the clock, time.Now outside of tests.
	Now func() time.Time

	grace, limit time.Duration // for tests; 0 for the defaults
}

// Runner runs checks in slots. It implements gates.Exec.
type Runner struct {
	backend backend
	tokens  chan struct{} // one for each slot that is free

	closing sync.Mutex // held by Close, which takes every token

	mu     sync.Mutex
	idle   []worker // last used last: a helper that is warm is used again
	closed bool
}

// worker runs one check at a time.
type worker interface {
	run(ctx context.Context, c gates.Command) gates.Result
	close()
}

// backend makes workers. finish is called after the last worker was closed.
type backend struct {
	containment string
	worker      func() worker
	finish      func()
}

var _ gates.Exec = (*Runner)(nil)

// New returns a runner. On Linux with a Helper it makes this process a child
// subreaper, so that what a killed helper leaves behind can be found. The error
// names the field that is wrong.
func New(cfg Config) (*Runner, error) {
	if cfg.Jobs < 1 || cfg.Jobs > MaxJobs {
		return nil, fmt.Errorf("jobs is %d, want 1 to %d", cfg.Jobs, MaxJobs)
	}
	if cfg.Now == nil {
		return nil, errors.New("no clock")
	}
	if len(cfg.Helper) > 0 && !filepath.IsAbs(cfg.Helper[0]) {
		return nil, fmt.Errorf("helper %q is not an absolute path", cfg.Helper[0])
	}
	if cfg.grace == 0 {
		cfg.grace = defaultGrace
	}
	if cfg.limit == 0 {
		cfg.limit = defaultLimit
	}
	b, err := newBackend(cfg)
	if err != nil {
		return nil, err
	}
	r := &Runner{backend: b, tokens: make(chan struct{}, cfg.Jobs)}
	for range cfg.Jobs {
		r.tokens <- struct{}{}
	}
	return r, nil
}

// Containment says what keeps a check's processes together: ByUser, BySlots or ByGroup.
func (r *Runner) Containment() string { return r.backend.containment }

// Exec runs one command to its end, with nothing it started left behind. More
// calls at a time than there are jobs wait for a slot. When ctx is done the check
// is stopped and the result is gates.Interrupted, within five seconds; a check
// that had ended by itself keeps its result.
func (r *Runner) Exec(ctx context.Context, c gates.Command) gates.Result {
	if err := valid(c); err != nil {
		return notStarted(err)
	}
	if ctx.Err() != nil {
		return gates.Result{End: gates.Interrupted}
	}
	select {
	case <-r.tokens:
	case <-ctx.Done():
		return gates.Result{End: gates.Interrupted}
	}
	defer func() { r.tokens <- struct{}{} }()
	w, ok := r.take()
	if !ok {
		return notStarted(ErrClosed)
	}
	defer r.give(w)
	return w.run(ctx, c)
}

// Close waits for the checks that run and ends the helpers. To stop the checks,
// end their contexts first.
func (r *Runner) Close() {
	r.closing.Lock()
	defer r.closing.Unlock()
	for range cap(r.tokens) {
		<-r.tokens
	}
	r.mu.Lock()
	idle, closed := r.idle, r.closed
	r.idle, r.closed = nil, true
	r.mu.Unlock()
	if !closed {
		var wg sync.WaitGroup
		for _, w := range idle {
			wg.Go(w.close)
		}
		wg.Wait()
		r.backend.finish()
	}
	for range cap(r.tokens) {
		r.tokens <- struct{}{}
	}
}

func (r *Runner) take() (worker, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, false
	}
	if n := len(r.idle); n > 0 {
		w := r.idle[n-1]
		r.idle = r.idle[:n-1]
		return w, true
	}
	return r.backend.worker(), true
}

func (r *Runner) give(w worker) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.idle = append(r.idle, w)
}

func valid(c gates.Command) error {
	switch {
	case !filepath.IsAbs(c.Shell):
		return fmt.Errorf("%w: shell %q is not an absolute path", ErrCommand, c.Shell)
	case !filepath.IsAbs(c.Dir):
		return fmt.Errorf("%w: directory %q is not an absolute path", ErrCommand, c.Dir)
	case c.Timeout <= 0:
		return fmt.Errorf("%w: timeout is %v", ErrCommand, c.Timeout)
	}
	return nil
}

func notStarted(err error) gates.Result {
	return gates.Result{End: gates.NotStarted, Err: err}
}
