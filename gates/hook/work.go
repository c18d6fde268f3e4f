package hook

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/gatesworn/gatesworn/gates/evidence"
	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/gatesworn/gatesworn/gates/scope"
	"github.com/gatesworn/gatesworn/internal/escape"
	"github.com/gatesworn/gatesworn/internal/safefile"
)

// maxLedger is the size limit of a ledger, in bytes (unlazy).
const maxLedger = 8 << 20

// maxName bounds a gate's name in a reason, in bytes.
const maxName = 40

// work is what is left to do, as the files say.
type work struct {
	items     []item
	met       int // gates
	resolved  int // waves
	abandoned []string
}

// item is one gate, ledger or wave that holds the agent back.
type item struct {
	name    string // GATES:G3, a ledger's path or a wave
	id      string // of a gate
	trouble string // not met, stale, no evidence, …
	person  bool   // the agent cannot do it
	gate    bool
}

func (s Stop) look(ctx context.Context, root string, t scope.Targets) work {
	var w work
	var pages ledger.Pages
	for _, p := range t.Missing {
		w.items = append(w.items, item{name: p, trouble: "is missing"})
	}
	for _, l := range t.Ledgers {
		if ctx.Err() != nil {
			return w
		}
		s.ledger(ctx, &w, &pages, root, l)
	}
	if t.Scope == "" {
		return w
	}
	d, err := scope.Waves(root, t.Scope)
	if err != nil {
		trouble := "cannot be read"
		if errors.Is(err, scope.ErrDispatch) {
			trouble = "is no possible history"
		}
		w.items = append(w.items, item{name: "dispatch.json", trouble: trouble})
		return w
	}
	sum := d.Summary()
	w.resolved = sum.Resolved
	w.abandoned = append(w.abandoned, sum.Abandoned...)
	for _, u := range sum.Unresolved {
		name, trouble, _ := strings.Cut(u, " ")
		w.items = append(w.items, item{name: name, trouble: trouble})
	}
	return w
}

func (s Stop) ledger(ctx context.Context, w *work, pages *ledger.Pages, root string, l scope.Ledger) {
	f, err := safefile.ReadBeneath(root, l.Path, maxLedger)
	if err != nil {
		w.items = append(w.items, item{name: l.Path, trouble: "cannot be read"})
		return
	}
	doc := ledger.Parser{Pages: pages}.Parse(ctx, l.Path, f.Data)
	if !doc.OK() {
		w.items = append(w.items, item{name: fmt.Sprintf("%s:%d", path.Base(l.Path), firstError(doc)), trouble: "cannot be read"})
		return
	}
	if l.Standing {
		return
	}
	for _, g := range doc.Gates {
		name := l.Stem() + ":" + g.ID
		i := item{name: name, id: g.ID, gate: true}
		switch evidence.Judge(g).Claim {
		case evidence.Met:
			w.met++
			continue
		case evidence.Abandoned:
			w.abandoned = append(w.abandoned, name)
			continue
		case evidence.Stale:
			i.trouble = "stale"
		default:
			i.trouble = "not met"
		}
		switch {
		case !g.Runnable():
			i.trouble, i.person = "by hand", true
		case s.NeedsPerson != nil && s.NeedsPerson(root, l.Path, g):
			i.trouble, i.person = "not approved", true
		}
		w.items = append(w.items, i)
	}
}

func firstError(doc *ledger.Document) int {
	for _, f := range doc.Findings {
		if f.Level == ledger.Error {
			return f.Line
		}
	}
	return 0
}

// progress is what counts as progress: gates met and waves resolved, nothing else.
func (w work) progress() string { return fmt.Sprintf("met=%d\x00resolved=%d", w.met, w.resolved) }

// reason says what is open, what to do next and who does it, in MaxReason bytes:
// as many names as fit, people's first.
func (w work) reason(t scope.Targets) string {
	next := "gatesworn check"
	if t.Scope != "" && t.How != scope.Sole {
		next += " --scope " + t.Scope
	}
	count := map[string]int{}
	for _, i := range w.items {
		count[i.id]++
	}
	var people, ours []string
	for _, i := range w.items {
		name := i.id
		if count[i.id] > 1 { // in several ledgers
			name = i.name
		}
		switch {
		case i.person:
			people = append(people, short(name))
		case i.gate:
			ours = append(ours, short(name))
		}
	}
	for n := 5; n >= 1; n-- {
		text := w.open(n)
		switch {
		case len(ours) > 0:
			text += " Fix " + list(ours, min(n, 2)) + ", then: " + next + "."
		case len(people) < len(w.items):
			text += " Next: " + next + " --status."
		}
		text += persons(people, n) + " Do not edit CHECK or EXPECT to pass."
		if len(text) <= MaxReason {
			return text
		}
	}
	return fit(w.open(0) + " Next: " + next + "." + persons(people, 1) + " Do not edit CHECK or EXPECT to pass.")
}

func persons(ids []string, n int) string {
	switch len(ids) {
	case 0:
		return ""
	case 1:
		return " " + ids[0] + " needs a person: say so and stop."
	}
	return " " + list(ids, n) + " need a person: say so and stop."
}

// open is the first sentence, with at most n names.
func (w work) open(n int) string {
	what := "gates unmet"
	for _, i := range w.items {
		if !i.gate {
			what = "items open"
		}
	}
	if len(w.items) == 1 {
		what = strings.Replace(strings.Replace(what, "gates", "gate", 1), "items", "item", 1)
	}
	text := fmt.Sprintf("%d %s", len(w.items), what)
	var names []string
	for _, i := range w.items {
		names = append(names, short(i.name)+" "+escape.Line(i.trouble))
	}
	if n > 0 {
		text += ": " + list(names, n)
	}
	if len(w.abandoned) > 0 {
		text += fmt.Sprintf("; HANDOFF REQUIRED: %d abandoned", len(w.abandoned))
	}
	return text + "."
}

// released is the message of the block that is not made any more.
func (w work) released() string {
	return fit(fmt.Sprintf("gatesworn: letting go after %d blocks without progress. %s", MaxBlocks, w.open(4)))
}

// list joins at most n names and says how many more there are.
func list(names []string, n int) string {
	if len(names) <= n {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s, +%d more", strings.Join(names[:n], ", "), len(names)-n)
}

// short is a name as one visible word of at most maxName bytes.
func short(name string) string {
	name = escape.Line(name)
	if len(name) <= maxName {
		return name
	}
	cut := name[:maxName-len("…")]
	for len(cut) > 0 && name[len(cut)]&0xC0 == 0x80 { // not inside a character
		cut = cut[:len(cut)-1]
	}
	return cut + "…"
}
