package schedule

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Groups returns a group number for every task: tasks that need each other or
// conflict, directly or through others, share one. Groups are numbered in the
// order of their first task. Cost is linear in the patterns' total length, however
// many conflicts there are. Needs out of range are ignored.
func Groups(tasks []Task) []int {
	u := make(union, len(tasks))
	for i := range u {
		u[i] = i
	}
	places := map[string]*spot{}
	for i, t := range tasks {
		for _, n := range t.Needs {
			if n >= 0 && n < len(tasks) {
				u.join(i, n)
			}
		}
		for _, p := range t.Reads {
			at(places, p).readers = append(at(places, p).readers, i)
		}
		for _, p := range t.Writes {
			at(places, p).writers = append(at(places, p).writers, i)
		}
	}
	for key, pl := range places {
		for up, ok := key, true; ok; up, ok = parent(up) {
			if above := places[up]; above != nil {
				u.conflict(pl, above)
			}
		}
	}
	return u.numbers()
}

// spot is a literal prefix and who reads or writes what it may name.
type spot struct{ readers, writers []int }

// at finds the place of a pattern: "" is the whole tree, a resource is a place
// beside it.
func at(places map[string]*spot, pattern string) *spot {
	key := pattern
	if !isResource(pattern) {
		key = "/" + strings.Join(literal(pattern), "/")
	}
	if places[key] == nil {
		places[key] = &spot{}
	}
	return places[key]
}

// parent is the place above. Resources have none.
func parent(key string) (string, bool) {
	if isResource(key) || key == "/" {
		return "", false
	}
	i := strings.LastIndexByte(key, '/')
	if i == 0 {
		return "/", true
	}
	return key[:i], true
}

// union is a forest: every task points at a smaller one of its group, or at itself.
type union []int

func (u union) root(i int) int {
	for u[i] != i {
		u[i] = u[u[i]]
		i = u[i]
	}
	return i
}

func (u union) join(a, b int) {
	if a, b = u.root(a), u.root(b); a > b {
		u[a] = b
	} else {
		u[b] = a
	}
}

// conflict joins who writes one of two overlapping places with who reads or
// writes the other. Lists that are one group by then are cut to one task.
func (u union) conflict(below, above *spot) {
	together := func(writers *[]int, others ...*[]int) {
		if len(*writers) == 0 {
			return
		}
		w := (*writers)[0]
		for _, list := range append(others, writers) {
			for _, i := range *list {
				u.join(w, i)
			}
			if len(*list) > 1 {
				*list = (*list)[:1]
			}
		}
	}
	together(&below.writers, &above.readers, &above.writers)
	together(&above.writers, &below.readers, &below.writers)
}

func (u union) numbers() []int {
	out := make([]int, len(u))
	next := 0
	for i := range u {
		if r := u.root(i); r == i {
			out[i] = next
			next++
		} else {
			out[i] = out[r]
		}
	}
	return out
}

// Balance deals out weights to n parts: the heaviest first, each to the part that
// has least so far, then fewest. It returns each weight's part, from 0. Equal
// weights are dealt in order, so the answer depends on nothing else.
func Balance(weights []time.Duration, n int) []int {
	parts := make([]int, len(weights))
	if n < 1 {
		return parts
	}
	order := make([]int, len(weights))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(weights[b], weights[a]) })
	type load struct {
		sum   time.Duration
		count int
	}
	loads := make([]load, n)
	for _, i := range order {
		best := 0
		for p := 1; p < n; p++ {
			if cmp.Or(cmp.Compare(loads[p].sum, loads[best].sum), cmp.Compare(loads[p].count, loads[best].count)) < 0 {
				best = p
			}
		}
		parts[i] = best
		loads[best].sum += weights[i]
		loads[best].count++
	}
	return parts
}
