package runner

import "strings"

// systemNames are variables without which most Windows programs do not start;
// systemTemp are the system's own words for TMPDIR. Case does not count there.
var (
	systemNames = [...]string{"PATH", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT"}
	systemTemp  = [...]string{"TEMP", "TMP"}
)

func systemName(name string) string { return strings.ToUpper(name) }
