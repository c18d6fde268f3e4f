package gates

import (
	"time"

	"github.com/gatesworn/gatesworn/gates/evidence"
)

// Pass is a check that ran and passed, as a Reuse keeps it.
type Pass struct {
	At       time.Time // when it ended
	Evidence string    // value of the EVIDENCE line
	Run      Run       // what was measured, without StartedMS
}

// Reuse remembers what passed on this machine, for this user. Any doubt is a
// false of Lookup. It counts in the modes Unmet and Reverify only: the first asks
// it instead of the ledger's claims, the second only tells it what passed. It is
// called from one goroutine; every Lookup comes before the first check starts.
type Reuse interface {
	Lookup(g GateRef) (Pass, bool)
	Keep(g GateRef, p Pass)
}

// proven reports whether a claim in the ledger has to be proven.
func (job *Job) proven() bool { return job.Mode == Unmet && job.Reuse != nil }

// onlyLocal takes reuse away from every mode that is not this user's own run:
// code under test could forge what was remembered (6-coordination, Receipts).
func (job *Job) onlyLocal() {
	if job.Mode != Unmet && job.Mode != Reverify || job.Base.Trust.Mode == TrustAllowlist {
		job.Reuse = nil
	}
}

// reuse settles the gates whose last pass still holds. A gate that needs one that
// has to run runs as well: what runs first may change what the second reads.
func (job *Job) reuse(items []*item) {
	if !job.proven() {
		return
	}
	index := map[string]*item{}
	for _, it := range items {
		index[it.src.Path+"\x00"+it.gate.ID] = it
	}
	holds := map[*item]bool{} // also marks what is being looked at: a cycle does not hold
	var ask func(it *item) bool
	ask = func(it *item) bool {
		if !it.run {
			return it.out.State == Met || !it.asked && it.worth.Claim == evidence.Met
		}
		if ok, seen := holds[it]; seen {
			return ok
		}
		holds[it] = false
		for _, id := range it.gate.Needs {
			if need := index[it.src.Path+"\x00"+id]; need == nil || !ask(need) {
				return false
			}
		}
		holds[it] = job.recall(it)
		return holds[it]
	}
	for _, it := range items {
		if it.run {
			ask(it)
		}
	}
	for it, ok := range holds {
		if ok {
			it.run = false
		}
	}
}

// recall takes over an earlier pass. The ledger must not say something else than
// what was recorded then; a box that is empty gets that record back.
func (job *Job) recall(it *item) bool {
	if unchanged(it.perm) != nil {
		return false
	}
	pass, ok := job.Reuse.Lookup(it.ref)
	if !ok || pass.Evidence == "" || pass.Run.Exit == nil || *pass.Run.Exit != 0 || !pass.Run.Matched {
		return false
	}
	ticked := it.gate
	ticked.Ticked, ticked.Evidence = true, pass.Evidence
	if evidence.Judge(ticked).Claim != evidence.Met {
		return false
	}
	if !it.src.Standing && it.gate.Ticked && it.gate.Evidence != pass.Evidence {
		return false
	}
	run := pass.Run
	run.StartedMS, run.Tail = 0, ""
	run.Reused = &Reused{At: pass.At.UTC().Format(time.RFC3339)}
	it.out.State, it.out.Reason, it.out.Next, it.out.Run = Met, "", "", &run
	if !it.gate.Ticked && it.src.Recorder != nil {
		it.pass = &pass
	}
	return true
}

// restore has the evidence of reused gates written whose box is empty; it
// returns how many answers are to come.
func (p *pool) restore() int {
	n := 0
	for i, it := range p.items {
		if it.pass == nil {
			continue
		}
		n++
		p.settled[i] = false
		p.record(i, Entry{Gate: it.gate, Passed: true, Evidence: it.pass.Evidence})
	}
	return n
}

// keep hands a pass that is on disk, where it has to be, to the job's Reuse.
func (p *pool) keep(it *item) {
	if p.job.Reuse == nil || it.pass == nil || it.out.State != Met || it.out.Run.Reused != nil {
		return
	}
	pass := *it.pass
	pass.Run = *it.out.Run
	pass.Run.StartedMS = 0
	p.job.Reuse.Keep(it.ref, pass)
}
