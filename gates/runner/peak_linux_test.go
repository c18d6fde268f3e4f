package runner

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// peakMemory returns this process's VmHWM in KiB.
func peakMemory() int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return -1
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kib := -1
	_, _ = fmt.Sscan(rest, &kib)
	return kib
}

func fscan(s, format string, to ...any) (int, error) { return fmt.Sscanf(s, format, to...) }

func asUser(uid uint32) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
}
