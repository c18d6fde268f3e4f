package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// span is when a task ran in a simulation.
type span struct {
	task       int
	start, end int64
}

// simulate runs the queue with tasks that take took[i], and returns what ran and
// what was blocked. A task in fails is not met.
func simulate(tasks []Task, slots int, took []int64, fails map[int]bool) (spans []span, blocked []Blocked) {
	q := New(tasks, slots)
	var now int64
	var active []span
	for {
		for {
			i, ok := q.Next()
			if !ok {
				break
			}
			active = append(active, span{i, now, now + took[i]})
		}
		if len(active) == 0 {
			return spans, blocked
		}
		first := 0
		for k, s := range active {
			if s.end < active[first].end || s.end == active[first].end && s.task < active[first].task {
				first = k
			}
		}
		s := active[first]
		active = slices.Delete(active, first, first+1)
		now = s.end
		spans = append(spans, s)
		blocked = append(blocked, q.Done(s.task, !fails[s.task])...)
	}
}

// conflict is the rule of the design, pair by pair.
func conflict(a, b Task) bool {
	touch := func(ws, xs []string) bool {
		for _, w := range ws {
			for _, x := range xs {
				if Overlap(w, x) {
					return true
				}
			}
		}
		return false
	}
	return touch(a.Writes, b.Writes) || touch(a.Writes, b.Reads) || touch(b.Writes, a.Reads)
}

// clashes is conflict for every pair.
func clashes(tasks []Task) [][]bool {
	clash := make([][]bool, len(tasks))
	for i := range tasks {
		clash[i] = make([]bool, len(tasks))
		for j := range i {
			clash[i][j] = conflict(tasks[i], tasks[j])
			clash[j][i] = clash[i][j]
		}
	}
	return clash
}

// wrong checks a simulation against the rules, independently of the queue.
func wrong(tasks []Task, slots int, fails map[int]bool, spans []span, blocked []Blocked) error {
	ran := map[int]span{}
	for _, s := range spans {
		if _, twice := ran[s.task]; twice {
			return fmt.Errorf("%d ran twice", s.task)
		}
		ran[s.task] = s
	}
	lost := map[int]int{}
	for _, b := range blocked {
		lost[b.Task] = b.Need
	}
	met := func(i int) bool { _, ok := ran[i]; return ok && !fails[i] }
	for i, t := range tasks {
		firstUnmet := -1
		for _, need := range t.Needs {
			if !met(need) && firstUnmet < 0 {
				firstUnmet = need
			}
			if s, ok := ran[i]; ok && s.start < ran[need].end {
				return fmt.Errorf("%d started before %d ended", i, need)
			}
		}
		_, started := ran[i]
		need, isBlocked := lost[i]
		if started == isBlocked || isBlocked && need != firstUnmet || started && firstUnmet >= 0 {
			return fmt.Errorf("%d: ran %v, blocked %v by %d, first unmet need %d", i, started, isBlocked, need, firstUnmet)
		}
	}
	clash := clashes(tasks)
	for i, a := range spans {
		together := 0
		for j, b := range spans {
			if b.start <= a.start && a.start < b.end {
				if together++; i != j && a.end > a.start && clash[a.task][b.task] {
					return fmt.Errorf("%d and %d overlap", a.task, b.task)
				}
			}
		}
		if together > slots {
			return fmt.Errorf("%d at a time", together)
		}
	}
	return nil
}

func makespan(spans []span) int64 {
	var last int64
	for _, s := range spans {
		last = max(last, s.end)
	}
	return last
}

// lowerBound is a time that no schedule beats: the critical path, the work over
// all slots, and what has to take turns because each two of it conflict.
func lowerBound(tasks []Task, slots int, took []int64) int64 {
	path := make([]int64, len(tasks))
	var longest, work int64
	for i, t := range tasks { // needs have smaller numbers in simulations
		for _, need := range t.Needs {
			path[i] = max(path[i], path[need])
		}
		path[i] += took[i]
		longest, work = max(longest, path[i]), work+took[i]
	}
	return max(longest, (work+int64(slots)-1)/int64(slots), turns(tasks, took))
}

