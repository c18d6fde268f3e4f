package runner

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gatesworn/gatesworn/gates"
)

// slack is added to what a helper may take before it counts as stopped: the
// helper keeps time itself, this is for one that was stopped or starved.
const slack = time.Second

func newBackend(cfg Config) (backend, error) {
	if len(cfg.Helper) == 0 {
		if cfg.User != nil {
			return backend{}, errors.New("a dedicated user needs slot helpers")
		}
		return groupBackend(cfg), nil
	}
	if cfg.User != nil && (cfg.User.UID == 0 || cfg.User.GID == 0) {
		return backend{}, errors.New("the dedicated user is root")
	}
	// Sockets cannot be opened through /proc/PID/fd, so no check can reach this
	// process's end; what a killed helper leaves comes to this process, see sweep.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return backend{}, fmt.Errorf("become child subreaper: %w", err)
	}
	b := backend{
		containment: BySlots,
		worker:      func() worker { return &slot{cfg: cfg} },
		finish:      func() {},
	}
	if cfg.User != nil {
		b.containment = ByUser
		b.finish = func() { killUser(cfg) }
	}
	return b, nil
}

// slot is the checker's side of one slot helper, which is started when needed.
type slot struct {
	cfg  Config
	conn *os.File      // nil while there is no helper
	dead chan struct{} // closed when the helper was reaped
	cmd  *exec.Cmd
	in   *bufio.Reader
	seq  uint64
	envs [][]string // that the helper knows, by number
	next int        // number of the environment that is forgotten next
	buf  []byte
}

// run hands the check to the helper and waits for its end. A helper that does not
// answer in time was stopped or killed, most likely by the check: it and all that
// it leaves are killed, and the check has no result.
func (s *slot) run(ctx context.Context, c gates.Command) gates.Result {
	if s.conn == nil {
		if err := s.start(); err != nil {
			return notStarted(fmt.Errorf("%w: %w", ErrHelper, err))
		}
	}
	began := s.cfg.Now()
	patience := s.cfg.grace + s.cfg.limit + slack
	_ = s.conn.SetDeadline(began.Add(c.Timeout + patience))
	s.seq++
	conn, seq := s.conn, s.seq
	cancelled := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(cancelled)
		// An interrupted run has five seconds: two for the grace, one here, two for sweep.
		_ = conn.SetDeadline(s.cfg.Now().Add(s.cfg.grace + s.cfg.limit/2))
		_, _ = conn.Write(appendCancel(nil, seq)) // a lost helper shows when it is read from
	})
	r, err := s.exchange(c)
	if !stop() {
		<-cancelled
	}
	if err == nil {
		return r
	}
	s.kill()
	sweep(s.cfg)
	r = gates.Result{Duration: max(s.cfg.Now().Sub(began), 0)}
	switch {
	case ctx.Err() != nil:
		r.End = gates.Interrupted
	case errors.Is(err, os.ErrDeadlineExceeded):
		r.End = gates.TimedOut
	default:
		r.Err = fmt.Errorf("%w: %w", ErrHelper, err)
	}
	return r
}

// exchange sends one check and reads its result.
func (s *slot) exchange(c gates.Command) (gates.Result, error) {
	s.buf = s.buf[:0]
	o := order{seq: s.seq, env: s.envID(c.Env), timeout: c.Timeout, shell: c.Shell, dir: c.Dir, script: c.Script}
	s.buf = o.append(s.buf)
	if _, err := s.conn.Write(s.buf); err != nil {
		return gates.Result{}, err
	}
	kind, p, err := readFrame(s.in, nil) // a buffer of its own: the result keeps it
	if err != nil {
		return gates.Result{}, err
	}
	if kind == frameFail {
		return gates.Result{}, errors.New(string(p))
	}
	seq, out, r, err := parseOutcome(p)
	if err != nil || kind != frameDone || seq != s.seq {
		return gates.Result{}, errFrame
	}
	switch out.cause {
	case causeNone:
	case causeDir:
		r.Err = fmt.Errorf("%w %q: %w", ErrDir, c.Dir, out.errno)
	case causeShell:
		r.Err = fmt.Errorf("%w %q: %w", ErrShell, c.Shell, out.errno)
	case causeSurvived:
		s.kill() // a slot with a stranger in it is never used again
		sweep(s.cfg)
		r.Err = ErrSurvived
	}
	return r, nil
}

// envID returns the number of an environment, and has it sent first if the helper
// does not know it. Most checks of a run share one.
func (s *slot) envID(env []string) int {
	for id, known := range s.envs {
		if slices.Equal(known, env) {
			return id
		}
	}
	id := s.next
	s.next = (s.next + 1) % maxEnvs
	if id == len(s.envs) {
		s.envs = append(s.envs, nil)
	}
	s.envs[id] = slices.Clone(env)
	s.buf = appendEnv(s.buf, id, env)
	return id
}

// start starts the helper. It is in this session, which tells it from what a
// check leaves behind, and in a group of its own, so that ^C does not reach it.
func (s *slot) start() error {
	conn, cmd, err := launch(s.cfg, setup{grace: s.cfg.grace, limit: s.cfg.limit, user: s.cfg.User}, nil)
	if err != nil {
		return err
	}
	dead := make(chan struct{})
	go func() {
		defer close(dead)
		_ = cmd.Wait() // how a helper ended says nothing that its socket does not
	}()
	s.conn, s.cmd, s.dead = conn, cmd, dead
	s.in = bufio.NewReader(conn)
	s.envs, s.next = nil, 0
	return nil
}

// launch starts the helper program and sends it its first frame.
func launch(cfg Config, how setup, as *syscall.Credential) (*os.File, *exec.Cmd, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "slot")
	defer theirs.Close()
	if err := unix.SetNonblock(fds[0], true); err != nil { // deadlines need the poller
		closeAll(fds[0])
		return nil, nil, os.NewSyscallError("setnonblock", err)
	}
	ours := os.NewFile(uintptr(fds[0]), "slot")
	cmd := exec.Command(cfg.Helper[0], cfg.Helper[1:]...)
	cmd.Env = []string{} // nothing of ours for a check to read in /proc
	cmd.Dir = "/"
	cmd.Stdin = theirs
	// CONT wakes a helper that a check stopped, to see that its checker is dead.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGCONT, Credential: as}
	if err := cmd.Start(); err != nil {
		ours.Close()
		return nil, nil, err
	}
	_, _ = ours.Write(how.append(nil)) // a helper that is gone shows when it is read from
	return ours, cmd, nil
}

// kill ends the helper at once. What ran under it comes to this process: see sweep.
func (s *slot) kill() {
	if s.conn == nil {
		return
	}
	_ = s.cmd.Process.Kill() // it may have ended by itself
	<-s.dead
	s.conn.Close()
	s.conn = nil
}

// close ends the helper, which kills what is left under it.
func (s *slot) close() {
	if s.conn == nil {
		return
	}
	s.conn.Close()
	t := time.NewTimer(s.cfg.grace + s.cfg.limit + slack)
	defer t.Stop()
	select {
	case <-s.dead:
		s.conn = nil
	case <-t.C:
		s.kill()
		sweep(s.cfg)
	}
}
