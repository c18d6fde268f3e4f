package schedule

// maxHeld is the largest number of tasks for which holding one back is considered:
// every pair of them is rehearsed.
const maxHeld = 16

// hold keeps one task from starting before another has ended, without being a need.
// The zero value holds nothing.
type hold struct {
	on          bool
	task, until int
}

// holdBack looks for a task that had better wait although a slot is free: it would
// take a lock, or the last slot, from what the run really waits for. Expected times
// are a weak reason to leave a slot empty, so the run has to end by a fifth earlier.
func (q *Queue) holdBack(expected []int64, bound int64) {
	if len(q.tasks) > maxHeld {
		return
	}
	shortest, all := q.rehearse(expected)
	if shortest <= bound+bound/5 {
		return
	}
	shortest -= shortest / 5
	var best hold
	for task := range q.tasks {
		for until := range q.tasks {
			if task == until {
				continue
			}
			q.hold = hold{true, task, until}
			// Where one leads back to the other, neither would run.
			if took, ran := q.rehearse(expected); ran == all && took < shortest {
				shortest, best = took, q.hold
			}
		}
	}
	q.hold = best
}

// followers are the tasks that wait for the end of task i.
func (q *Queue) followers(i int) []int {
	all := q.tasks[i].dependents
	if q.hold.on && q.hold.until == i {
		all = append(all[:len(all):len(all)], q.hold.task)
	}
	return all
}
