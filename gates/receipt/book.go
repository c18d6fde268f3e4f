package receipt

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/gatesworn/gatesworn/internal/safefile"
)

// ErrPlace is returned for a folder that must not hold receipts.
var ErrPlace = errors.New("receipts would lie in the repository, where others can write")

// Book is one run's view of the receipts: the tree as it was before the first
// check, and what passed since. It implements gates.Reuse. It is used from one
// goroutine.
type Book struct {
	dir  string
	tree Tree
	set  Setting
	now  func() time.Time

	snap    *snapshot
	doubt   bool   // a file of the tree could not be read
	whole   string // digest of all files
	shell   string // digest of the shell's program
	matched map[string][]int
	kept    []kept
}

type kept struct {
	ref  gates.GateRef
	pass gates.Pass
	in   ingredients
}

// Open reads the whole tree. dir is the receipts' folder, absolute, created
// private when the first one is written; it must not lie beneath the tree. After
// an error there is nothing to reuse and nothing is kept.
func Open(ctx context.Context, dir string, tree Tree, set Setting, now func() time.Time) (*Book, error) {
	if !filepath.IsAbs(dir) || !filepath.IsAbs(tree.Top) {
		return nil, fmt.Errorf("receipts need absolute paths, not %q and %q", dir, tree.Top)
	}
	if beneath(tree.Top, dir) {
		return nil, fmt.Errorf("%w: %s", ErrPlace, dir)
	}
	b := &Book{dir: dir, tree: tree, set: set, now: now, matched: map[string][]int{}}
	var err error
	if b.shell, err = shellDigest(set.Shell); err != nil {
		return nil, err
	}
	if b.snap, err = tree.take(ctx, now()); err != nil {
		return nil, fmt.Errorf("read the tree: %w", err)
	}
	h := sha256.New()
	for i := range b.snap.files {
		b.doubt = b.doubt || b.snap.files[i].doubt
		b.snap.files[i].hash(h)
	}
	b.whole = hex.EncodeToString(h.Sum(nil))
	return b, nil
}

// beneath reports whether dir is top or lies in it, links of the part that is there resolved.
func beneath(top, dir string) bool {
	for at := dir; ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			rest, err := filepath.Rel(at, dir)
			if err != nil {
				return true
			}
			rel, err := filepath.Rel(top, filepath.Join(real, rest))
			return err != nil || rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
		}
		if filepath.Dir(at) == at {
			return false
		}
	}
}

// Lookup returns the gate's last pass if nothing it depends on has changed.
func (b *Book) Lookup(g gates.GateRef) (gates.Pass, bool) {
	r, err := b.load(g)
	if err != nil {
		return gates.Pass{}, false
	}
	in, err := b.ingredients(g)
	if err != nil || in.digest() != r.Context {
		return gates.Pass{}, false
	}
	p, err := r.pass()
	return p, err == nil
}

// Keep notes that a gate passed. Close decides whether a receipt is written.
func (b *Book) Keep(g gates.GateRef, p gates.Pass) {
	in, err := b.ingredients(g)
	if err != nil {
		return
	}
	b.kept = append(b.kept, kept{g, p, in})
}

// writers is how many receipts are written at a time: each waits for the disk.
const writers = 16

// Close looks at the tree again and writes a receipt for every gate that passed
// and whose files nobody touched meanwhile. It returns how many it wrote; those
// it did not write cost a run next time, nothing else.
func (b *Book) Close(ctx context.Context) (int, error) {
	if len(b.kept) == 0 {
		return 0, nil
	}
	changed, err := b.tree.changes(ctx, b.snap)
	if err != nil {
		return 0, fmt.Errorf("read the tree again: %w", err)
	}
	var records []*record
	for _, k := range b.kept {
		if b.untouched(k, changed) {
			records = append(records, b.record(k))
		}
	}
	if len(records) == 0 {
		return 0, nil
	}
	if err := errors.Join(safefile.PrivateDir(filepath.Dir(b.dir)), safefile.PrivateDir(b.dir)); err != nil {
		return 0, err
	}
	manifest, err := b.writeManifest()
	if err != nil {
		return 0, err
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	wrote, next := 0, make(chan *record)
	var errs []error
	for range writers {
		wg.Go(func() {
			for r := range next {
				r.Manifest = manifest
				err := b.write(r)
				mu.Lock()
				if err != nil {
					errs = append(errs, err)
				} else {
					wrote++
				}
				mu.Unlock()
			}
		})
	}
	for _, r := range records {
		next <- r
	}
	close(next)
	wg.Wait()
	return wrote, errors.Join(append(errs, b.evict())...)
}

// untouched reports whether the files of a gate are those from before its run.
func (b *Book) untouched(k kept, changed map[string]bool) bool {
	if !k.ref.Gate.Has(ledger.Depends) {
		return len(changed) == 0
	}
	files, err := b.filesOf(k.ref.Gate)
	if err != nil {
		return false
	}
	for _, i := range files {
		if changed[b.snap.files[i].path] {
			return false
		}
	}
	return !b.appeared(k, changed)
}

// appeared reports whether a file that was not there before matches the gate's
// patterns now.
func (b *Book) appeared(k kept, changed map[string]bool) bool {
	for path := range changed {
		for _, pattern := range append(slices.Clone(k.ref.Gate.Depends), k.ref.Gate.Inputs...) {
			if matches(pattern, path) {
				return true
			}
		}
	}
	return false
}

func (b *Book) record(k kept) *record {
	return &record{
		Schema: schema, Top: b.tree.Top, Ledger: k.ref.Ledger, Gate: k.ref.Gate.ID,
		At:      k.pass.At.UTC().Truncate(time.Second).Format(time.RFC3339),
		Context: k.in.digest(), Evidence: k.pass.Evidence, EvidenceSHA256: hash(k.pass.Evidence),
		DurationMS: max(0, k.pass.Run.DurationMS), Ingredients: k.in, Variables: variables(b.set.Env(k.ref.Gate)),
	}
}

func (b *Book) write(r *record) error {
	data, err := r.bytes()
	if err != nil {
		return err
	}
	if len(data) > MaxRecord {
		return nil // a huge environment: no receipt, and the gate runs
	}
	return safefile.Replace(filepath.Join(b.dir, name(r.Top, r.Ledger, r.Gate)), data, 0o600)
}
