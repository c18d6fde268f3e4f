package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/gates/evidence"
)

// backends are the ways to run a check that every system here has.
func backends() map[string]Config {
	list := map[string]Config{"group": {}}
	if runtime.GOOS == "linux" {
		list["slots"] = Config{Helper: []string{"/proc/self/exe", slotCommand}}
	}
	return list
}

func newRunner(t testing.TB, cfg Config) *Runner {
	t.Helper()
	if cfg.Jobs == 0 {
		cfg.Jobs = 2
	}
	cfg.Now = time.Now
	r, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func slotRunner(t testing.TB, jobs int) *Runner {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("slots need Linux")
	}
	return newRunner(t, Config{Jobs: jobs, Helper: []string{"/proc/self/exe", slotCommand}})
}

func command(t testing.TB, script string) gates.Command {
	t.Helper()
	return gates.Command{
		Shell: "/bin/sh", Script: script, Dir: t.TempDir(),
		Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"}, Timeout: time.Minute,
	}
}

func TestExecResults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, script string
		timeout      time.Duration
		want         gates.Result
	}{
		{"nothing", "", 0, gates.Result{End: gates.Exited}},
		{"true", "true", 0, gates.Result{End: gates.Exited}},
		{"status", "exit 7", 0, gates.Result{End: gates.Exited, Code: 7}},
		{"both streams", "echo out; echo err >&2", 0, gates.Result{End: gates.Exited, Stdout: []byte("out\n"), Stderr: []byte("err\n")}},
		{"no line end", "printf abc", 0, gates.Result{End: gates.Exited, Stdout: []byte("abc")}},
		{"bytes", `printf '\000\377\n'`, 0, gates.Result{End: gates.Exited, Stdout: []byte("\x00\xff\n")}},
		{"missing command", "gatesworn-no-such-command 2>/dev/null", 0, gates.Result{End: gates.Exited, Code: 127}},
		{"not executable", "/ 2>/dev/null", 0, gates.Result{End: gates.Exited, Code: 126}},
		{"syntax error", "eval if 2>/dev/null", 0, gates.Result{End: gates.Exited, Code: 2}},
		{"signal", "kill -9 $$", 0, gates.Result{End: gates.Signaled, Signal: 9}},
		{"own term", "kill -TERM $$", 0, gates.Result{End: gates.Signaled, Signal: 15}},
		{"status 143 is no signal", "exit 143", 0, gates.Result{End: gates.Exited, Code: 143}},
		{"standard input is empty", "cat; read x; echo $?", 0, gates.Result{End: gates.Exited, Stdout: []byte("1\n")}},
		{"closed outputs", "exec >&- 2>&-; exit 3", 0, gates.Result{End: gates.Exited, Code: 3}},
		{"no terminal", "test -t 0 || test -t 1 || (: < /dev/tty) 2>/dev/null || echo none", 0, gates.Result{End: gates.Exited, Stdout: []byte("none\n")}},
		{"timeout", "echo before; sleep 60; echo after", 100 * time.Millisecond, gates.Result{End: gates.TimedOut, Stdout: []byte("before\n")}},
		{"exit 0 on TERM is a timeout", "exec 2>/dev/null; trap 'exit 0' TERM; while :; do sleep 1; done", 100 * time.Millisecond, gates.Result{End: gates.TimedOut}},
	}
	for name, cfg := range backends() {
		r := newRunner(t, cfg)
		for _, tt := range tests {
			t.Run(name+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				c := command(t, tt.script)
				if tt.timeout > 0 {
					c.Timeout = tt.timeout
				}
				got := r.Exec(context.Background(), c)
				if got.Err != nil || got.Duration <= 0 {
					t.Errorf("Err = %v, Duration = %v", got.Err, got.Duration)
				}
				got.Duration, got.Tail = 0, nil
				if diff := cmp.Diff(text(tt.want), text(got)); diff != "" {
					t.Errorf("%s: (-want +got)\n%s", tt.script, diff)
				}
			})
		}
	}
}

// text makes results comparable: nil and empty output are the same.
func text(r gates.Result) map[string]any {
	return map[string]any{
		"end": r.End, "code": r.Code, "signal": r.Signal,
		"stdout": string(r.Stdout), "stderr": string(r.Stderr), "tail": string(r.Tail),
	}
}

