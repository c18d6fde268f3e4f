package allowlist

import (
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/gatesworn/gatesworn/approval"
)

// MaxSignatures is how many signature files one statement may have.
const MaxSignatures = 64

// Options is what an allowlist is read from. Judged.Blob is called from several
// goroutines.
type Options struct {
	Judged  approval.Tree // statements and signatures come from here
	Trust   approval.Tree // of the trust ref; nil: no statement is trusted
	Signers Signers       // at the trust ref
	Now     time.Time     // one for all decisions of a run
}

// List is the statements of one judged commit. It is an approval.Statements. It
// reads files when they are needed and keeps answers, not bytes.
type List struct {
	opts  Options
	items []*item
	stray []string

	once     sync.Once
	loadErr  error
	byDigest map[[32]byte][]*item
	byGate   map[string][]*item
	odd      []*item // whose text names no gate in the canonical way
	roots    []*item

	mu sync.Mutex
}

var _ approval.Statements = (*List)(nil)

// item is one statement, however many names its bytes have.
type item struct {
	path      string
	entry     approval.Entry
	tree      approval.Tree
	sigs      []signatureFile
	trusted   bool
	trustOnly bool // not in the judged commit
	evidence  bool
	issued    string // as its text says, for the newest first

	done   bool
	answer approval.Statement
}

type signatureFile struct {
	entry approval.Entry
	tree  approval.Tree
}

// Open finds the statements and signatures of the trees. It reads no file unless
// a tree has no object ids.
func Open(o Options) (*List, error) {
	l := &List{opts: o}
	byID := map[string]*item{}
	stray, err := l.collect(o.Judged, byID, false)
	if err != nil {
		return nil, err
	}
	l.stray = stray
	if o.Trust != nil {
		if _, err := l.collect(o.Trust, byID, true); err != nil {
			return nil, err
		}
	}
	sort.Slice(l.items, func(i, j int) bool { return l.items[i].path < l.items[j].path })
	return l, nil
}

// Stray lists the files beneath approvals that are neither a statement nor a
// signature of one, sorted: they count for nothing.
func (l *List) Stray() []string { return l.stray }

// collect adds the statements of one tree. Equal bytes are one statement.
func (l *List) collect(t approval.Tree, byID map[string]*item, trust bool) (stray []string, err error) {
	byPath := map[string]*item{}
	files := beneath(t.Entries(), approval.ApprovalsPath)
	for _, e := range files {
		if !isStatement(e.Path) || e.Mode != approval.ModeFile {
			continue
		}
		id, err := identity(t, e)
		if err != nil {
			return nil, err
		}
		it := byID[id]
		if it == nil {
			it = &item{path: e.Path, entry: e, tree: t, trustOnly: trust}
			byID[id] = it
			l.items = append(l.items, it)
		}
		it.trusted = it.trusted || trust
		byPath[e.Path] = it
	}
	for _, e := range files {
		if byPath[e.Path] != nil {
			continue
		}
		it := byPath[signatureOf(e.Path)]
		if it == nil || e.Mode != approval.ModeFile {
			stray = append(stray, e.Path)
			continue
		}
		it.sigs = append(it.sigs, signatureFile{e, t})
	}
	return stray, nil
}

// identity is equal for equal bytes: the object id, or the digest where there is none.
func identity(t approval.Tree, e approval.Entry) (string, error) {
	if e.OID != "" {
		return e.OID, nil
	}
	data, err := t.Blob(e)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", e.Path, err)
	}
	return approval.Digest(data), nil
}

// beneath returns the entries whose path begins with prefix; entries are sorted.
func beneath(entries []approval.Entry, prefix string) []approval.Entry {
	from := sort.Search(len(entries), func(i int) bool { return entries[i].Path >= prefix })
	n := sort.Search(len(entries)-from, func(i int) bool { return !strings.HasPrefix(entries[from+i].Path, prefix) })
	return entries[from : from+n]
}

// load makes the index: one look at each statement's bytes.
func (l *List) load() error {
	l.once.Do(func() {
		l.byDigest, l.byGate = map[[32]byte][]*item{}, map[string][]*item{}
		sketches := make([]sketch, len(l.items))
		if l.loadErr = l.skimAll(sketches); l.loadErr != nil {
			return
		}
		for i, it := range l.items {
			l.index(it, sketches[i])
		}
	})
	return l.loadErr
}

