package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/gatesworn/gatesworn/gates/schedule"
)

// writer is a gate that writes a resource without saying so.
type writer struct {
	gate *ledger.Gate
	how  string
}

// share warns of gates that write the same obvious thing: with --jobs they would
// get in each other's way. Those that NEEDS puts in order, and those whose READS
// or WRITES names the thing, are left alone.
func (l *linter) share() {
	writers := map[string][]writer{}
	var order []string
	for i := range l.doc.Gates {
		g := &l.doc.Gates[i]
		if g.AbandonedLine > 0 || !g.Runnable() {
			continue
		}
		for _, w := range obvious(g) {
			if declared(g, w.what) {
				continue
			}
			if len(writers[w.what]) == 0 {
				order = append(order, w.what)
			}
			writers[w.what] = append(writers[w.what], writer{gate: g, how: w.how})
		}
	}
	needs := l.needs()
	for _, what := range order {
		all := writers[what]
		first := all[0]
		names := []string{first.gate.ID}
		for _, w := range all[1:] {
			if w.gate.ID != first.gate.ID && !needs.ordered(first.gate.ID, w.gate.ID) {
				names = append(names, w.gate.ID)
			}
		}
		if len(names) < 2 {
			continue
		}
		l.at(first.gate, ledger.Check, sharedWrites,
			fmt.Sprintf("%s write %s (%s): with --jobs they get in each other's way; say so under each", listed(names), short(what, 40), short(first.how, 40)),
			"CHECK: "+first.gate.Check, "WRITES: "+what)
	}
}

// listed joins names, the tail of a long list counted.
func listed(names []string) string {
	if len(names) > 6 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:5], ", "), len(names)-5)
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

func declared(g *ledger.Gate, what string) bool {
	for _, p := range slices.Concat(g.Reads, g.Writes) {
		if schedule.Overlap(p, what) {
			return true
		}
	}
	return false
}

// written is a thing a command writes, as WRITES would name it, and by what.
type written struct{ what, how string }

// installers fill a folder that belongs to all gates.
var installers = map[string][]string{
	"npm": {"ci", "install", "i"}, "pnpm": {"install", "i"}, "yarn": {"install"}, "bun": {"install"},
}

// obvious lists what a gate's commands obviously write.
func obvious(g *ledger.Gate) []written {
	commands, ok := split(g.Check)
	if !ok {
		return nil
	}
	var out []written
	seen := map[string]bool{}
	add := func(what, how string) {
		if what != "" && !seen[what] {
			seen[what] = true
			out = append(out, written{what, how})
		}
	}
	for i := range commands {
		c := &commands[i]
		for _, r := range c.redirects {
			if (r.op == ">" || r.op == ">>" || r.op == ">|") && r.target.literal() {
				add(place(g, r.target.text), r.op+" "+r.target.text)
			}
		}
		var args []string
		for _, w := range c.words[min(1, len(c.words)):] {
			args = append(args, w.text)
		}
		name := c.name()
		switch {
		case slices.Contains(installers[name], first(args)):
			add(place(g, "node_modules"), name+" "+first(args))
		case name == "tee" && len(args) > 0:
			add(place(g, args[len(args)-1]), "tee")
		case name == "rm" && len(args) > 1 && strings.HasPrefix(args[0], "-") && strings.ContainsAny(args[0], "rR"):
			add(place(g, args[1]), "rm "+args[0])
		case name == "docker-compose", name == "docker" && first(args) == "compose":
			add("@docker-compose", "docker compose")
		}
	}
	return out
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// place is a path relative to the top as WRITES names it, or "" for one outside,
// one that is made up at run time, and devices.
func place(g *ledger.Gate, p string) string {
	if p == "" || strings.ContainsAny(p, "\x00*?[]{},\\ ") || strings.HasPrefix(p, "-") || strings.HasPrefix(p, "~") ||
		strings.HasPrefix(p, "/") || strings.HasPrefix(g.CWD, "/") {
		return ""
	}
	p = path.Join(g.CWD, p)
	if p == "." || p == ".." || strings.HasPrefix(p, "../") {
		return ""
	}
	return p
}

// order answers which gates NEEDS puts in order.
type order map[string][]string

func (l *linter) needs() order {
	o := order{}
	for i := range l.doc.Gates {
		if g := &l.doc.Gates[i]; len(g.Needs) > 0 {
			o[g.ID] = g.Needs
		}
	}
	return o
}

// maxWalk bounds the search through NEEDS; beyond it two gates count as ordered.
const maxWalk = 1000

func (o order) ordered(a, b string) bool { return o.reaches(a, b) || o.reaches(b, a) }

func (o order) reaches(from, to string) bool {
	seen := map[string]bool{from: true}
	queue := []string{from}
	for len(queue) > 0 {
		id := queue[0]
		queue = queue[1:]
		for _, n := range o[id] {
			if n == to || len(seen) > maxWalk {
				return true
			}
			if !seen[n] {
				seen[n] = true
				queue = append(queue, n)
			}
		}
	}
	return false
}