// turns is the longest time of tasks that conflict pairwise, as a greedy search
// from every task finds them.
func turns(tasks []Task, took []int64) int64 {
	order := make([]int, len(tasks))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(took[b], took[a]) })
	clash := clashes(tasks)
	var longest int64
	for _, first := range order {
		group, sum := []int{first}, took[first]
		for _, i := range order {
			if i != first && !slices.ContainsFunc(group, func(j int) bool { return !clash[i][j] }) {
				group, sum = append(group, i), sum+took[i]
			}
		}
		longest = max(longest, sum)
	}
	return longest
}

// best is the makespan of an optimal schedule, by trying every order in which the
// tasks can be placed, each as early as its needs, conflicts and slots allow. One
// of these is optimal.
func best(tasks []Task, slots int, took []int64) int64 {
	n := len(tasks)
	clash := clashes(tasks)
	bestSoFar := int64(1) << 62
	bound := lowerBound(tasks, slots, took)
	var placed []span
	var try func(done int, ended []int64, last int64)
	try = func(done int, ended []int64, last int64) {
		if last >= bestSoFar || bestSoFar == bound {
			return
		}
		if len(placed) == n {
			bestSoFar = last
			return
		}
		for i := range tasks {
			earliest := int64(0)
			ok := done&(1<<i) == 0
			for _, need := range tasks[i].Needs {
				ok = ok && done&(1<<need) != 0
				earliest = max(earliest, ended[need])
			}
			if !ok {
				continue
			}
			start := place(placed, clash[i], earliest, took[i], slots)
			placed = append(placed, span{i, start, start + took[i]})
			ended[i] = start + took[i]
			try(done|1<<i, ended, max(last, ended[i]))
			placed = placed[:len(placed)-1]
		}
	}
	try(0, make([]int64, n), 0)
	return bestSoFar
}

// place returns the earliest start from which a task of that length fits.
func place(placed []span, clash []bool, earliest, took int64, slots int) int64 {
	starts := []int64{earliest}
	for _, p := range placed {
		if p.end > earliest {
			starts = append(starts, p.end)
		}
	}
	slices.Sort(starts)
	for _, s := range starts {
		fits := true
		edges := []int64{s}
		for _, p := range placed {
			if p.start < s+took && s < p.end {
				fits = fits && !clash[p.task]
				edges = append(edges, max(p.start, s))
			}
		}
		for _, e := range edges {
			together := 0
			for _, p := range placed {
				if p.start <= e && e < p.end {
					together++
				}
			}
			fits = fits && together < slots
		}
		if fits {
			return s
		}
	}
	return starts[len(starts)-1]
}

// dice are the choices a random graph is made of.
type dice interface {
	IntN(n int) int
}

// graph makes n random tasks; needs and conflicts are the percentages that have
// some, and names the number of different path segments and resources.
func graph(r dice, n, needs, conflicts, names int) ([]Task, []int64) {
	tasks, took := make([]Task, n), make([]int64, n)
	for i := range tasks {
		took[i] = int64(1 + r.IntN(20))
		if r.IntN(4) == 0 {
			took[i] = int64(20 + r.IntN(100))
		}
		took[i] *= int64(time.Millisecond)
		tasks[i].Expected = time.Duration(took[i])
		if i > 0 && r.IntN(100) < needs {
			for range 1 + r.IntN(3) {
				need := r.IntN(i)
				if !slices.Contains(tasks[i].Needs, need) {
					tasks[i].Needs = append(tasks[i].Needs, need)
				}
			}
		}
		if r.IntN(100) < conflicts {
			tasks[i].Writes = append(tasks[i].Writes, pattern(r, names))
		}
		if r.IntN(100) < conflicts {
			tasks[i].Reads = append(tasks[i].Reads, pattern(r, names))
		}
	}
	return tasks, took
}

func pattern(r dice, names int) string {
	if r.IntN(3) == 0 {
		return "@" + string(rune('a'+r.IntN(names)))
	}
	var parts []string
	for range 1 + r.IntN(3) {
		parts = append(parts, string(rune('a'+r.IntN(names))))
	}
	if r.IntN(8) == 0 {
		parts = append(parts, "**")
	}
	return strings.Join(parts, "/")
}
