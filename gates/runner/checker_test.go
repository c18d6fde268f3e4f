package runner

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gatesworn/gatesworn/gates"
)

// checkerMain is a checker of its own, for tests that kill or measure one:
// DIR HELPER-MARK SCRIPT… runs every script at once, prints each end, then its
// own peak memory.
func checkerMain(args []string) int {
	if len(args) < 3 {
		return 2
	}
	scripts := args[2:]
	r, err := New(Config{Jobs: len(scripts), Helper: []string{"/proc/self/exe", slotCommand, args[1]}, Now: time.Now})
	if err != nil {
		fmt.Println(err)
		return 2
	}
	defer r.Close()
	var wg sync.WaitGroup
	for _, script := range scripts {
		wg.Go(func() {
			got := r.Exec(context.Background(), gates.Command{
				Shell: "/bin/sh", Script: script, Dir: args[0], Env: os.Environ(), Timeout: time.Minute,
			})
			fmt.Printf("end %d code %d\n%s", got.End, got.Code, got.Stdout)
		})
	}
	wg.Wait()
	fmt.Println(peakMemory())
	return 0
}

// checker starts checkerMain in a process of its own.
func checker(t testing.TB, dir, mark string, scripts ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, append([]string{checkerCommand, dir, mark}, scripts...)...)
	cmd.Stderr = os.Stderr
	return cmd
}

var markBase = os.Getpid()

// mark returns a number that no other process of this machine has among its
// arguments, fit as a duration for sleep.
func mark(n int) string { return "7" + strconv.Itoa(markBase) + fmt.Sprintf("%03d", n) }
