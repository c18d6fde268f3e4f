// Command bench measures a gatesworn binary against what it is compared with in
// the issues. It is built by .ci/bench from its files, since go ignores folders
// that begin with a dot: ./... stays free of it.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// bench is one run: the binary, a scratch folder, and how often things are measured.
type bench struct {
	bin, work string
	rounds    int
	env       []string
}

func main() {
	if len(os.Args) == 4 && os.Args[1] == "child" {
		child(os.Args[2], os.Args[3])
		return
	}
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: bench GATESWORN FOLDER")
		os.Exit(2)
	}
	b := &bench{bin: os.Args[1], work: os.Args[2], rounds: 5}
	if n, err := strconv.Atoi(os.Getenv("BENCH_ROUNDS")); err == nil && n > 0 {
		b.rounds = n
	}
	b.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + b.work, "XDG_STATE_HOME=" + filepath.Join(b.work, "state"), "LANG=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=b", "GIT_AUTHOR_EMAIL=b@example.org", "GIT_COMMITTER_NAME=b", "GIT_COMMITTER_EMAIL=b@example.org",
	}
	fmt.Printf("%s/%s, %d processors, medians of %d; targets are those of the issues\n\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), b.rounds)
	fmt.Printf("%-58s %14s   %s\n", "", "measured", "target")
	for _, c := range cases {
		if only := os.Getenv("BENCH_ONLY"); only != "" && !strings.Contains(c.name, only) {
			continue
		}
		dir := filepath.Join(b.work, "cases", c.name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			fail(err)
		}
		if err := c.run(b, dir); err != nil {
			fmt.Printf("%-58s %14s   %v\n", c.name, "not measured", err)
		}
	}
}

var cases = []struct {
	name string
	run  func(b *bench, dir string) error
}{
	{"xargs", (*bench).xargs},
	{"start", (*bench).start},
	{"parse", (*bench).parse},
	{"growth", (*bench).growth},
	{"flood", (*bench).flood},
	{"output", (*bench).output},
	{"receipts", (*bench).receipts},
	{"plan", (*bench).plan},
	{"stop", (*bench).stop},
	{"lease", (*bench).lease},
	{"push", (*bench).push},
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "bench:", err)
	os.Exit(2)
}

// row prints one figure.
func row(name, measured, target string) { fmt.Printf("%-58s %14s   %s\n", name, measured, target) }

func ratio(a, b took) string        { return fmt.Sprintf("%.2f ×", float64(a.wall)/float64(b.wall)) }
func millis(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

// took is a duration, and the processor time spent in it: on a busy machine the
// second says more.
type took struct{ wall, cpu time.Duration }

func (t took) String() string { return millis(t.wall) + ", processor " + millis(t.cpu) }

// result is one call of a program.
type result struct {
	took
	code   int
	out    string
	peakKB int64 // of the process and what it waited for
}

// call runs a program in a folder. A status above max is an error: then the
// figure would show something else.
func (b *bench) call(dir, stdin string, max int, name string, args ...string) (result, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, b.env
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Stdin = strings.NewReader(stdin)
	began := time.Now()
	err := cmd.Run()
	r := result{took: took{wall: time.Since(began)}, out: out.String()}
	if cmd.ProcessState == nil {
		return r, err
	}
	r.code = cmd.ProcessState.ExitCode()
	r.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		r.peakKB = int64(u.Maxrss)
	}
	if r.code < 0 || r.code > max {
		return r, fmt.Errorf("%s %s ended in status %d: %s", filepath.Base(name), strings.Join(args, " "), r.code, strings.TrimSpace(tail(errs.String())+tail(out.String())))
	}
	return r, nil
}

func tail(s string) string { return s[max(0, len(s)-300):] }

// timed calls fn b.rounds times, after one call that warms caches, and returns
// the medians. before prepares each call and is not counted.
func (b *bench) timed(before func() error, fn func() (result, error)) (took, error) {
	var walls, cpus []time.Duration
	for i := range b.rounds + 1 {
		if before != nil {
			if err := before(); err != nil {
				return took{}, err
			}
		}
		r, err := fn()
		if err != nil {
			return took{}, err
		}
		if i > 0 {
			walls, cpus = append(walls, r.wall), append(cpus, r.cpu)
		}
	}
	return took{median(walls), median(cpus)}, nil
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

func write(path, data string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(data), 0o644)
}

// ledgerOf has n gates whose commands body writes.
func ledgerOf(n int, body func(i int) string) string {
	var s strings.Builder
	s.WriteString("# Gates\n\n")
	for i := range n {
		fmt.Fprintf(&s, "- [ ] G%d: outcome %d of the work is there\n%s", i+1, i+1, body(i))
	}
	return s.String()
}

func trivial(i int) string { return fmt.Sprintf("  CHECK: %s\n  EXPECT: ok\n", command(i)) }
func command(i int) string { return fmt.Sprintf("echo ok %d", i) }
