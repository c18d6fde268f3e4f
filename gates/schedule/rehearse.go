package schedule

// Limits of the rehearsals in New: tasks looked at in all of them together, which
// takes a few milliseconds, and the number of them in a small run. Where a single
// one would take that long there is none.
const (
	rehearsalCost = 20_000
	maxRehearsals = 64
)

// improve tries other orders where a list in order of priority can be far from the
// best: needs and conflicts together can make a task that is first in the list
// block what the run really waits for. An order replaces the first one only if
// the expected times say that the run ends earlier. The tries are the same every time.
func (q *Queue) improve(expected []int64, bound int64) {
	if 8*len(q.tasks) > rehearsalCost {
		return
	}
	q.looked = 0
	shortest, _ := q.rehearse(expected)
	best := make([]int64, len(q.tasks))
	for i := range q.tasks {
		best[i] = q.tasks[i].priority
	}
	first := append([]int64(nil), best...)
	for try := 0; try < maxRehearsals && q.looked < rehearsalCost && shortest > bound+bound/64; try++ {
		from := first
		if try%2 == 1 {
			from = best
		}
		for i := range q.tasks {
			q.tasks[i].priority = from[i]/1024*(512+mix(try, i)%1024) + 1
			if try%4 == 3 { // an order that has nothing to do with the first
				q.tasks[i].priority = mix(try, i)
			}
		}
		if took, _ := q.rehearse(expected); took < shortest {
			shortest = took
			for i := range q.tasks {
				best[i] = q.tasks[i].priority
			}
		}
	}
	for i := range q.tasks {
		q.tasks[i].priority = best[i]
	}
}

// mix returns a number that looks random and is the same for the same arguments
// (the finaliser of splitmix64).
func mix(try, task int) int64 {
	z := uint64(try)<<32 + uint64(task) + 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int64((z ^ z>>31) >> 1)
}

// rehearse returns how long the run would take if every task took its expected
// time and were met, and how many would run. It leaves the queue as it was.
func (q *Queue) rehearse(expected []int64) (took int64, ran int) {
	q.restart()
	type active struct {
		task int
		end  int64
	}
	var now int64
	var on []active
	for {
		for {
			i, ok := q.Next()
			if !ok {
				break
			}
			on = append(on, active{i, now + expected[i]})
		}
		if len(on) == 0 {
			q.restart()
			return now, ran
		}
		first := 0
		for k, a := range on {
			if a.end < on[first].end || a.end == on[first].end && a.task < on[first].task {
				first = k
			}
		}
		now = on[first].end
		ran++
		q.Done(on[first].task, true)
		on[first] = on[len(on)-1]
		on = on[:len(on)-1]
	}
}

// restart makes every task wait again. Nothing must be running.
func (q *Queue) restart() {
	q.ready = q.ready[:0]
	for i := range q.tasks {
		t := &q.tasks[i]
		t.status, t.open = waiting, len(t.needs)
		if q.hold.on && q.hold.task == i {
			t.open++
		}
		if t.open == 0 {
			q.enqueue(i)
		}
	}
}
