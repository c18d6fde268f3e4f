package schedule

// locks knows what the running tasks read and write. Since patterns overlap
// exactly if the literal part of one is a prefix of the other's, they form a
// tree, and a conflict is looked for on the way up and in one count: no pair of
// patterns is ever compared.
type locks struct {
	paths     *node
	resources *node // @names, each a child of its own
}

// node is one literal prefix.
type node struct {
	parent   *node
	children map[string]*node
	counts   [kinds]waitlist
	writers  int64 // expected time of all tasks that write exactly this
}

// What running tasks hold: this very pattern, or this one and any below it.
const (
	writeSelf = iota
	readSelf
	writeBelow
	readBelow
	kinds
)

// waitlist counts the running tasks that hold something, and keeps those that
// wait for the count to become zero. At most its first waiter is offered to the
// queue at a time: when that one holds it again, the others were never touched.
type waitlist struct {
	held    int
	waiting heap
	offered bool
}

func newLocks() *locks {
	return &locks{paths: &node{}, resources: &node{}}
}

// find returns the nodes of the patterns, each once.
func (l *locks) find(patterns []string) []*node {
	var nodes []*node
	var seen map[*node]bool
	if len(patterns) > 1 {
		seen = map[*node]bool{}
	}
	for _, p := range patterns {
		n := l.paths
		if isResource(p) {
			n = l.resources.child(p)
		} else {
			for _, segment := range literal(p) {
				n = n.child(segment)
			}
		}
		if seen[n] {
			continue
		}
		if seen != nil {
			seen[n] = true
		}
		nodes = append(nodes, n)
	}
	return nodes
}

func (n *node) child(name string) *node {
	c := n.children[name]
	if c == nil {
		if n.children == nil {
			n.children = map[string]*node{}
		}
		c = &node{parent: n}
		n.children[name] = c
	}
	return c
}

// blocker returns a list that has to be empty before the task may start, or nil.
func (t *task) blocker() *waitlist {
	for _, n := range t.writes {
		if w := n.held(writeBelow, readBelow, writeSelf, readSelf); w != nil {
			return w
		}
	}
	for _, n := range t.reads {
		if w := n.held(writeBelow, writeBelow, writeSelf, writeSelf); w != nil {
			return w
		}
	}
	return nil
}

// held looks for two kinds here and two in what this node lies in.
func (n *node) held(here, here2, above, above2 int) *waitlist {
	for _, k := range [...]int{here, here2} {
		if n.counts[k].held > 0 {
			return &n.counts[k]
		}
	}
	for a := n.parent; a != nil; a = a.parent {
		for _, k := range [...]int{above, above2} {
			if a.counts[k].held > 0 {
				return &a.counts[k]
			}
		}
	}
	return nil
}

func (t *task) acquire() { t.hold(1, func(*waitlist) {}) }

// release gives everything back; freed is called for each list that became empty.
func (t *task) release(freed func(*waitlist)) { t.hold(-1, freed) }

func (t *task) hold(by int, freed func(*waitlist)) {
	add := func(n *node, self, below int) {
		n.counts[self].add(by, freed)
		for ; n != nil; n = n.parent {
			n.counts[below].add(by, freed)
		}
	}
	for _, n := range t.writes {
		add(n, writeSelf, writeBelow)
	}
	for _, n := range t.reads {
		add(n, readSelf, readBelow)
	}
}

func (w *waitlist) add(by int, freed func(*waitlist)) {
	w.held += by
	if w.held == 0 {
		freed(w)
	}
}
