package receipt

import (
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/gates/ledger"
)

// Explanation says what there is to reuse for a gate.
type Explanation struct {
	At     time.Time // of the pass, zero without a receipt that can be read
	Holds  bool      // it would be reused
	Reason string    // why not, "" if Changed says it
	// Changed names what differs: an attribute's key or one of the names of this
	// package, sorted.
	Changed   []string
	Variables []string // that changed, with Environment, sorted
	Files     []string // that changed, with Files, sorted; nil if not known
}

// Explain compares a gate's receipt with what is there now.
func (b *Book) Explain(g gates.GateRef) Explanation {
	r, err := b.load(g)
	if errors.Is(err, fs.ErrNotExist) {
		return Explanation{Reason: "it did not pass here yet with --receipts, or files changed while it ran"}
	}
	if err != nil {
		return Explanation{Reason: err.Error()}
	}
	p, err := r.pass()
	if err != nil {
		return Explanation{Reason: err.Error()}
	}
	e := Explanation{At: p.At}
	now, err := b.ingredients(g)
	if err != nil {
		e.Reason = err.Error()
		return e
	}
	if e.Holds = now.digest() == r.Context; e.Holds {
		return e
	}
	e.Changed = differ(r.Ingredients, now)
	if slices.Contains(e.Changed, Environment) {
		e.Variables = differ(r.Variables, variables(b.set.Env(g.Gate)))
	}
	if slices.Contains(e.Changed, Files) {
		e.Files = b.changedFiles(g.Gate, r.Manifest)
	}
	return e
}

// differ names what one map holds and the other does not, or otherwise.
func differ(a, b map[string]string) []string {
	var names []string
	for name, v := range a {
		if w, ok := b[name]; !ok || v != w {
			names = append(names, name)
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// changedFiles names the gate's files that are not as the manifest says.
func (b *Book) changedFiles(g ledger.Gate, manifest string) []string {
	was := b.readManifest(manifest)
	if was == nil {
		return nil
	}
	now := make(map[string]string, len(b.snap.files))
	for i := range b.snap.files {
		now[b.snap.files[i].path] = b.snap.files[i].short()
	}
	return slices.DeleteFunc(differ(was, now), func(path string) bool {
		if !g.Has(ledger.Depends) {
			return false
		}
		return !slices.ContainsFunc(append(slices.Clone(g.Depends), g.Inputs...), func(p string) bool { return matches(p, path) })
	})
}

func matches(pattern, path string) bool {
	ok, err := doublestar.Match(pattern, path)
	return ok && err == nil
}