// skimAll sketches all statements: those of the judged commit on every processor,
// because reading ten thousand objects is most of the work.
func (l *List) skimAll(sketches []sketch) error {
	workers := min(runtime.GOMAXPROCS(0), 1+len(l.items)/64)
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			var scratch []byte
			for i := w; i < len(l.items) && errs[w] == nil; i += workers {
				if !l.items[i].trustOnly {
					errs[w] = l.items[i].skim(&sketches[i], &scratch)
				}
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	var scratch []byte
	for i, it := range l.items {
		if !it.trustOnly {
			continue
		}
		if err := it.skim(&sketches[i], &scratch); err != nil {
			return err
		}
	}
	return nil
}

// skim leaves the sketch of a statement that is too large empty.
func (it *item) skim(s *sketch, scratch *[]byte) error {
	data, err := it.tree.Blob(it.entry)
	if err != nil {
		return fmt.Errorf("read %s: %w", it.path, err)
	}
	if len(data) <= MaxStatement {
		*s = skim(data, scratch)
	}
	return nil
}

func (l *List) index(it *item, s sketch) {
	it.issued, it.evidence = s.issued, s.evidence
	for _, d := range s.digests {
		l.byDigest[d] = appendOnce(l.byDigest[d], it)
	}
	for _, g := range s.gates {
		l.byGate[g] = appendOnce(l.byGate[g], it)
	}
	if s.root {
		l.roots = append(l.roots, it)
	}
	if len(s.digests) == 0 && len(s.gates) == 0 && !s.root {
		l.odd = append(l.odd, it)
	}
}

func appendOnce(list []*item, it *item) []*item {
	if n := len(list); n > 0 && list[n-1] == it {
		return list
	}
	return append(list, it)
}

// shownOthers is how many statements over other versions of a gate are looked at
// for an explanation when none approves the version that is asked for.
const shownOthers = 16

// About returns, verified and sorted by path, every statement that approves,
// retires or replaces one of the digests and every one with evidence for the
// gate. If none approves a digest, the newest 16 over other versions of the gate
// come with them, to explain the refusal, and what names the gate without being a
// statement. Without digests it returns everything about the gate.
func (l *List) About(ledger, gate string, digests ...string) ([]approval.Statement, error) {
	if err := l.load(); err != nil {
		return nil, err
	}
	chosen := map[*item]bool{}
	for _, d := range digests {
		var key [32]byte
		if raw, ok := strings.CutPrefix(d, "sha256:"); !ok || len(raw) != 64 {
			continue
		} else if _, err := hex.Decode(key[:], []byte(raw)); err != nil {
			continue
		}
		for _, it := range l.byDigest[key] {
			chosen[it] = true
		}
	}
	same := l.byGate[gateName(ledger, gate)]
	for _, it := range same {
		if it.evidence || len(digests) == 0 {
			chosen[it] = true
		}
	}
	approved, err := l.approves(chosen, digests)
	if err != nil {
		return nil, err
	}
	if !approved {
		if err := l.explain(chosen, same, ledger, gate); err != nil {
			return nil, err
		}
	}
	return l.answers(chosen)
}

// approves reports whether a chosen, valid statement approves one of the digests.
func (l *List) approves(chosen map[*item]bool, digests []string) (bool, error) {
	for it := range chosen {
		s, err := l.answer(it)
		if err != nil {
			return false, err
		}
		for _, o := range s.Approve {
			have := o.Digest()
			for _, want := range digests {
				if have == want {
					return true, nil
				}
			}
		}
	}
	return false, nil
}

func (l *List) explain(chosen map[*item]bool, same []*item, ledger, gate string) error {
	newest := append([]*item{}, same...)
	sort.SliceStable(newest, func(i, j int) bool { return newest[i].issued > newest[j].issued })
	for _, it := range newest[:min(shownOthers, len(newest))] {
		chosen[it] = true
	}
	for _, it := range l.odd[:min(shownOthers, len(l.odd))] {
		data, err := it.tree.Blob(it.entry)
		if err != nil {
			return fmt.Errorf("read %s: %w", it.path, err)
		}
		text := string(data)
		if len(data) > MaxStatement || strings.Contains(text, quoted(ledger)) && strings.Contains(text, quoted(gate)) {
			chosen[it] = true
		}
	}
	return nil
}

// Roots returns, verified and sorted by path, every statement over root files.
func (l *List) Roots() ([]approval.Statement, error) {
	if err := l.load(); err != nil {
		return nil, err
	}
	chosen := map[*item]bool{}
	for _, it := range l.roots {
		chosen[it] = !it.trustOnly
	}
	return l.answers(chosen)
}

// All returns every statement of the judged commit, verified and sorted by path.
func (l *List) All() ([]approval.Statement, error) {
	chosen := map[*item]bool{}
	for _, it := range l.items {
		chosen[it] = !it.trustOnly
	}
	return l.answers(chosen)
}

func (l *List) answers(chosen map[*item]bool) ([]approval.Statement, error) {
	var out []approval.Statement
	for _, it := range l.items {
		if !chosen[it] {
			continue
		}
		s, err := l.answer(it)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// answer parses and verifies a statement, once.
func (l *List) answer(it *item) (approval.Statement, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if it.done {
		return it.answer, nil
	}
	data, err := it.tree.Blob(it.entry)
	if err != nil {
		return approval.Statement{}, fmt.Errorf("read %s: %w", it.path, err)
	}
	s, err := Parse(data)
	if err != nil {
		s = approval.Statement{ID: approval.Digest(data), Fault: err.Error()}
	}
	s.Path, s.Trusted = it.path, it.trusted
	if s.Fault == "" && len(it.sigs) > MaxSignatures {
		s.Fault = fmt.Sprintf("it has more than %d signatures", MaxSignatures)
	}
	if s.Fault == "" {
		if s.Signatures, err = l.verify(it, data); err != nil {
			return approval.Statement{}, err
		}
	}
	if it.trustOnly {
		s = onlyReplaces(s)
	}
	it.answer, it.done = s, true
	return s, nil
}

func (l *List) verify(it *item, data []byte) ([]approval.Signature, error) {
	var out []approval.Signature
	seen := map[approval.Signature]bool{}
	for _, f := range it.sigs {
		armored, err := f.tree.Blob(f.entry)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", f.entry.Path, err)
		}
		// Both trees mostly hold the same files.
		if sig, _ := Verify(armored, data, l.opts.Signers, l.opts.Now); !seen[sig] {
			seen[sig] = true
			out = append(out, sig)
		}
	}
	return out, nil
}

// onlyReplaces is what a statement that the judged commit does not have may still
// say: that older versions are out of use. It approves, retires and vouches for
// nothing there.
func onlyReplaces(s approval.Statement) approval.Statement {
	own := map[string]bool{}
	for _, o := range s.Approve {
		own[o.Digest()] = true
	}
	var replaces []string
	for _, d := range s.Replaces {
		if !own[d] { // a renewal replaces nothing
			replaces = append(replaces, d)
		}
	}
	s.Approve, s.Retire, s.Evidence, s.Root, s.Replaces = nil, nil, nil, nil, replaces
	return s
}
