package runner

import (
	"os"
	"slices"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	t.Parallel()
	tests := []struct {
		stat string
		want process
		ok   bool
	}{
		{"12 (sh) S 3 4 5 0 -1", process{12, 3, 4, 5}, true},
		{"12 (a) S 9 9 9) R 3 4 5 0", process{12, 3, 4, 5}, true},
		{"12 (a\n(b) Z 3 4 5", process{12, 3, 4, 5}, true},
		{"12 () S 3 4", process{}, false},
		{"12 (x) S a b c", process{}, false},
		{"", process{}, false},
	}
	for _, tt := range tests {
		if got, ok := parseStat(12, []byte(tt.stat)); ok != tt.ok || got != tt.want {
			t.Errorf("%q: %+v %v, want %+v %v", tt.stat, got, ok, tt.want, tt.ok)
		}
	}
}

func TestProcessesFindsThisOne(t *testing.T) {
	t.Parallel()
	for _, p := range processes() {
		if p.pid == os.Getpid() && p.parent == os.Getppid() {
			return
		}
	}
	t.Error("this process is not in the table")
}

func TestBelowAndStrays(t *testing.T) {
	t.Parallel()
	table := []process{
		{1, 0, 1, 1}, {10, 1, 10, 1}, // 10 is this process, in session 1
		{20, 10, 20, 1}, {21, 20, 21, 21}, {22, 21, 22, 22}, // a helper and its check
		{30, 10, 10, 1},                                      // a program of os/exec
		{40, 10, 41, 41}, {42, 40, 41, 41}, {43, 42, 43, 43}, // left by a dead helper
		{50, 51, 50, 50}, {51, 50, 51, 51}, // a circle
	}
	if got, want := pids(below(table, 10)), []int{20, 21, 22, 30, 40, 42, 43}; !slices.Equal(got, want) {
		t.Errorf("below 10: %v, want %v", got, want)
	}
	if got, want := pids(strays(table, 10)), []int{40, 42, 43}; !slices.Equal(got, want) {
		t.Errorf("strays: %v, want %v", got, want)
	}
	if got := pids(below(table, 50)); !slices.Equal(got, []int{51}) {
		t.Errorf("circle: %v", got)
	}
}

func pids(list []process) []int {
	var out []int
	for _, p := range list {
		out = append(out, p.pid)
	}
	slices.Sort(out)
	return out
}

func TestPauserGrowsToABound(t *testing.T) {
	t.Parallel()
	var p pauser
	for range 8 {
		p.wait()
	}
	if p.next != 20*time.Millisecond {
		t.Errorf("next = %v", p.next)
	}
}
