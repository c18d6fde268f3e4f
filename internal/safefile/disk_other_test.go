//go:build unix && !linux

package safefile

import "testing"

func smallDisk(t *testing.T) string {
	t.Helper()
	t.Skip("the small disk is a tmpfs")
	return ""
}

func remountReadOnly(*testing.T, string) {}
