package schedule

import (
	"cmp"
	"slices"
	"time"
)

// expectations returns every task's expected time in nanoseconds. One that is not
// known counts as the average of those that are: as likely long as short.
func expectations(tasks []Task) []int64 {
	var sum, known int64
	for _, t := range tasks {
		if t.Expected > 0 {
			sum += int64(min(t.Expected, 24*time.Hour))
			known++
		}
	}
	unknown := int64(time.Second)
	if known > 0 {
		unknown = max(sum/known, 1)
	}
	out := make([]int64, len(tasks))
	for i, t := range tasks {
		out[i] = unknown
		if t.Expected > 0 {
			out[i] = int64(min(t.Expected, 24*time.Hour))
		}
	}
	return out
}

// prioritise gives every task the expected time from its start to the end of the
// run that cannot be made shorter: the longest chain of tasks that need it, and
// the sum of those that write the same thing and so take turns. It returns a time
// that no order beats: the longest chain, the longest turns, or all work divided by
// the slots.
func (q *Queue) prioritise(expected []int64) (bound int64) {
	for i := range q.tasks {
		t := &q.tasks[i]
		for _, n := range t.writes {
			if n.parent == nil || !n.parent.isIn(t.writes) { // once along every line
				n.writers += expected[i]
			}
		}
	}
	order := q.topological()
	chain := make([]int64, len(q.tasks))
	work := int64(0)
	for k := len(order) - 1; k >= 0; k-- {
		i := order[k]
		t := &q.tasks[i]
		// Turns of a dependent may be over before it is its turn: they raise a
		// priority, not the bound.
		longest, turns := int64(0), t.turns(expected[i])
		for _, d := range t.dependents {
			longest = max(longest, q.tasks[d].priority)
			chain[i] = max(chain[i], chain[d])
		}
		chain[i] += expected[i]
		work += expected[i]
		t.priority = max(expected[i]+longest, turns)
		bound = max(bound, chain[i], turns)
	}
	return max(bound, work/int64(q.slots))
}

// turns is the time that all writers along one of the task's patterns take
// together.
func (t *task) turns(own int64) int64 {
	longest := int64(0)
	for _, n := range t.writes {
		longest = max(longest, n.writersAbove())
	}
	for _, n := range t.reads {
		if sum := n.writersAbove(); sum > 0 && !n.isIn(t.writes) {
			longest = max(longest, own+sum)
		}
	}
	return longest
}

// isIn reports whether the node or one that it lies in is among the nodes.
func (n *node) isIn(nodes []*node) bool {
	for ; n != nil; n = n.parent {
		if slices.Contains(nodes, n) {
			return true
		}
	}
	return false
}

func (n *node) writersAbove() int64 {
	sum := int64(0)
	for ; n != nil; n = n.parent {
		sum += n.writers
	}
	return sum
}

// topological returns the tasks with every need before what needs it. What lies
// on a circle is left out.
func (q *Queue) topological() []int {
	open := make([]int, len(q.tasks))
	order := make([]int, 0, len(q.tasks))
	for i := range q.tasks {
		if open[i] = q.tasks[i].open; open[i] == 0 {
			order = append(order, i)
		}
	}
	for k := 0; k < len(order); k++ {
		for _, d := range q.tasks[order[k]].dependents {
			if open[d]--; open[d] == 0 {
				order = append(order, d)
			}
		}
	}
	return order
}

func sortBlocked(b []Blocked) {
	slices.SortFunc(b, func(x, y Blocked) int { return cmp.Compare(x.Task, y.Task) })
}
