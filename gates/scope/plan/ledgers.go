package plan

import (
	"context"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gatesworn/gatesworn/gates/evidence"
	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/gatesworn/gatesworn/gates/scope"
	"github.com/gatesworn/gatesworn/internal/safefile"
)

// maxLedger is the size limit of a ledger, in bytes (unlazy).
const maxLedger = 8 << 20

// structureGate is the gate of a root ledger whose plan has a registry.
const structureGate = "S_STRUCTURE"

// seen is what a ledger says.
type seen struct {
	trouble   string
	owns      []string
	met       bool
	abandoned string // a gate's id
	structure bool
}

// readings are ledgers that are being read while the plan is parsed.
type readings struct {
	leaves  []scope.Ledger
	results []seen // of the leaves, in their order; complete when done returns
	done    func()
	top     *scope.Ledger // the scope's own ledger, nil for none
}

// read starts to read the ledgers with all processors: parsing them is most of an
// answer's time. Reading ends early when ctx does.
func read(ctx context.Context, root string, all []scope.Ledger) *readings {
	r := &readings{}
	for i, l := range all {
		if strings.HasPrefix(l.Stem(), leafPrefix) {
			r.leaves = append(r.leaves, l)
		} else if l.Stem() == "GATES" {
			r.top = &all[i]
		}
	}
	r.results = make([]seen, len(r.leaves))
	var pages ledger.Pages
	var next atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(r.leaves)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				r.results[i] = look(ctx, &pages, root, r.leaves[i])
			}
		})
	}
	r.done = workers.Wait
	return r
}

// ledgers compares the leaves' ledgers with the plan; false stops at once: then
// nothing else can be said.
func (s *state) ledgers(ctx context.Context, root string, r *readings) bool {
	if r.top != nil {
		switch got := look(ctx, nil, root, *r.top); {
		case got.trouble != "":
			s.ask("", "%s %s", r.top.Path, got.trouble)
		case got.structure:
			s.ask("", "%s has gate %s: structure registries are not read yet", r.top.Path, structureGate)
		}
	}
	here := map[string]bool{}
	for _, l := range r.leaves {
		id := strings.TrimPrefix(l.Stem(), leafPrefix)
		here[id] = true
		if s.byID[id] == nil {
			s.ask("", "%s is not in the plan", l.Path)
		}
	}
	for _, t := range s.tasks {
		if !here[t.id] {
			s.ask(t.id, "it has no ledger gates/%s%s.md", leafPrefix, t.id)
		}
	}
	if len(s.review) > 0 {
		return false
	}
	r.done()
	for i, got := range r.results {
		s.compare(s.byID[strings.TrimPrefix(r.leaves[i].Stem(), leafPrefix)], got)
	}
	return true
}

func (s *state) compare(r *task, got seen) {
	switch {
	case got.trouble != "":
		s.ask(r.id, "its ledger %s", got.trouble)
		return
	case !equalSets(got.owns, r.owns):
		s.ask(r.id, "Owns in the plan is not OWNS in its ledger")
	}
	switch {
	case r.state == abandoned:
		s.ask(r.id, "abandoned: a handoff")
	case got.abandoned != "":
		s.ask(r.id, "gate %s is abandoned: a handoff", got.abandoned)
	case r.state == verified && !got.met:
		s.ask(r.id, "verified, and its ledger is not met")
	}
}

func look(ctx context.Context, pages *ledger.Pages, root string, l scope.Ledger) seen {
	// The folders were checked when the ledgers were listed; opening each of them
	// again for every ledger is a third of the time of a big plan.
	f, err := safefile.Read(filepath.Join(root, filepath.FromSlash(l.Path)), maxLedger)
	if err != nil {
		return seen{trouble: "cannot be read"}
	}
	ctx, cancel := context.WithTimeout(ctx, ledger.Patience)
	defer cancel()
	doc := ledger.Parser{Pages: pages}.Parse(ctx, l.Path, f.Data)
	if !doc.OK() {
		return seen{trouble: "has errors"}
	}
	got := seen{met: true}
	for _, o := range doc.Owns {
		if p, err := patterns([]string{o}); err == nil {
			o = p[0]
		}
		got.owns = append(got.owns, o)
	}
	for _, g := range doc.Gates {
		got.structure = got.structure || g.ID == structureGate
		switch evidence.Judge(g).Claim {
		case evidence.Met:
		case evidence.Abandoned:
			if got.abandoned == "" {
				got.abandoned = g.ID
			}
			got.met = false
		default:
			got.met = false
		}
	}
	return got
}
