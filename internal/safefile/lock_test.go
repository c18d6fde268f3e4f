package safefile

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"testing"
	"time"
)

// ended is a context that lets nobody wait.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestLock(t *testing.T) {
	t.Parallel()
	path := join(t.TempDir(), "lock")
	l, err := Acquire(ended(), path)
	if err != nil {
		t.Fatal("a free lock is taken at once, whatever the context: ", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	_, err = Acquire(ended(), path)
	refused(t, "held", err, ErrHeld)
	refused(t, "held", err, context.Canceled)
	must(t, l.Release())
	must(t, l.Release())
	must(t, (*Lock)(nil).Release())
	l, err = Acquire(ended(), path)
	must(t, err)
	must(t, l.Release())
}

func TestLockWaits(t *testing.T) {
	t.Parallel()
	path := join(t.TempDir(), "lock")
	first, err := Acquire(context.Background(), path)
	must(t, err)
	got := make(chan error, 1)
	go func() {
		second, err := Acquire(context.Background(), path)
		if err == nil {
			err = second.Release()
		}
		got <- err
	}()
	must(t, first.Release())
	must(t, <-got)
}

func TestLockRefusals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.Symlink("target", join(dir, "link")))
	must(t, os.Mkdir(join(dir, "folder"), 0o755))
	for name, want := range map[string]error{"link": ErrLink, "folder": ErrKind, "none/lock": fs.ErrNotExist} {
		_, err := Acquire(context.Background(), join(dir, name))
		refused(t, name, err, want)
	}
	if _, err := os.Lstat(join(dir, "target")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the link was followed")
	}
}

// A lock file that is removed while it is held must not let two in: the second
// gets the lock on a new file, and a holder of the old one is not renewed.
func TestLockOnARemovedFile(t *testing.T) {
	t.Parallel()
	path := join(t.TempDir(), "lock")
	l, err := Acquire(context.Background(), path)
	must(t, err)
	must(t, os.Remove(path))
	if err := stands(l.held, path); !errors.Is(err, ErrHeld) {
		t.Errorf("removed: %v", err)
	}
	write(t, path, "")
	if err := stands(l.held, path); !errors.Is(err, ErrHeld) {
		t.Errorf("another file: %v", err)
	}
	must(t, l.Release())
}

func TestLockEndsWithItsHolder(t *testing.T) {
	t.Parallel()
	path := join(t.TempDir(), "lock")
	cmd := helper(t, "hold", path)
	startUntil(t, cmd, "held")
	_, err := Acquire(ended(), path)
	refused(t, "held by a process", err, ErrHeld)
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	l, err := Acquire(ended(), path)
	must(t, err)
	must(t, l.Release())
}

func TestLockExcludesProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var all []*exec.Cmd
	for range 4 {
		cmd := helper(t, "count", join(dir, "lock"), join(dir, "number"))
		cmd.Stderr = os.Stderr
		must(t, cmd.Start())
		all = append(all, cmd)
	}
	for _, cmd := range all {
		must(t, cmd.Wait())
	}
	if got := content(t, join(dir, "number")); got != "200" {
		t.Errorf("%s additions of 200 counted", got)
	}
}

// startUntil starts a helper and waits for its first line.
func startUntil(t *testing.T, cmd *exec.Cmd, line string) {
	t.Helper()
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	cmd.Stderr = os.Stderr
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	// The deadline only ends a test that hangs.
	watchdog := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer watchdog.Stop()
	got, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || got != line+"\n" {
		t.Fatalf("helper said %q, %v", got, err)
	}
}
