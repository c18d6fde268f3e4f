package scope

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatesworn/gatesworn/internal/safefile"
)

func lockFile(root, target string) string {
	sum := sha256.Sum256([]byte(filepath.Join(root, filepath.FromSlash(target))))
	return filepath.Join(root, ".unlazy", "locks", hex.EncodeToString(sum[:])[:24]+".filelock")
}

// soon ends a wait for a lock that will not become free.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

func TestFileLockIsUnlazys(t *testing.T) {
	t.Parallel()
	root := tree(t, "GATES.md")
	l, err := FileLock(t.Context(), root, filepath.Join(root, "GATES.md"), clock)
	must(t, err)
	data, err := os.ReadFile(lockFile(root, "GATES.md"))
	must(t, err)
	var got map[string]any
	must(t, json.Unmarshal(data, &got))
	if len(got) != 4 || got["target"] != filepath.Join(root, "GATES.md") || got["pid"] != float64(os.Getpid()) || got["at"] != "2026-11-30T12:00:00.005Z" || len(got["token"].(string)) < 16 {
		t.Errorf("record %s", data)
	}
	if info, err := os.Stat(lockFile(root, "GATES.md")); err != nil || (info.Mode().Perm() != 0o600 && filepath.Separator == '/') {
		t.Errorf("mode %v %v", info.Mode(), err)
	}
	must(t, l.Release())
	if got := names(t, filepath.Join(root, ".unlazy", "locks")); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
	must(t, (*Lock)(nil).Release())
}

func TestFileLockWaits(t *testing.T) {
	t.Parallel()
	root := tree(t)
	target := filepath.Join(root, "new", "folder", "file") // need not exist
	first, err := FileLock(t.Context(), root, target, clock)
	must(t, err)
	got := make(chan error)
	go func() {
		second, err := FileLock(context.Background(), root, target, clock)
		if err == nil {
			err = second.Release()
		}
		got <- err
	}()
	select {
	case err := <-got:
		t.Fatalf("did not wait: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	must(t, first.Release())
	must(t, <-got)
}

func TestFileLockIsNeverStolen(t *testing.T) {
	t.Parallel()
	dead := deadPID(t)
	tests := []struct {
		name, record string
		pid          int
		dead         bool
		says         string
	}{
		{"dead owner", fmt.Sprintf(`{"token":"x","pid":%d,"target":"t","at":"2026-11-30T11:00:00.000Z"}`, dead), dead, true, fmt.Sprintf("process %d, which is gone; check what it left, then remove ", dead)},
		{"living owner", fmt.Sprintf(`{"token":"x","pid":%d,"target":"t","at":1}`, os.Getpid()), os.Getpid(), false, fmt.Sprintf("locked for 1m0s by process %d", os.Getpid())},
		{"killed before it wrote its name", "", 0, false, "by an unnamed process; if none is at work, remove "},
		{"not JSON", "{", 0, false, "unnamed"},
		{"pid of the wrong kind", `{"token":"x","pid":"1"}`, 0, false, "unnamed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root := tree(t, ".unlazy/locks/")
			file := lockFile(root, "GATES.md")
			must(t, os.WriteFile(file, []byte(tt.record), 0o600))
			must(t, os.Chtimes(file, noon.Add(-time.Minute), noon.Add(-time.Minute)))
			_, err := FileLock(soon(t), root, filepath.Join(root, "GATES.md"), clock)
			held := new(HeldError)
			if !errors.As(err, &held) || !errors.Is(err, safefile.ErrHeld) || held.PID != tt.pid || held.Dead != tt.dead || held.Age != time.Minute || held.File != file {
				t.Fatalf("got %+v %v", held, err)
			}
			wantError(t, err, tt.says)
			if got, err := os.ReadFile(file); err != nil || string(got) != tt.record {
				t.Error("the lock was touched")
			}
			if tt.dead { // does not wait for ctx, only for patience
				_, err := fileLock(context.Background(), root, filepath.Join(root, "GATES.md"), clock, 30*time.Millisecond)
				if !errors.As(err, &held) || !errors.Is(err, errDead) {
					t.Errorf("got %v", err)
				}
			}
		})
	}
}

func TestReleaseOnlyOurs(t *testing.T) {
	t.Parallel()
	root := tree(t)
	l, err := FileLock(t.Context(), root, filepath.Join(root, "x"), clock)
	must(t, err)
	file := lockFile(root, "x")
	must(t, os.WriteFile(file, []byte(`{"token":"other","pid":1}`), 0o600))
	wantError(t, l.Release(), "somebody replaced it")
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
	must(t, os.Remove(file))
	wantError(t, l.Release(), "cannot release lock")
}

func TestFileLockRefusesLinks(t *testing.T) {
	t.Parallel()
	for _, at := range []string{".unlazy", ".unlazy/locks"} {
		root, other := tree(t), tree(t, "locks/")
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(root, at)), 0o755))
		link(t, other, filepath.Join(root, filepath.FromSlash(at)))
		_, err := FileLock(soon(t), root, filepath.Join(root, "x"), clock)
		if e := new(UnsafeError); !errors.As(err, &e) || e.Path != at {
			t.Errorf("%s: %v", at, err)
		}
		if UsesLocks(root) {
			t.Errorf("%s: a linked folder counts", at)
		}
	}
	root := tree(t)
	if UsesLocks(root) {
		t.Error("no folder counts")
	}
	link(t, "nowhere", filepath.Join(tree(t, ".unlazy/locks/"), "y"))
	must(t, os.MkdirAll(filepath.Join(root, ".unlazy", "locks"), 0o755))
	link(t, "nowhere", lockFile(root, "x"))
	if _, err := FileLock(soon(t), root, filepath.Join(root, "x"), clock); !errors.Is(err, safefile.ErrHeld) {
		t.Errorf("a link in the lock's place: %v", err)
	}
}

// Two spellings of a target through a linked folder are one lock; the target
// itself is not followed.
func TestFileLockCanonicalTarget(t *testing.T) {
	t.Parallel()
	root := tree(t, "real/GATES.md")
	link(t, "real", filepath.Join(root, "alias"))
	l, err := FileLock(t.Context(), root, filepath.Join(root, "alias", "GATES.md"), clock)
	must(t, err)
	if _, err := os.Stat(lockFile(root, "real/GATES.md")); err != nil {
		t.Error(err)
	}
	must(t, l.Release())
}

func TestKilledHolderIsNamed(t *testing.T) {
	t.Parallel()
	root := tree(t)
	target := filepath.Join(root, "x")
	cmd := self(t, "hold", root, target)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("got %q", line)
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	_, err = fileLock(t.Context(), root, target, time.Now, 30*time.Millisecond)
	wantError(t, err, fmt.Sprintf("by process %d, which is gone", cmd.Process.Pid))
	if !strings.Contains(err.Error(), lockFile(root, "x")) {
		t.Errorf("the file is not named: %v", err)
	}
}
