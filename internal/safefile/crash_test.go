package safefile

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// A process is killed in the middle of its replacements, again and again: what
// stands there is one whole content or the other.
func TestKilledWhileReplacing(t *testing.T) {
	t.Parallel()
	path := join(t.TempDir(), "file")
	size := 1 << 18
	must(t, Replace(path, []byte(strings.Repeat("0", size)), 0o640))
	for round := range 12 {
		fill := string(rune('a' + round))
		old := content(t, path)
		cmd := helper(t, "replace-forever", path, fill)
		startUntil(t, cmd, "ready")
		time.Sleep(time.Duration(round) * 3 * time.Millisecond) // spreads the moments of death
		must(t, cmd.Process.Kill())
		_ = cmd.Wait()
		if got := content(t, path); got != old && got != strings.Repeat(fill, size) {
			t.Fatalf("round %d: a mixture of %d bytes", round, len(got))
		}
		if info, err := os.Lstat(path); err != nil || info.Mode() != 0o640 {
			t.Fatalf("round %d: %v %v", round, info.Mode(), err)
		}
	}
}

// Two processes replace one file while this one reads it: every read is whole.
func TestRacingReplacements(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := join(dir, "file")
	size := 1 << 16
	must(t, Replace(path, []byte(strings.Repeat("a", size)), 0o640))
	done := make(chan error, 2)
	for _, fill := range []string{"a", "b"} {
		cmd := helper(t, "replace", path, fill)
		cmd.Stderr = os.Stderr
		go func(cmd *exec.Cmd) { done <- cmd.Run() }(cmd)
	}
	reads := 0
	for left := 2; left > 0; {
		select {
		case err := <-done:
			must(t, err)
			left--
		default:
			f, err := Read(path, 1<<20)
			must(t, err)
			if got := string(f.Data); got != strings.Repeat(got[:1], size) {
				t.Fatal("a mixture was read")
			}
			reads++
		}
	}
	if got := names(t, dir); got != "file" || reads == 0 {
		t.Errorf("left behind: %s after %d reads", got, reads)
	}
}
