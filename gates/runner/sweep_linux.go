package runner

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// sweep kills what a killed helper left behind. This process is a subreaper, so
// orphans of a helper become its children. They are known by their session: a
// check's shell has one of its own, and nobody can join a session. Helpers, and
// programs that others start from this process, are in this process's.
func sweep(cfg Config) {
	self := os.Getpid()
	pause := pauser{}
	for began := cfg.Now(); cfg.Now().Sub(began) < cfg.limit; pause.wait() {
		found := strays(processes(), self)
		if len(found) == 0 {
			return
		}
		for _, p := range found {
			_ = unix.Kill(p.pid, unix.SIGKILL)
			if p.parent == self {
				// Only this one: wait4(-1) would take os/exec's children away.
				_, _ = syscall.Wait4(p.pid, nil, unix.WNOHANG, nil)
			}
		}
	}
}

// strays returns the children of self in other sessions, and all below them.
func strays(all []process, self int) []process {
	session := -1
	for _, p := range all {
		if p.pid == self {
			session = p.session
		}
	}
	var found []process
	for _, p := range all {
		if p.parent == self && p.session != session {
			found = append(found, p)
			found = append(found, below(all, p.pid)...)
		}
	}
	return found
}

// killUser kills everything of the dedicated user, as that user: as root it would
// kill everybody's.
func killUser(cfg Config) {
	as := &syscall.Credential{Uid: cfg.User.UID, Gid: cfg.User.GID}
	conn, cmd, err := launch(cfg, setup{user: cfg.User, sweep: true}, as)
	if err != nil {
		return // the slots held; this is the belt to their braces
	}
	_ = cmd.Wait()
	conn.Close()
}