func TestExecNotStarted(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		change func(*gates.Command)
		want   []error
	}{
		{"missing shell", func(c *gates.Command) { c.Shell = "/no/such/shell" }, []error{ErrShell, syscall.ENOENT}},
		{"shell without permission", func(c *gates.Command) { c.Shell = file }, []error{ErrShell, syscall.EACCES}},
		{"missing directory", func(c *gates.Command) { c.Dir = "/no/such/directory" }, []error{ErrDir, syscall.ENOENT}},
		{"directory is a file", func(c *gates.Command) { c.Dir = file }, []error{ErrDir, syscall.ENOTDIR}},
		{"relative shell", func(c *gates.Command) { c.Shell = "sh" }, []error{ErrCommand}},
		{"relative directory", func(c *gates.Command) { c.Dir = "." }, []error{ErrCommand}},
		{"no timeout", func(c *gates.Command) { c.Timeout = 0 }, []error{ErrCommand}},
		{"NUL in the script", func(c *gates.Command) { c.Script = "a\x00b" }, []error{ErrShell, syscall.EINVAL}},
		{"script too long", func(c *gates.Command) { c.Script = strings.Repeat("x", 1<<20) }, []error{ErrShell, syscall.E2BIG}},
	}
	for name, cfg := range backends() {
		r := newRunner(t, cfg)
		for _, tt := range tests {
			t.Run(name+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				c := command(t, "true")
				tt.change(&c)
				got := r.Exec(context.Background(), c)
				if got.End != gates.NotStarted {
					t.Errorf("End = %v, want NotStarted", got.End)
				}
				for _, want := range tt.want {
					if !errors.Is(got.Err, want) {
						t.Errorf("Err = %v, want %v", got.Err, want)
					}
				}
				if after := r.Exec(context.Background(), command(t, "true")); after.End != gates.Exited {
					t.Errorf("the next check: %v %v", after.End, after.Err)
				}
			})
		}
	}
}

func TestEnvironmentIsExactlyAsGiven(t *testing.T) {
	t.Parallel()
	for name, cfg := range backends() {
		r := newRunner(t, cfg)
		c := command(t, "")
		// env prints what the shell was given: sh would add PWD.
		c.Shell = envScript(t)
		for i, env := range [][]string{{"A=1", "B=x y"}, {}, {"A=2"}, {"A=1", "B=x y"}} {
			c.Env = env
			got := r.Exec(context.Background(), c)
			want := strings.Join(append(env, ""), "\n")
			if string(got.Stdout) != want || got.Code != 0 {
				t.Errorf("%s %d: environment %q, want %q (%v %s)", name, i, got.Stdout, want, got.Err, got.Stderr)
			}
		}
	}
}

// envScript returns a program that prints its environment and ignores its arguments.
func envScript(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "printenv")
	if err := os.WriteFile(path, []byte("#!/usr/bin/env -S perl -e 'print \"$_=$ENV{$_}\\n\" for sort keys %ENV'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/usr/bin/perl"); err != nil {
		if os.Getenv("REQUIRE_TOOLS") == "1" {
			t.Fatal("no perl")
		}
		t.Skip("no perl")
	}
	return path
}

func TestManyEnvironments(t *testing.T) {
	t.Parallel()
	r := slotRunner(t, 1)
	for round := range 3 {
		for i := range 2*maxEnvs + 1 {
			c := command(t, `printf %s "$N"`)
			c.Env = []string{"N=" + string(rune('a'+i))}
			if got := r.Exec(context.Background(), c); string(got.Stdout) != string(rune('a'+i)) {
				t.Fatalf("round %d: N = %q, want %q", round, got.Stdout, string(rune('a'+i)))
			}
		}
	}
}

