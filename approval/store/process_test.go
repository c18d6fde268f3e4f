//go:build unix

package store_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gatesworn/gatesworn/approval/store"
)

// The test binary plays other processes: the first word of childVar says which.
const childVar = "GATESWORN_STORE_TEST_CHILD"

func TestMain(m *testing.M) {
	if role := os.Getenv(childVar); role != "" {
		os.Exit(child(strings.Fields(role)))
	}
	os.Exit(m.Run())
}

func child(args []string) int {
	dir := args[1]
	s, err := store.Open(dir, "")
	if err != nil {
		fmt.Println(err)
		return 3
	}
	switch args[0] {
	case "write": // write FROM TO
		from, _ := strconv.Atoi(args[2])
		to, _ := strconv.Atoi(args[3])
		for i := from; i < to; i++ {
			if _, err := s.Put(context.Background(), day, binding(fmt.Sprintf("G%d", i), "make")); err != nil {
				fmt.Println(err)
				return 3
			}
			fmt.Println(i)
		}
	case "look":
		l, err := s.Lookup(binding("G1", "make"))
		if err != nil {
			fmt.Println(err)
			return 3
		}
		if !l.Approved {
			return 1
		}
	case "put":
		if _, err := s.Put(context.Background(), day, binding("G1", "make")); err != nil {
			fmt.Println(err)
			return 3
		}
	}
	return 0
}

func start(t *testing.T, attr *syscall.SysProcAttr, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childVar+"="+strings.Join(args, " "))
	cmd.SysProcAttr = attr
	return cmd
}

// nobody runs a child as uid 65534, because root may read everything.
func nobody(t *testing.T, args ...string) (code int, out string) {
	t.Helper()
	cmd := start(t, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}, args...)
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	const each = 20
	var running []*exec.Cmd
	for i := range 2 {
		cmd := start(t, nil, "write", dir, strconv.Itoa(i*each/2), strconv.Itoa(i*each/2+each))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		running = append(running, cmd)
	}
	for _, cmd := range running {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	for i := range each * 3 / 2 {
		if l := lookup(t, dir, binding(fmt.Sprintf("G%d", i), "make")); !l.Approved {
			t.Errorf("G%d was lost", i)
		}
	}
}

func TestKill(t *testing.T) {
	t.Parallel()
	for round := range 8 {
		dir := folder(t)
		cmd := start(t, nil, "write", dir, "0", "5000")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 1+round*7) // kill at another moment each time
		if _, err := out.Read(buf); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		files := records(t, dir)
		if len(files) == 0 {
			t.Fatal("nothing was written")
		}
		whole := 0
		for i := range len(files) + 1 {
			l := lookup(t, dir, binding(fmt.Sprintf("G%d", i), "make"))
			if strings.Contains(l.Near, "does not count") {
				t.Errorf("G%d is half written: %s", i, l.Near)
			}
			if l.Approved {
				whole++
			}
		}
		if whole != len(files) {
			t.Errorf("%d records, %d count", len(files), whole)
		}
		put(t, dir, binding("G1", "make")) // the lock of the dead is free
	}
}

func TestAsAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		if os.Getenv("REQUIRE_TOOLS") == "1" {
			t.Fatal("needs root to become uid 65534")
		}
		t.Skip("needs root to become uid 65534")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for p := filepath.Dir(self); p != "/"; p = filepath.Dir(p) {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm()&0o001 == 0 {
			if err := os.Chmod(p, 0o755); err != nil {
				t.Skip("the test binary is out of another user's reach")
			}
		}
	}
	base, err := os.MkdirTemp("", "store")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(base, "own")
	if err := errors.Join(os.Mkdir(own, 0o700), os.Chown(own, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	if code, out := nobody(t, "look", own); code != 1 {
		t.Fatalf("an empty store: %d %s", code, out)
	}
	if code, out := nobody(t, "put", own); code != 0 {
		t.Fatalf("put: %d %s", code, out)
	}
	if code, out := nobody(t, "look", own); code != 0 {
		t.Fatalf("look: %d %s", code, out)
	}
	record := records(t, own)[0]
	steps := []struct {
		name string
		do   func() error
		code int
		says string
	}{
		{"record without rights", func() error { return os.Chmod(record, 0) }, 3, "permission denied"},
		{"folder without rights", func() error { return errors.Join(os.Chmod(record, 0o600), os.Chmod(own, 0)) }, 3, "permission denied"},
		{"folder without search", func() error { return os.Chmod(own, 0o600) }, 3, "permission denied"},
		{"record of root", func() error { return errors.Join(os.Chmod(own, 0o700), os.Chown(record, 0, 0)) }, 1, ""},
		{"folder of root", func() error { return errors.Join(os.Chown(record, 65534, 65534), os.Chown(own, 0, 0)) }, 3, "another user"},
		{"all well again", func() error { return os.Chown(own, 65534, 65534) }, 0, ""},
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			t.Fatal(err)
		}
		if code, out := nobody(t, "look", own); code != s.code || !strings.Contains(out, s.says) {
			t.Errorf("%s: %d %s", s.name, code, out)
		}
	}
	readOnly := filepath.Join(base, "parent")
	if err := os.Mkdir(readOnly, 0o755); err != nil {
		t.Fatal(err)
	}
	if code, out := nobody(t, "put", filepath.Join(readOnly, "approved")); code != 3 || !strings.Contains(out, "permission denied") {
		t.Errorf("a folder that cannot be made: %d %s", code, out)
	}
	if _, err := os.Stat(filepath.Join(readOnly, "approved")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func BenchmarkLookup200(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "approved")
	s, err := store.Open(dir, "")
	if err != nil {
		b.Fatal(err)
	}
	var all []store.Binding
	for i := range 200 {
		all = append(all, binding(fmt.Sprintf("G%d", i), "make"))
	}
	if _, err := s.Put(context.Background(), day, all...); err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	for b.Loop() {
		s, err := store.Open(dir, "")
		if err != nil {
			b.Fatal(err)
		}
		for _, one := range all {
			if l, err := s.Lookup(one); err != nil || !l.Approved {
				b.Fatal(l, err)
			}
		}
	}
	b.ReportMetric(float64(time.Since(start).Milliseconds())/float64(b.N), "ms/200")
}
