package ledger

import (
	"fmt"
	"strings"
)

// finishNeeds checks that every NEEDS names a gate of this file and that no
// gate waits for itself.
func (p *scan) finishNeeds() {
	any := false
	for i := range p.doc.Gates {
		g := &p.doc.Gates[i]
		for _, id := range g.Needs {
			any = true
			if _, known := p.ids[id]; known || !validID(id) {
				continue
			}
			p.add(p.needs[i], Finding{
				Rule: "needs-unknown", Gate: g.ID,
				Message: fmt.Sprintf("NEEDS names %s, which is no gate of this file", id),
			})
		}
	}
	if any {
		p.findCycles()
	}
}

// findCycles walks the needs depth first without recursion: a chain may be as
// long as the file.
func (p *scan) findCycles() {
	const (
		unseen = iota
		open
		done
	)
	state := make([]uint8, len(p.doc.Gates))
	type step struct{ gate, next int }
	var path []step
	for root := range p.doc.Gates {
		if state[root] != unseen {
			continue
		}
		path = append(path[:0], step{gate: root})
		state[root] = open
		for len(path) > 0 {
			top := &path[len(path)-1]
			g := &p.doc.Gates[top.gate]
			if top.next == len(g.Needs) {
				state[top.gate] = done
				path = path[:len(path)-1]
				continue
			}
			need, known := p.ids[g.Needs[top.next]]
			top.next++
			if !known || need == top.gate {
				continue // reported already
			}
			switch state[need] {
			case unseen:
				state[need] = open
				path = append(path, step{gate: need})
			case open:
				gates := make([]int, 0, len(path))
				for _, s := range path {
					gates = append(gates, s.gate)
				}
				p.cycle(gates, need)
			}
		}
	}
}

// cycle reports a circle: the part of the path from the gate that it closes on.
func (p *scan) cycle(path []int, closes int) {
	i := len(path) - 1
	for path[i] != closes {
		i--
	}
	names := make([]string, 0, len(path)-i+1)
	for _, g := range path[i:] {
		names = append(names, p.doc.Gates[g].ID)
	}
	if len(names) > 12 {
		names = append(names[:8], "…", names[len(names)-1])
	}
	names = append(names, p.doc.Gates[closes].ID)
	p.add(p.needs[closes], Finding{
		Rule: "needs-cycle", Gate: p.doc.Gates[closes].ID,
		Message: "NEEDS goes in a circle: " + strings.Join(names, " → "),
	})
}
