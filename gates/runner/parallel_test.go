package runner

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/gates/schedule"
)

// Conflicting checks never overlap in time, shown by the processes themselves: a
// writer makes a folder for what it writes and fails if somebody else's is there;
// a reader fails if a writer's is. Each check also fails if its need has not ended.
func TestConflictingChecksNeverOverlap(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts hundreds of processes")
	}
	for name, cfg := range backends() {
		cfg.Jobs = 4
		r := newRunner(t, cfg)
		dir := t.TempDir()
		var tasks []schedule.Task
		var scripts []string
		for i := range 80 {
			task := schedule.Task{}
			script := []string{"set -e"}
			if i >= 10 && i%3 == 0 {
				need := i/2 - 1
				task.Needs = []int{need}
				script = append(script, fmt.Sprintf("test -e done-%d", need))
			}
			switch what := fmt.Sprint("r", i%5); i % 4 {
			case 0, 1:
				task.Writes = []string{"@" + what}
				script = append(script, "mkdir w-"+what, "! ls -d u-"+what+"-* 2>/dev/null", "sleep 0.02", "rmdir w-"+what)
			case 2:
				task.Reads = []string{"@" + what}
				script = append(script, fmt.Sprintf("mkdir u-%s-%d", what, i), "! test -e w-"+what, "sleep 0.02", fmt.Sprintf("rmdir u-%s-%d", what, i))
			}
			tasks = append(tasks, task)
			scripts = append(scripts, strings.Join(append(script, fmt.Sprintf(": > done-%d", i)), "\n"))
		}
		runScheduled(t, r, dir, cfg.Jobs, tasks, scripts)
		if left, err := filepath.Glob(filepath.Join(dir, "done-*")); err != nil || len(left) != len(tasks) {
			t.Errorf("%s: %d of %d ran, %v", name, len(left), len(tasks), err)
		}
	}
}

func runScheduled(t *testing.T, r *Runner, dir string, jobs int, tasks []schedule.Task, scripts []string) {
	t.Helper()
	type ended struct {
		task   int
		result gates.Result
	}
	q := schedule.New(tasks, jobs)
	results := make(chan ended)
	running := 0
	for {
		if i, ok := q.Next(); ok {
			running++
			go func() {
				c := command(t, scripts[i])
				c.Dir = dir
				results <- ended{i, r.Exec(context.Background(), c)}
			}()
			continue
		}
		if running == 0 {
			return
		}
		e := <-results
		running--
		if e.result.End != gates.Exited || e.result.Code != 0 {
			t.Errorf("%d: %v %d %v\n%s%s", e.task, e.result.End, e.result.Code, e.result.Err, scripts[e.task], e.result.Stderr)
		}
		q.Done(e.task, e.result.Code == 0)
	}
}

func TestConcurrentClose(t *testing.T) {
	t.Parallel()
	for _, cfg := range backends() {
		cfg.Jobs = 8
		r := newRunner(t, cfg)
		r.Exec(context.Background(), command(t, "true"))
		done := make(chan bool)
		for range 4 {
			go func() { r.Close(); done <- true }()
		}
		for range 4 {
			<-done
		}
	}
}
