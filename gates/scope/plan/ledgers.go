package plan

import (
	"context"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

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

// ledgers compares the leaves' ledgers with the plan; false stops at once: then
// nothing else can be said.
func (s *state) ledgers(root string, all []scope.Ledger) bool {
	var leaves []scope.Ledger
	for _, l := range all {
		if strings.HasPrefix(l.Stem(), leafPrefix) {
			leaves = append(leaves, l)
		} else if l.Stem() == "GATES" {
			switch got := look(nil, root, l); {
			case got.trouble != "":
				s.ask("", "%s %s", l.Path, got.trouble)
			case got.structure:
				s.ask("", "%s has gate %s: structure registries are not read yet", l.Path, structureGate)
			}
		}
	}
	here := map[string]bool{}
	for _, l := range leaves {
		id := strings.TrimPrefix(l.Stem(), leafPrefix)
		here[id] = true
		if s.byID[id] == nil {
			s.ask("", "%s is not in the plan", l.Path)
		}
	}
	for _, r := range s.tasks {
		if !here[r.id] {
			s.ask(r.id, "it has no ledger gates/%s%s.md", leafPrefix, r.id)
		}
	}
	if len(s.review) > 0 {
		return false
	}
	for i, got := range lookAll(root, leaves) {
		s.compare(s.byID[strings.TrimPrefix(leaves[i].Stem(), leafPrefix)], got)
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

// lookAll reads the ledgers with all processors: parsing is most of an answer's time.
func lookAll(root string, all []scope.Ledger) []seen {
	out := make([]seen, len(all))
	next := make(chan int)
	var pages ledger.Pages
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range next {
				out[i] = look(&pages, root, all[i])
			}
		})
	}
	for i := range all {
		next <- i
	}
	close(next)
	workers.Wait()
	return out
}

func look(pages *ledger.Pages, root string, l scope.Ledger) seen {
	// The folders were checked when the ledgers were listed; opening each of them
	// again for every ledger is a third of the time of a big plan.
	f, err := safefile.Read(filepath.Join(root, filepath.FromSlash(l.Path)), maxLedger)
	if err != nil {
		return seen{trouble: "cannot be read"}
	}
	ctx, cancel := context.WithTimeout(context.Background(), ledger.Patience)
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
