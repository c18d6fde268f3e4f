package schedule

// candidate is a task that is ready as far as its needs go.
type candidate struct {
	task     int
	priority int64
	from     *waitlist // whose first waiter it was, or nil
}

// before orders candidates: the longest expected first, then by number.
func (a candidate) before(b candidate) bool {
	if a.priority != b.priority {
		return a.priority > b.priority
	}
	return a.task < b.task
}

// heap is a binary heap with the first candidate at its root.
type heap []candidate

func (h *heap) push(c candidate) {
	s := append(*h, c)
	i := len(s) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !s[i].before(s[up]) {
			break
		}
		s[i], s[up] = s[up], s[i]
		i = up
	}
	*h = s
}

func (h *heap) pop() candidate {
	s := *h
	first := s[0]
	last := len(s) - 1
	s[0] = s[last]
	s = s[:last]
	for i := 0; ; {
		next := i
		for _, child := range [...]int{2*i + 1, 2*i + 2} {
			if child < last && s[child].before(s[next]) {
				next = child
			}
		}
		if next == i {
			break
		}
		s[i], s[next] = s[next], s[i]
		i = next
	}
	*h = s
	return first
}
