package judge

import (
	"container/heap"
	"context"

	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/internal/gitobj"
)

// maxHistory bounds how many commits are looked at to find where a branch left
// the trust ref. Beyond it the comparison is the strict one, with the trust ref itself.
const maxHistory = 50_000

// sides of the walk, and what both have reached.
const (
	fromHead = 1 << iota
	fromTrust
	passed // beneath a common ancestor already found
)

// walk finds common ancestors as `git merge-base --all` does: newest first, with
// marks that flow to the parents, until only what lies beneath a result is left.
type walk struct {
	repo  *gitobj.Repo
	marks map[gitobj.OID]int
	seen  map[gitobj.OID]gitobj.Commit
	queue byDate
}

// mergeBase returns the one best common ancestor of two commits. ok is false where
// there are none or several, or where history is cut: then nothing is known, and
// callers fall back to the stricter comparison. Dates are the authors', so they
// only order the walk; a wrong order shows as several results.
//
// own are the commits that only head has, as far as they were looked at.
func mergeBase(ctx context.Context, repo *gitobj.Repo, head, trust gitobj.OID) (base gitobj.OID, own []gitobj.Commit, ok bool) {
	w := walk{repo: repo, marks: map[gitobj.OID]int{}, seen: map[gitobj.OID]gitobj.Commit{}}
	if !w.mark(head, fromHead) || !w.mark(trust, fromTrust) {
		return base, nil, false
	}
	found := map[gitobj.OID]bool{}
	for w.open() {
		if ctx.Err() != nil || len(w.seen) > maxHistory {
			return base, nil, false
		}
		c, isCommit := heap.Pop(&w.queue).(gitobj.Commit)
		if !isCommit {
			return base, nil, false
		}
		m := w.marks[c.OID]
		if m&(fromHead|fromTrust) == fromHead|fromTrust {
			if m&passed == 0 {
				found[c.OID] = true
			}
			m |= passed
		}
		for _, parent := range c.Parents {
			if !w.mark(parent, m) {
				return base, nil, false
			}
		}
	}
	for oid := range found {
		if w.marks[oid]&passed != 0 {
			continue // an ancestor of a better one
		}
		if ok {
			return gitobj.OID{}, nil, false
		}
		base, ok = oid, true
	}
	for oid, c := range w.seen {
		if w.marks[oid] == fromHead {
			own = append(own, c)
		}
	}
	return base, own, ok
}

// open reports whether the queue holds anything that can still matter.
func (w *walk) open() bool {
	for _, c := range w.queue {
		if w.marks[c.OID]&passed == 0 {
			return true
		}
	}
	return false
}

// mark adds marks to a commit and queues it if they are new; false if it cannot be read.
func (w *walk) mark(oid gitobj.OID, marks int) bool {
	if w.marks[oid]&marks == marks {
		return true
	}
	w.marks[oid] |= marks
	c, known := w.seen[oid]
	if !known {
		var err error
		if c, err = w.repo.Commit(oid); err != nil {
			return false
		}
		w.seen[oid] = c
	}
	heap.Push(&w.queue, c)
	return true
}

// byDate is a heap of commits, the newest first.
type byDate []gitobj.Commit

func (q byDate) Len() int           { return len(q) }
func (q byDate) Less(i, j int) bool { return q[i].Committer.When.After(q[j].Committer.When) }
func (q byDate) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }

// Push and Pop are heap.Interface's.
func (q *byDate) Push(x any) {
	if c, ok := x.(gitobj.Commit); ok {
		*q = append(*q, c)
	}
}

// Pop removes the last commit.
func (q *byDate) Pop() any {
	old := *q
	c := old[len(old)-1]
	*q = old[:len(old)-1]
	return c
}

// leave finds where the judged commit left the trust ref's history, and the
// commits since then. The tree is nil when the judged commit holds all of the trust
// ref, or when that is not known.
func (p *PullRequest) leave(ctx context.Context, head gitobj.OID, trust string) {
	repo := p.work.Git
	at, err := gitobj.ParseOID(trust)
	if err != nil || at == head {
		return
	}
	base, own, ok := mergeBase(ctx, repo, head, at)
	if p.commits = own; !ok || base == at {
		return
	}
	commit, err := repo.Commit(base)
	if err != nil {
		return
	}
	if tree, err := approval.NewGitTree(ctx, repo, commit.Tree); err == nil {
		p.fork = tree
	}
}

// own leaves out of a change of the root what the judged commit did not do: a
// branch that is behind the trust ref lacks its newer approvals, and has not
// deleted them.
func (p *PullRequest) own(c approval.RootChange, f approval.Formats) (approval.RootChange, error) {
	if p.fork == nil || len(c.Files) == 0 {
		return c, nil
	}
	had, err := approval.ReadRevoked(p.fork, f)
	if err != nil {
		return c, err
	}
	before := approval.Unite(had)
	kept := approval.RootChange{Compared: c.Compared}
	for _, file := range c.Files {
		if entryAt(p.fork, file.Path) == entryAt(p.judged, file.Path) {
			p.behind = true
			continue
		}
		if file.Path == approval.RevokedPath && file.New != "" {
			var lost []string
			for _, d := range file.Lost {
				if before.Has(d) {
					lost = append(lost, d)
				}
			}
			if file.Lost = lost; len(lost) == 0 {
				p.behind = true
				continue
			}
		}
		kept.Files = append(kept.Files, file)
	}
	return kept, nil
}

// lost leaves out of the removal guard's answer gates that the trust ref gained
// after the judged commit left it.
func (p *PullRequest) lost(g approval.Guard, r approval.GuardRequest) (approval.Guard, error) {
	if p.fork == nil || len(g.Removed) == 0 {
		return g, nil
	}
	r.Base = p.fork
	then, err := approval.GuardRemoval(r)
	if err != nil {
		return g, err
	}
	was := map[[2]string]bool{}
	for _, gate := range then.Removed {
		was[[2]string{gate.Ledger, gate.Gate.ID}] = true
	}
	kept := g
	kept.Removed = nil
	for _, gate := range g.Removed {
		if was[[2]string{gate.Ledger, gate.Gate.ID}] || len(then.Unknown) > 0 {
			kept.Removed = append(kept.Removed, gate)
			continue
		}
		p.behind = true
	}
	return kept, nil
}

// entryAt returns the entry at a path, the zero one where there is none.
func entryAt(t approval.Tree, path string) approval.Entry {
	for _, e := range t.Entries() {
		if e.Path == path {
			return e
		}
	}
	return approval.Entry{}
}
