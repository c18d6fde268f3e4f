package runner

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gatesworn/gatesworn/gates"
)

// BenchmarkAgainstXargs runs 300 trivial checks with two jobs, starting the
// helpers included, and compares the time with xargs over the same commands:
//
//	go test -run '^$' -bench AgainstXargs -benchtime 15x ./gates/runner
//
// ratio is the median runner time over the median xargs time, runs alternating;
// cpu-ratio compares processor time, all processes included, which a busy machine
// changes less.
func BenchmarkAgainstXargs(b *testing.B) {
	const checks, jobs = 300, 2
	if _, err := exec.LookPath("xargs"); err != nil {
		b.Skip("no xargs")
	}
	scripts := make([]string, checks)
	for i := range scripts {
		scripts[i] = fmt.Sprintf("echo ok %d", i)
	}
	dir, env := b.TempDir(), os.Environ()
	var floor, ours []time.Duration
	var floorCPU, oursCPU time.Duration
	for b.Loop() {
		start := cpuTime()
		floor = append(floor, timed(func() { xargs(b, dir, jobs, scripts) }))
		between := cpuTime()
		ours = append(ours, timed(func() { runAll(b, dir, env, jobs, scripts) }))
		floorCPU += between - start
		oursCPU += cpuTime() - between
	}
	slices.Sort(floor)
	slices.Sort(ours)
	f, o := floor[len(floor)/2], ours[len(ours)/2]
	b.ReportMetric(float64(o)/float64(f), "ratio")
	b.ReportMetric(float64(ours[0])/float64(floor[0]), "ratio-of-best")
	b.ReportMetric(float64(oursCPU)/float64(floorCPU), "cpu-ratio")
	b.ReportMetric(float64(f.Microseconds())/checks, "xargs-µs/check")
	b.ReportMetric(float64(o.Microseconds())/checks, "ours-µs/check")
}

func timed(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}

// cpuTime is what this process and the children it has waited for have used.
func cpuTime() time.Duration {
	var sum time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return sum
}

func xargs(b *testing.B, dir string, jobs int, scripts []string) {
	cmd := exec.Command("xargs", fmt.Sprintf("-P%d", jobs), "-I{}", "/bin/sh", "-c", "{}")
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(strings.Join(scripts, "\n") + "\n")
	if err := cmd.Run(); err != nil {
		b.Fatal(err)
	}
}

func runAll(b *testing.B, dir string, env []string, jobs int, scripts []string) {
	r, err := New(Config{Jobs: jobs, Helper: []string{"/proc/self/exe", slotCommand}, Now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	next := make(chan string)
	var wg sync.WaitGroup
	for range jobs {
		wg.Go(func() {
			for script := range next {
				got := r.Exec(context.Background(), gates.Command{Shell: "/bin/sh", Script: script, Dir: dir, Env: env, Timeout: time.Minute})
				if got.End != gates.Exited || got.Code != 0 {
					b.Errorf("%+v", got)
				}
			}
		})
	}
	for _, s := range scripts {
		next <- s
	}
	close(next)
	wg.Wait()
}
