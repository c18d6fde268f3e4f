package safefile

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// child is the environment variable that turns the test binary into one of the
// helper processes below.
const child = "SAFEFILE_TEST_CHILD"

// children are what a helper process can do; arguments follow its name.
var children = map[string]func(args []string) error{
	// replace-forever PATH FILL: announces itself, then replaces until it is killed.
	"replace-forever": func(args []string) error {
		data := bytes.Repeat([]byte(args[1]), 1<<18)
		fmt.Println("ready")
		for {
			if err := Replace(args[0], data, 0o640); err != nil {
				return err
			}
		}
	},
	// replace PATH FILL N: replaces N times.
	"replace": func(args []string) error {
		for range 100 {
			if err := Replace(args[0], bytes.Repeat([]byte(args[1]), 1<<16), 0o640); err != nil {
				return err
			}
		}
		return nil
	},
	"replace-once": func(args []string) error { return Replace(args[0], []byte("new"), 0o600) },
	"create-once":  func(args []string) error { return Create(args[0], []byte("new"), 0o600) },
	"append-once":  func(args []string) error { return Append(args[0], []byte("new\n"), 0o600) },
	"private":      func(args []string) error { return PrivateDir(args[0]) },
	"read": func(args []string) error {
		_, err := Read(args[0], 1<<20)
		return err
	},
	// hold PATH: takes the lock, says so and waits for the end of its input.
	"hold": func(args []string) error {
		if _, err := Acquire(context.Background(), args[0]); err != nil {
			return err
		}
		fmt.Println("held")
		_, err := os.Stdin.Read(make([]byte, 1))
		return err
	},
	// count LOCK FILE: adds one to a number, many times, under the lock.
	"count": func(args []string) error {
		for range 50 {
			if err := addOne(args[0], args[1]); err != nil {
				return err
			}
		}
		return nil
	},
}

func TestMain(m *testing.M) {
	if name := os.Getenv(child); name != "" {
		if err := children[name](os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func addOne(lock, file string) error {
	l, err := Acquire(context.Background(), lock)
	if err != nil {
		return err
	}
	defer l.Release()
	var n int
	if f, err := Read(file, 100); err == nil {
		if _, err := fmt.Sscan(string(f.Data), &n); err != nil {
			return err
		}
	}
	return Replace(file, []byte(fmt.Sprint(n+1)), 0o600)
}

// helper prepares a helper process.
func helper(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), child+"="+name)
	return cmd
}

// missing skips a test that this machine cannot run, or fails it where everything must be there.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("REQUIRE_TOOLS") == "1" {
		t.Fatal("missing: " + what)
	}
	t.Skip("missing: " + what)
}

func write(t *testing.T, path, data string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// names lists a folder, so that a test sees what was left behind.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

func join(elem ...string) string { return filepath.Join(elem...) }
