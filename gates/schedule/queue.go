package schedule

import (
	"slices"
	"time"
)

// Task is one check to schedule.
type Task struct {
	Needs         []int         // numbers of the tasks that must be met before
	Reads, Writes []string      // path patterns relative to the top, or @name
	Expected      time.Duration // as last recorded, 0 when unknown
}

// Blocked is a task that will not run, and the first of its needs, in written
// order, that is not met.
type Blocked struct{ Task, Need int }

// Queue hands out tasks as slots free up. It is not safe for concurrent use: one
// loop asks it and tells it what ended.
type Queue struct {
	tasks   []task
	ready   heap
	slots   int
	running int
	looked  int // candidates that Next took in hand, a measure of cost
	hold    hold
}

type status int

const (
	waiting status = iota // for needs
	ready
	running
	met
	unmet // ended, or taken out
)

type task struct {
	status        status
	needs         []int // in written order
	open          int   // needs that are not settled
	dependents    []int
	reads, writes []*node
	priority      int64
}

// New makes a queue over the tasks with that many slots. A task whose needs are
// out of range or lead back to it never starts. Cost is n log n for n tasks, in
// all calls together, however many conflicts there are.
//
// With one slot tasks start in their order as far as needs allow it. With more,
// the one with the longest expected way to the end goes first (see priorities);
// without needs and conflicts that is the longest expected first, ties in order.
// A slot stays empty while a task could start only where that is expected to end
// a small run much earlier (see holdBack).
func New(tasks []Task, slots int) *Queue {
	q := &Queue{tasks: make([]task, len(tasks)), slots: slots}
	l := newLocks()
	bound := false // by needs or conflicts
	for i, in := range tasks {
		t := &q.tasks[i]
		t.needs = in.Needs
		t.reads, t.writes = l.find(in.Reads), l.find(in.Writes)
		bound = bound || len(t.needs)+len(t.writes) > 0
		for _, need := range in.Needs {
			if need >= 0 && need < len(tasks) {
				q.tasks[need].dependents = append(q.tasks[need].dependents, i)
			}
		}
	}
	q.restart()
	if slots > 1 {
		expected := expectations(tasks)
		atLeast := q.prioritise(expected)
		if bound {
			q.improve(expected, atLeast)
			if !slices.ContainsFunc(tasks, func(t Task) bool { return t.Expected <= 0 }) {
				q.holdBack(expected, atLeast)
			}
		}
		q.restart()
	}
	return q
}

// Next returns a task to start now, or false if none may start before another
// ends. If nothing is running and it returns false, nothing will ever start.
func (q *Queue) Next() (int, bool) {
	for q.running < q.slots && len(q.ready) > 0 {
		c := q.ready.pop()
		q.looked++
		from := c.from
		if from != nil {
			from.offered, c.from = false, nil
		}
		t := &q.tasks[c.task]
		started := false
		if t.status == ready {
			if w := t.blocker(); w != nil {
				w.waiting.push(c)
			} else {
				t.status, started = running, true
				q.running++
				t.acquire()
			}
		}
		if from != nil {
			q.offer(from)
		}
		if started {
			return c.task, true
		}
	}
	return 0, false
}

// Done tells how a running task ended and returns the tasks that will not run
// because of it, directly or not, in their order. A task is reported once all its
// needs are settled, so that the need it names does not depend on which ended first.
func (q *Queue) Done(i int, isMet bool) []Blocked {
	if i < 0 || i >= len(q.tasks) || q.tasks[i].status != running {
		return nil
	}
	q.running--
	q.tasks[i].release(q.offer)
	if isMet {
		q.tasks[i].status = met
	} else {
		q.tasks[i].status = unmet
	}
	return q.settle(i)
}

// Block takes a task that has not started out of the queue, as not met, and
// returns what will not run because of it, as Done does.
func (q *Queue) Block(i int) []Blocked {
	if i < 0 || i >= len(q.tasks) || q.tasks[i].status > ready {
		return nil
	}
	q.tasks[i].status = unmet
	return q.settle(i)
}

// Left is the number of tasks that have neither ended nor been blocked.
func (q *Queue) Left() int {
	n := 0
	for i := range q.tasks {
		if q.tasks[i].status < met {
			n++
		}
	}
	return n
}

// settle passes on that task i is met or not.
func (q *Queue) settle(i int) []Blocked {
	var out []Blocked
	for todo := []int{i}; len(todo) > 0; todo = todo[1:] {
		for _, d := range q.followers(todo[0]) {
			t := &q.tasks[d]
			t.open--
			if t.open > 0 || t.status != waiting {
				continue
			}
			if need, ok := q.firstUnmet(t); ok {
				t.status = unmet
				out = append(out, Blocked{Task: d, Need: need})
				todo = append(todo, d)
			} else {
				q.enqueue(d)
			}
		}
	}
	sortBlocked(out)
	return out
}

func (q *Queue) firstUnmet(t *task) (int, bool) {
	for _, need := range t.needs {
		if q.tasks[need].status != met {
			return need, true
		}
	}
	return 0, false
}

func (q *Queue) enqueue(i int) {
	t := &q.tasks[i]
	t.status = ready
	q.ready.push(candidate{task: i, priority: t.priority})
}

// offer puts a free list's first waiter among the candidates, unless one is there.
func (q *Queue) offer(w *waitlist) {
	if w.held > 0 || w.offered || len(w.waiting) == 0 {
		return
	}
	c := w.waiting.pop()
	c.from, w.offered = w, true
	q.ready.push(c)
}
