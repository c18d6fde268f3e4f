//go:build !unix

package runner

import (
	"os"
	"syscall"

	"github.com/gatesworn/gatesworn/gates"
)

// Without process groups only the shell itself can be stopped.

func ownGroup() *syscall.SysProcAttr { return nil }

func groupAlive(_ *os.Process, ended <-chan struct{}) bool {
	select {
	case <-ended:
		return false
	default:
		return true
	}
}

func terminateGroup(p *os.Process) { _ = p.Kill() }

func killGroup(p *os.Process) { _ = p.Kill() }

func ending(s *os.ProcessState) (end gates.End, code, signal int) {
	return gates.Exited, s.ExitCode(), 0
}
