//go:build unix

package scope

import (
	"errors"

	"golang.org/x/sys/unix"
)

// alive reports whether a process with this id exists, whoever owns it.
func alive(pid int) bool { return !errors.Is(unix.Kill(pid, 0), unix.ESRCH) }
