package scope

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// noon is the time of tests; clock gives it.
var noon = time.Date(2026, 11, 30, 12, 0, 0, 5e6, time.UTC)

func clock() time.Time { return noon }

// TestMain lets the test binary be the other process.
func TestMain(m *testing.M) {
	if args := os.Args; len(args) > 2 && args[1] == "as-process" {
		os.Exit(process(args[2], args[3:]))
	}
	os.Exit(m.Run())
}

// process claims or locks as a process of its own and says how it ended.
func process(verb string, args []string) int {
	ctx := context.Background()
	tree := Tree{Root: args[0], Now: time.Now}
	switch verb {
	case "claim": // root scope leaf globs; reads stdin first, so that all start together
		_, _ = os.Stdin.Read(make([]byte, 1))
		_, err := tree.Claim(ctx, args[1], args[2], strings.Split(args[3], ","))
		if errors.As(err, new(*ConflictError)) {
			fmt.Println("refused")
			return 3
		}
		if err != nil {
			fmt.Println(err)
			return 2
		}
		fmt.Println("claimed")
	case "claims": // root scope: claims and releases for ever
		for i := 0; ; i++ {
			leaf := fmt.Sprintf("l%d", i%3)
			if _, err := tree.Claim(ctx, args[1], leaf, []string{leaf + "/**"}); err != nil {
				fmt.Println(err)
				return 2
			}
			if i == 0 {
				fmt.Println("going")
			}
			if _, err := tree.Release(ctx, args[1], leaf); err != nil {
				fmt.Println(err)
				return 2
			}
		}
	case "waves": // root scope prefix: opens and abandons waves for ever
		for i := 0; ; i++ {
			w := fmt.Sprintf("%s%d", args[2], i)
			if _, err := tree.OpenWave(ctx, args[1], w, []string{"a"}); err != nil {
				fmt.Println(err)
				return 2
			}
			if i == 0 {
				fmt.Println("going")
			}
		}
	case "hold": // root target: takes the lock and waits
		if _, err := FileLock(ctx, args[0], args[1], time.Now); err != nil {
			fmt.Println(err)
			return 2
		}
		fmt.Println("held")
		select {}
	case "exit":
	}
	return 0
}

func self(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	return exec.Command(exe, append([]string{"as-process"}, args...)...)
}

// deadPID is the id of a process that has ended and was waited for.
func deadPID(t testing.TB) int {
	t.Helper()
	cmd := self(t, "exit", "")
	must(t, cmd.Run())
	return cmd.Process.Pid
}

func names(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func read(t testing.TB, root, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	must(t, err)
	return string(data)
}

func sameText(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func wantError(t testing.TB, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v, want %q", err, text)
	}
}
