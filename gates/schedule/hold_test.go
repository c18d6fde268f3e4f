package schedule

import (
	"testing"
	"time"
)

// A reader that is ready at once would keep what everything waits for from its
// lock. It is held back only if all times are known, and whatever becomes of the
// task it waits for, it runs.
func TestHoldBack(t *testing.T) {
	t.Parallel()
	took := []int64{1, 20, 20, 20}
	const key, long, last, reader = 0, 1, 2, 3
	lay := func(known bool) []Task {
		tasks := []Task{key: {}, long: {Needs: []int{key}, Writes: []string{"@d"}}, last: {Needs: []int{long}}, reader: {Reads: []string{"@d"}}}
		for i := range tasks {
			if known || i != last {
				tasks[i].Expected = time.Duration(took[i])
			}
		}
		return tasks
	}
	for _, c := range []struct {
		name    string
		known   bool
		fails   map[int]bool
		ran     int
		longest int64
	}{
		{"held", true, nil, 4, 41},
		{"a time is unknown", false, nil, 4, 60},
		{"what it waits for fails", true, map[int]bool{long: true}, 3, 41},
		{"what it waits for is blocked", true, map[int]bool{key: true}, 2, 21},
	} {
		spans, blocked := simulate(lay(c.known), 3, took, c.fails)
		if err := wrong(lay(c.known), 3, c.fails, spans, blocked); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if len(spans) != c.ran || makespan(spans) != c.longest {
			t.Errorf("%s: %d ran in %d, want %d in %d", c.name, len(spans), makespan(spans), c.ran, c.longest)
		}
	}
	q := New(lay(true), 3)
	q.Block(key)
	started := map[int]bool{}
	for i, ok := q.Next(); ok; i, ok = q.Next() {
		started[i] = true
	}
	if len(started) != 1 || !started[reader] {
		t.Errorf("started %v, want the reader", started)
	}
}
