package judge

import (
	"context"
	"strings"

	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/internal/gitobj"
)

// OutFolder is where reports go; it is part of no tree (10-fine-print, Action).
const OutFolder = ".gatesworn-out"

// WorkTree lists what INPUTS may match without a signature: what git tracks or
// does not ignore, outside git every regular file.
func (w *Workspace) WorkTree() (*approval.WorkTree, error) {
	if w.Git == nil {
		paths, err := approval.ListFolder(w.Top)
		if err != nil {
			return nil, err
		}
		return approval.NewWorkTree(w.Top, without(paths, OutFolder+"/"))
	}
	return approval.LocalTree(context.Background(), w.Git, nil)
}

func without(paths []string, prefix string) []string {
	kept := paths[:0]
	for _, p := range paths {
		if !strings.HasPrefix(p, prefix) {
			kept = append(kept, p)
		}
	}
	return kept
}

// CleanTree returns the hash of HEAD's tree when nothing but ledgers and our own
// output differs from it, else "". Outside git, or where it cannot be told, it is "".
func (w *Workspace) CleanTree(ctx context.Context, sources []gates.Source) string {
	if w.Git == nil {
		return ""
	}
	head, err := w.Git.Head()
	if err != nil {
		return ""
	}
	commit, err := w.Git.Peel(head.OID)
	if err != nil {
		return ""
	}
	entries, err := w.Git.List(ctx, commit.Tree)
	if err != nil {
		return ""
	}
	ledgers := map[string]bool{}
	for _, s := range sources {
		ledgers[s.Path] = true
	}
	// The line is a note for people, so the stat data of the index are good enough.
	compared, err := w.Git.Compare(ctx, entries, gitobj.CompareOptions{StatCache: true, Only: func(p string) bool { return !ledgers[p] }})
	if err != nil || len(compared.Differences) > 0 {
		return ""
	}
	untracked, err := w.Git.WorkFiles(ctx, gitobj.NewPathSet(entries), gitobj.WorkOptions{})
	if err != nil {
		return ""
	}
	for _, f := range untracked {
		if !ledgers[f.Path] && !strings.HasPrefix(f.Path, OutFolder+"/") {
			return ""
		}
	}
	return commit.Tree.String()
}

// OtherTree returns how to tell whether a tree named in an evidence line differs
// from HEAD's in more than ledgers; a tree that is not there is another one.
func (w *Workspace) OtherTree(ctx context.Context, sources []gates.Source) func(string) bool {
	if w.Git == nil {
		return nil
	}
	ledgers := map[string]bool{}
	for _, s := range sources {
		ledgers[s.Path] = true
	}
	known := map[string]bool{}
	return func(tree string) bool {
		other, ok := known[tree]
		if !ok {
			other = w.differs(ctx, tree, ledgers)
			known[tree] = other
		}
		return other
	}
}

func (w *Workspace) differs(ctx context.Context, tree string, ledgers map[string]bool) bool {
	oid, err := gitobj.ParseOID(tree)
	if err != nil {
		return true
	}
	head, err := w.Git.Head()
	if err != nil {
		return true
	}
	commit, err := w.Git.Peel(head.OID)
	if err != nil {
		return true
	}
	if commit.Tree == oid {
		return false
	}
	was, err := w.Git.List(ctx, oid)
	if err != nil {
		return true
	}
	now, err := w.Git.List(ctx, commit.Tree)
	if err != nil {
		return true
	}
	return !sameEntries(rest(was, ledgers), rest(now, ledgers))
}

func rest(entries []gitobj.Entry, ledgers map[string]bool) []gitobj.Entry {
	var out []gitobj.Entry
	for _, e := range entries {
		if !ledgers[e.Path] {
			out = append(out, e)
		}
	}
	return out
}

func sameEntries(a, b []gitobj.Entry) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