func TestOutputLimit(t *testing.T) {
	t.Parallel()
	half := "head -c 524288 /dev/zero | tr '\\0' "
	tests := []struct {
		name, script string
		end          gates.End
		out, err     int
	}{
		{"exactly the limit", half + "a; " + half + "b", gates.Exited, evidence.MaxOutput, 0},
		{"exactly the limit on both", half + "a; " + half + "b >&2", gates.Exited, evidence.MaxOutput / 2, evidence.MaxOutput / 2},
		{"one more", half + "a; " + half + "b >&2; printf x", gates.Overflowed, 0, 0},
		{"one more, then status 0", half + "a; " + half + "b; printf x; exit 0", gates.Overflowed, 0, 0},
		{"endless", "yes", gates.Overflowed, 0, 0},
		{"endless on both", "yes & yes >&2", gates.Overflowed, 0, 0},
		{"a gigabyte", "head -c 1000000000 /dev/zero", gates.Overflowed, 0, 0},
	}
	for name, cfg := range backends() {
		r := newRunner(t, cfg)
		for _, tt := range tests {
			t.Run(name+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				got := r.Exec(context.Background(), command(t, tt.script))
				if got.End != tt.end || len(got.Stdout) != tt.out || len(got.Stderr) != tt.err {
					t.Errorf("End %v, %d and %d bytes (%v); want %v, %d and %d",
						got.End, len(got.Stdout), len(got.Stderr), got.Err, tt.end, tt.out, tt.err)
				}
				if len(got.Tail) != TailSize {
					t.Errorf("tail of %d bytes", len(got.Tail))
				}
			})
		}
	}
}

func TestTailInterleaves(t *testing.T) {
	t.Parallel()
	for name, cfg := range backends() {
		r := newRunner(t, cfg)
		c := command(t, "for i in 1 2 3 4; do echo out$i; sleep 0.05; echo err$i >&2; sleep 0.05; done")
		got := r.Exec(context.Background(), c)
		want := "out1\nerr1\nout2\nerr2\nout3\nerr3\nout4\nerr4\n"
		if string(got.Tail) != want {
			t.Errorf("%s: tail %q, want %q", name, got.Tail, want)
		}
	}
}

func TestTailIsTheEnd(t *testing.T) {
	t.Parallel()
	for name, cfg := range backends() {
		r := newRunner(t, cfg)
		got := r.Exec(context.Background(), command(t, "seq 1 60000; sleep 0.1; echo last >&2"))
		if !strings.HasSuffix(string(got.Tail), "59999\n60000\nlast\n") || len(got.Tail) != TailSize {
			t.Errorf("%s: %v, tail of %d bytes ends in %q", name, got.End, len(got.Tail), got.Tail[max(0, len(got.Tail)-20):])
		}
	}
}

func TestInterruption(t *testing.T) {
	t.Parallel()
	for name, cfg := range backends() {
		r := newRunner(t, cfg)
		t.Run(name+"/before", func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			if got := r.Exec(ctx, command(t, "true")); got.End != gates.Interrupted {
				t.Errorf("End = %v", got.End)
			}
		})
		t.Run(name+"/while it runs", func(t *testing.T) {
			t.Parallel()
			c := command(t, "echo here; : > started; sleep 60")
			ctx := cancelWhen(t, filepath.Join(c.Dir, "started"))
			got := r.Exec(ctx, c)
			if got.End != gates.Interrupted || string(got.Stdout) != "here\n" {
				t.Errorf("End = %v, stdout %q, %v", got.End, got.Stdout, got.Err)
			}
			if after := r.Exec(context.Background(), command(t, "echo after")); string(after.Stdout) != "after\n" {
				t.Errorf("the next check: %+v", after)
			}
		})
		t.Run(name+"/TERM is ignored", func(t *testing.T) {
			t.Parallel()
			c := command(t, "trap '' TERM; : > started; while :; do sleep 1; done")
			ctx := cancelWhen(t, filepath.Join(c.Dir, "started"))
			if got := r.Exec(ctx, c); got.End != gates.Interrupted {
				t.Errorf("End = %v, %v", got.End, got.Err)
			}
		})
		t.Run(name+"/while it waits for a slot", func(t *testing.T) {
			t.Parallel()
			r := newRunner(t, Config{Jobs: 1, Helper: cfg.Helper})
			c := command(t, ": > started; sleep 60")
			ctx := cancelWhen(t, filepath.Join(c.Dir, "started"))
			first := make(chan gates.Result)
			go func() { first <- r.Exec(ctx, c) }()
			waitForFile(t, filepath.Join(c.Dir, "started"))
			if got := r.Exec(ctx, command(t, "true")); got.End != gates.Interrupted {
				t.Errorf("waiting: End = %v", got.End)
			}
			if got := <-first; got.End != gates.Interrupted {
				t.Errorf("running: End = %v", got.End)
			}
		})
	}
}

