//go:build unix

package runner

import (
	"os"
	"syscall"

	"github.com/gatesworn/gatesworn/gates"
)

func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// groupAlive reports whether a process of the group is left. Once the shell was
// waited for, members that became children of this process (it is process 1, or a
// subreaper) are reaped. Between the end of the group's last process and this call
// the number could be used again; the kernel hands numbers out in turn, so that
// takes a full round of them.
func groupAlive(p *os.Process, ended <-chan struct{}) bool {
	select {
	case <-ended:
		for {
			if pid, err := syscall.Wait4(-p.Pid, nil, syscall.WNOHANG, nil); err != nil || pid == 0 {
				break
			}
		}
	default:
	}
	return syscall.Kill(-p.Pid, 0) == nil
}

func terminateGroup(p *os.Process) {
	_ = syscall.Kill(-p.Pid, syscall.SIGTERM)
	_ = syscall.Kill(-p.Pid, syscall.SIGCONT)
}

func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

func ending(s *os.ProcessState) (end gates.End, code, signal int) {
	ws, ok := s.Sys().(syscall.WaitStatus)
	if ok && ws.Signaled() {
		return gates.Signaled, 0, int(ws.Signal())
	}
	return gates.Exited, s.ExitCode(), 0
}
