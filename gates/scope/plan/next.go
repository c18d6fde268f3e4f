package plan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/gatesworn/gatesworn/gates/scope"
	"github.com/gatesworn/gatesworn/internal/escape"
	"github.com/gatesworn/gatesworn/internal/safefile"
)

// Limits of the planner's files, in bytes, and of slots.
const (
	maxPlan  = 8 << 20
	MaxSlots = 64
)

// leafPrefix begins the ledger of a leaf: gates/leaf-ID.md.
const leafPrefix = "leaf-"

// ErrChanged says that the files changed while they were read: ask again.
var ErrChanged = errors.New("the plan's files changed while they were read; run it again")

// inputs is everything an answer is made from.
type inputs struct {
	plan, access []byte
	waves        scope.Dispatch
	wavesErr     error // what cannot have happened
	leases       []scope.Lease
}

// Next chooses what to start now in the scope of the tree at root, an absolute
// path, with slots workers (1 to MaxSlots). What is inconsistent is in the
// answer's Review; the error says that the plan could not be read at all.
func Next(ctx context.Context, root, name string, slots int) (Answer, error) {
	if slots < 1 || slots > MaxSlots {
		return Answer{}, fmt.Errorf("slots must be a number from 1 to %d", MaxSlots)
	}
	found, err := scope.Discover(root, scope.Options{Scope: name})
	if err != nil && !errors.Is(err, scope.ErrNone) {
		return Answer{}, err
	}
	in, err := gather(root, name)
	if err != nil {
		return Answer{}, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	reading := read(ctx, root, found.Ledgers)
	t, err := parseTable(string(in.plan))
	if err != nil {
		return review(err), nil
	}
	if err := t.readAccess(in.access); err != nil {
		return review(err), nil
	}
	if in.wavesErr != nil {
		return review(in.wavesErr), nil
	}
	s := state{table: t, slots: slots, scope: name}
	for _, r := range []string{"STRUCTURE.json", "STRUCTURE.pending.json"} {
		if _, err := os.Lstat(filepath.Join(root, ".unlazy", name, r)); !errors.Is(err, fs.ErrNotExist) {
			s.ask("", "%s is there and is not read yet", r)
		}
	}
	if !s.ledgers(ctx, root, reading) {
		return s.answer(), nil
	}
	if err := ctx.Err(); err != nil {
		return Answer{}, err
	}
	s.history(in.waves)
	s.leased(in.leases)
	again, err := gather(root, name)
	if err != nil || !in.same(again) {
		return Answer{}, errors.Join(ErrChanged, err)
	}
	s.choose()
	return s.answer(), nil
}

func review(err error) Answer { return Answer{Review: []string{escape.Line(err.Error())}} }

func gather(root, name string) (inputs, error) {
	dir := path.Join(".unlazy", name)
	p, err := safefile.ReadBeneath(root, path.Join(dir, "PLAN.md"), maxPlan)
	if err != nil {
		return inputs{}, fmt.Errorf("cannot read plan: %w", err)
	}
	a, err := safefile.ReadBeneath(root, path.Join(dir, "ACCESS.json"), maxPlan)
	if err != nil {
		return inputs{}, fmt.Errorf("cannot read plan: %w", err)
	}
	in := inputs{plan: p.Data, access: a.Data}
	if in.waves, err = scope.Waves(root, name); errors.Is(err, scope.ErrDispatch) {
		in.wavesErr = err
	} else if err != nil {
		return inputs{}, err
	}
	if in.leases, err = (scope.Tree{Root: root}).Leases(); err != nil {
		return inputs{}, err
	}
	return in, nil
}

func (in inputs) same(other inputs) bool {
	return bytes.Equal(in.plan, other.plan) && bytes.Equal(in.access, other.access) &&
		slices.EqualFunc(in.waves.Waves, other.waves.Waves, func(a, b scope.Wave) bool {
			return a.Name == b.Name && a.State == b.State && len(a.Started) == len(b.Started) && len(a.Returned) == len(b.Returned)
		}) &&
		slices.EqualFunc(in.leases, other.leases, func(a, b scope.Lease) bool { return a.File == b.File && a.Since.Equal(b.Since) })
}

// state is what the files say has happened.
type state struct {
	table
	scope  string
	slots  int
	active map[string]string // id → why it is active
	held   map[string]bool   // ids that hold a lease
	lease  claims            // all leases, owned by an id or by scope/leaf
	review []string
	launch []string
	wait   []Wait
}

func (s *state) ask(id, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if id != "" {
		text = id + ": " + text
	}
	s.review = append(s.review, escape.Line(text))
}

func (s *state) answer() Answer {
	sort.Strings(s.review)
	return Answer{Launch: s.launch, Wait: s.wait, Review: slices.Compact(s.review)}
}

// history looks at the waves: what is active, and what does not fit the plan.
func (s *state) history(d scope.Dispatch) {
	s.active = map[string]string{}
	for _, r := range s.tasks {
		if r.state == inFlight {
			s.active[r.id] = "in flight"
		}
	}
	last := map[string]string{} // id → when its last wave was opened
	for _, w := range d.Waves {
		for _, l := range w.Leaves {
			id := strings.TrimPrefix(l, leafPrefix)
			if s.byID[id] == nil {
				s.ask("", "wave %s names leaf %s, which is not in the plan", w.Name, l)
				continue
			}
			last[id] = max(last[id], w.OpenedAt)
		}
	}
	for _, w := range d.Waves {
		s.wave(w, last)
	}
}

func (s *state) wave(w scope.Wave, last map[string]string) {
	if w.State == scope.WaveOpen {
		s.ask("", "wave %s is open: launch its leaves and seal it, or abandon it", w.Name)
	}
	back := map[string]bool{}
	for _, r := range w.Returned {
		back[strings.TrimPrefix(r.Leaf, leafPrefix)] = true
	}
	for _, l := range w.Started {
		r := s.byID[strings.TrimPrefix(l.Leaf, leafPrefix)]
		if r == nil || last[r.id] > w.OpenedAt {
			continue // handed out again since
		}
		switch {
		case r.state == verified && !back[r.id] && w.State != scope.WaveAbandoned:
			s.ask(r.id, "verified before it returned from wave %s", w.Name)
		case r.state == verified:
		case back[r.id]:
			s.active[r.id] = "returned: verify it"
		default:
			s.active[r.id] = "in flight"
		}
	}
	if w.State != scope.WaveAbandoned {
		return
	}
	for _, l := range w.Leaves {
		if r := s.byID[strings.TrimPrefix(l, leafPrefix)]; r != nil && r.state != verified && last[r.id] <= w.OpenedAt {
			s.ask("", "wave %s was abandoned with %s unfinished", w.Name, r.id)
			return
		}
	}
}

// leased looks at the leases. Another scope's blocks only what it overlaps.
func (s *state) leased(all []scope.Lease) {
	s.held = map[string]bool{}
	for _, l := range all {
		id := strings.TrimPrefix(l.Leaf, leafPrefix)
		switch {
		case l.Invalid != "":
			s.ask("", "lease %s is not valid", l.File)
		case l.Scope != s.scope:
			s.lease.writes.add(l.Scope+"/"+l.Leaf, l.Globs)
		case s.byID[id] == nil:
			s.ask("", "leaf %s holds a lease and is not in the plan", l.Leaf)
		default:
			s.held[id] = true
			s.lease.writes.add(id, l.Globs)
			if !equalSets(l.Globs, s.byID[id].owns) {
				s.ask(id, "its lease is not what it owns")
			}
		}
	}
}

func equalSets(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}

// choose goes through the tasks in the order of their ids and takes what is
// independent of everything taken, active or leased, while slots are free.
func (s *state) choose() {
	var active, chosen claims
	before := s.ancestors()
	for _, r := range s.tasks {
		if s.active[r.id] != "" {
			active.add(r)
		}
		for _, n := range r.needs {
			if r.state == verified && s.byID[n].state != verified {
				s.ask(r.id, "verified before %s, which it needs", n)
			}
		}
	}
	free := max(0, s.slots-len(s.active))
	ask := len(s.review) > 0
	for _, r := range s.tasks {
		because := ""
		switch {
		case r.state == verified || r.state == abandoned:
			continue
		case s.active[r.id] != "":
			because = s.active[r.id]
		default:
			because = s.blocked(r, &active, &chosen, before)
		}
		switch {
		case because != "":
		case ask:
			because = "review first"
		case len(s.launch) >= free:
			because = "no free slot"
		default:
			s.launch = append(s.launch, r.id)
			chosen.add(r)
			continue
		}
		s.wait = append(s.wait, Wait{r.id, because})
	}
}

// ancestors are the tasks that an active one needs, however indirectly.
func (s *state) ancestors() map[string]bool {
	found := map[string]bool{}
	var todo []string
	for id := range s.active {
		todo = append(todo, id)
	}
	for len(todo) > 0 {
		r := s.byID[todo[len(todo)-1]]
		todo = todo[:len(todo)-1]
		for _, n := range r.needs {
			if !found[n] {
				found[n] = true
				todo = append(todo, n)
			}
		}
	}
	return found
}

// blocked says why a task cannot start, "" if nothing but slots is in its way.
func (s *state) blocked(r *task, active, chosen *claims, before map[string]bool) string {
	for _, n := range r.needs {
		if s.byID[n].state != verified {
			return "needs " + n
		}
	}
	for _, n := range r.needs {
		if s.held[n] {
			return n + " still holds its lease"
		}
	}
	if o := s.lease.against(r); o != "" {
		return "lease of " + o
	}
	if before[r.id] {
		return "a task that needs it is active"
	}
	if o := active.against(r); o != "" {
		return o + " is active"
	}
	if o := chosen.against(r); o != "" {
		return o + " goes first"
	}
	return ""
}