// cancelWhen returns a context that ends soon after the file is there.
func cancelWhen(t *testing.T, path string) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(path); err == nil {
				time.Sleep(20 * time.Millisecond)
				cancel()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	return ctx
}

func waitForFile(t testing.TB, path string) {
	t.Helper()
	for range 20000 {
		if _, err := os.Stat(path); err == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("%s did not appear", path)
}

func TestTimeoutAndExitAtOnce(t *testing.T) {
	t.Parallel()
	// The check ends about when its time is up: whatever is decided, it is one thing.
	for name, cfg := range backends() {
		r := newRunner(t, cfg)
		for i := range 30 {
			c := command(t, "sleep 0.03; echo done")
			c.Timeout = 30*time.Millisecond + time.Duration(i)*200*time.Microsecond
			got := r.Exec(context.Background(), c)
			switch got.End {
			case gates.Exited:
				if got.Code != 0 || string(got.Stdout) != "done\n" {
					t.Errorf("%s: exited %d with %q", name, got.Code, got.Stdout)
				}
			case gates.TimedOut:
				if got.Code != 0 || got.Signal != 0 {
					t.Errorf("%s: timed out with %+v", name, got)
				}
			default:
				t.Errorf("%s: %+v", name, got)
			}
		}
	}
}

func TestConcurrentChecks(t *testing.T) {
	t.Parallel()
	for name, cfg := range backends() {
		cfg.Jobs = 4
		r := newRunner(t, cfg)
		results := make(chan error)
		const n = 60
		for i := range n {
			go func() {
				c := command(t, `echo "$N"; echo "$N" >&2; exit $N`)
				c.Env = append(c.Env, "N="+string(rune('0'+i%10)))
				got := r.Exec(context.Background(), c)
				want := string(rune('0'+i%10)) + "\n"
				if got.Code != i%10 || string(got.Stdout) != want || string(got.Stderr) != want {
					results <- errors.New(name + ": mixed up: " + string(got.Stdout))
					return
				}
				results <- nil
			}()
		}
		for range n {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]Config{
		"no jobs":         {Now: time.Now},
		"too many jobs":   {Jobs: MaxJobs + 1, Now: time.Now},
		"no clock":        {Jobs: 1},
		"relative helper": {Jobs: 1, Now: time.Now, Helper: []string{"gatesworn"}},
		"user, no helper": {Jobs: 1, Now: time.Now, User: &User{1, 1}},
		"root":            {Jobs: 1, Now: time.Now, Helper: []string{"/bin/true"}, User: &User{0, 1}},
	} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	for name, cfg := range backends() {
		r := newRunner(t, cfg)
		want := map[string]string{"group": ByGroup, "slots": BySlots}[name]
		if r.Containment() != want {
			t.Errorf("%s: containment %q", name, r.Containment())
		}
		r.Exec(context.Background(), command(t, "true"))
		r.Close()
		if got := r.Exec(context.Background(), command(t, "true")); !errors.Is(got.Err, ErrClosed) {
			t.Errorf("%s: %+v", name, got)
		}
		r.Close()
	}
}

// Not parallel: a lost helper is swept up after, and what other tests start in
// sessions of their own would look as if it had come from it.
func TestBrokenHelper(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("slots need Linux")
	}
	for name, argv := range map[string][]string{
		"missing":  {"/no/such/program"},
		"ends":     {"/bin/true"},
		"babbles":  {"/bin/echo", "hello"},
		"no slots": {"/bin/sh", "-c", "printf 'XXXXXXXXXX' >&0"},
	} {
		r := newRunner(t, Config{Helper: argv})
		got := r.Exec(context.Background(), command(t, "true"))
		if got.End != gates.NotStarted || !errors.Is(got.Err, ErrHelper) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
