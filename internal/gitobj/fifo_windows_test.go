package gitobj

import "testing"

func mkfifo(t testing.TB, _ string) { t.Helper(); t.Skip("no FIFOs") }
