package scope

import "golang.org/x/sys/windows"

// stillActive is the exit code of a process that has not ended (STILL_ACTIVE).
const stillActive = 259

// alive reports whether a process with this id exists, whoever owns it.
func alive(pid int) bool {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return err == windows.ERROR_ACCESS_DENIED
	}
	defer windows.CloseHandle(h)
	var code uint32
	return windows.GetExitCodeProcess(h, &code) != nil || code == stillActive
}
