package judge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/approval/allowlist"
	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/gatesworn/gatesworn/internal/gitobj"
)

// RenewWithin is how long before its end an approval is offered for renewal.
const RenewWithin = 14 * 24 * time.Hour

// OfferKind says why a signature is asked for. The zero value is none.
type OfferKind int

// The kinds, in the order in which they are shown.
const (
	OfferNone OfferKind = iota
	OfferChanged
	OfferNew
	OfferRemoved
	OfferSecond
	OfferRenewal
	OfferEvidence
	OfferRoot
)

// String is the first word of the offer.
func (k OfferKind) String() string {
	return [...]string{"none", "changed", "new", "removed", "second", "renewal", "evidence", "root"}[k]
}

// Item is one thing to sign.
type Item struct {
	Kind   OfferKind
	Ledger string
	Name   string // qualified gate, as surfaces print it; of the first gate for a second signature
	Gate   ledger.Gate
	Oracle approval.Oracle // to approve, or to retire

	Was     *approval.Oracle // with OfferChanged: what was signed last, else what the trust ref holds
	By      []string         // with OfferChanged, OfferSecond and OfferRenewal: who signed
	At      time.Time        // and when
	Expires time.Time        // with OfferRenewal
	Weak    []string         // what makes it easier to pass than before

	Statement *approval.Statement      // with OfferSecond: what waits for another signature
	Data      []byte                   // its bytes
	Evidence  *approval.SignedEvidence // with OfferEvidence
	Files     []approval.FileChange    // with OfferRoot

	alone OfferKind // what it is if its statement gets no second signature
}

// Hindrance is a gate that no signature can help.
type Hindrance struct{ Name, Text, Next string }

// Offer is everything open at once.
type Offer struct {
	Items         []Item
	Hindered      []Hindrance
	Signed, Gates int // gates whose signatures are complete, of all that need some

	current map[string]bool // digests that a signer may agree to: of gates as they stand, and of removed ones
}

// SigningTrust is the commit whose signers may sign HEAD: the trust ref, or HEAD
// itself while nothing stands at the trust ref (first set-up, or no remote yet).
func (w *Workspace) SigningTrust(ctx context.Context, name string) (trust TrustCommit, first bool, err error) {
	trust, err = w.TrustRef(ctx, name)
	switch {
	case err == nil:
		root := approval.ReadTrustRoot(trust.Ref, trust.Commit, trust.Tree, allowlist.Formats{})
		if root.State != approval.RootMissing {
			return trust, false, nil
		}
	case name != "" || w.Git == nil || !errors.Is(err, gitobj.ErrNotFound):
		return trust, false, err
	}
	trust, err = w.TrustRef(ctx, "HEAD")
	trust.Ref = "HEAD"
	return trust, true, err
}

// Offer lists what is open in the judged commit for a signer of that principal;
// "" leaves nobody's signatures out.
func (p *PullRequest) Offer(sources []gates.Source, principal string) (Offer, error) {
	o := Offer{current: map[string]bool{}}
	paths := make([]string, len(sources))
	for i, s := range sources {
		paths[i] = s.Path
	}
	for i, stem := range gates.Names(paths) {
		for _, g := range sources[i].Doc.Gates {
			if g.AbandonedLine > 0 {
				continue
			}
			ref := gates.GateRef{Name: stem + ":" + g.ID, Ledger: paths[i], Gate: g}
			if err := p.offerGate(&o, ref, principal); err != nil {
				return o, err
			}
		}
	}
	for _, lost := range p.Guard.Lost() {
		o.current[lost.Oracle.Digest()] = true
		if lost.Oracle.Digest() == "" {
			o.Hindered = append(o.Hindered, Hindrance{lost.Gate.ID, "is removed, and its definition at " + p.Root.Ref + " cannot be named", "put it back"})
			continue
		}
		name := gates.Names(append(slices.Clone(paths), lost.Ledger))
		o.Items = append(o.Items, Item{
			Kind: OfferRemoved, Ledger: lost.Ledger, Name: name[len(name)-1] + ":" + lost.Gate.ID, Gate: lost.Gate, Oracle: lost.Oracle,
		})
	}
	if p.Change.Changed() && !p.Signed && p.Root.State == approval.RootValid {
		o.Items = append(o.Items, Item{Kind: OfferRoot, Name: approval.RootFolder, Files: p.Change.Files})
	}
	if err := p.seconds(&o, principal); err != nil {
		return o, err
	}
	slices.SortStableFunc(o.Items, func(a, b Item) int { return int(a.Kind) - int(b.Kind) })
	return o, nil
}

// offerGate adds what one gate of the judged commit needs.
func (p *PullRequest) offerGate(o *Offer, ref gates.GateRef, principal string) error {
	oracle, d := p.Decide(ref)
	if d.Err != nil {
		return d.Err
	}
	o.Gates++
	o.current[oracle.Digest()] = true
	item := Item{Ledger: ref.Ledger, Name: ref.Name, Gate: ref.Gate, Oracle: oracle}
	switch d.Reason {
	case approval.Signed, approval.NotPinned:
		o.Signed++
		if end := p.end(d); !end.IsZero() && end.Sub(p.now) < RenewWithin {
			item.Kind, item.By, item.At, item.Expires = OfferRenewal, d.By, d.Issued, end
			o.Items = append(o.Items, item)
		}
		return nil
	case approval.EvidenceSigned, approval.EvidenceClaimed:
		o.Signed++
		return nil
	case approval.BadOracle, approval.NotBound, approval.InputsMissing, approval.NoRoot, approval.OtherRoot:
		o.Hindered = append(o.Hindered, Hindrance{ref.Name, d.Text, d.Next})
		return nil
	case approval.Revoked:
		if p.revoked.Has(oracle.Digest()) { // else an older version was, which hinders nobody
			o.Hindered = append(o.Hindered, Hindrance{ref.Name, d.Text, d.Next})
			return nil
		}
	}
	if !oracle.Runnable() {
		return p.offerEvidence(o, item, d)
	}
	item.Kind = OfferNew
	if err := p.previous(&item); err != nil {
		return err
	}
	item.Weak = approval.Weakening(item.Was, oracle)
	if d.Reason == approval.TooFewSigners && len(d.Considered) > 0 && p.waits(d.Considered[0].ID, principal, &item) {
		item.alone, item.Kind = item.Kind, OfferSecond
	}
	o.Items = append(o.Items, item)
	return nil
}

// end is when an approval stops counting, zero for never.
func (p *PullRequest) end(d approval.Decision) time.Time {
	end := d.Expires
	if age := p.Root.Policy.MaxAge; age > 0 && (end.IsZero() || d.Issued.Add(age).Before(end)) {
		end = d.Issued.Add(age)
	}
	return end
}

// offerEvidence offers the evidence of a manual gate, for 14 days: the judged tree
// itself will change with the very commit of the signature.
func (p *PullRequest) offerEvidence(o *Offer, item Item, d approval.Decision) error {
	g := item.Gate
	if !g.Ticked || g.Evidence == "" {
		o.Hindered = append(o.Hindered, Hindrance{item.Name, d.Text, "do what it says, tick it and write EVIDENCE"})
		return nil
	}
	item.Kind = OfferEvidence
	item.Evidence = &approval.SignedEvidence{
		Ledger: item.Ledger, Gate: g.ID, Outcome: g.Outcome, Text: g.Evidence,
		ExpiresAt: p.now.UTC().Truncate(time.Second).Add(approval.MaxEvidenceLife),
	}
	o.Items = append(o.Items, item)
	return nil
}

// previous finds the definition that was signed last, else the trust ref's.
func (p *PullRequest) previous(item *Item) error {
	statements, err := p.list.About(item.Ledger, item.Gate.ID)
	if err != nil {
		return err
	}
	digest := item.Oracle.Digest()
	for _, s := range statements {
		by := counted(s)
		if s.Fault != "" || len(by) == 0 || !s.IssuedAt.After(item.At) {
			continue
		}
		for _, was := range s.Approve {
			if was.Ledger == item.Ledger && was.Gate == item.Gate.ID && was.Digest() != digest {
				item.Was, item.By, item.At, item.Kind = &was, by, s.IssuedAt, OfferChanged
			}
		}
	}
	if item.Was != nil {
		return nil
	}
	c := approval.CompareGate(approval.ReadLedger(p.trust, item.Ledger), p.trust, item.Oracle)
	if c.Change == approval.ChangeMade {
		item.Was, item.Kind = c.Was, OfferChanged
	}
	return nil
}

// counted lists the principals whose signatures of a statement count.
func counted(s approval.Statement) []string {
	var by []string
	for _, g := range s.Signatures {
		if g.Fault == "" && g.Principal != "" && !slices.Contains(by, g.Principal) {
			by = append(by, g.Principal)
		}
	}
	slices.Sort(by)
	return by
}

// waits reports whether a signed statement lacks only further signatures, the
// signer's among them, and fills it in.
func (p *PullRequest) waits(id, principal string, item *Item) bool {
	statements, err := p.list.About(item.Ledger, item.Gate.ID, item.Oracle.Digest())
	if err != nil {
		return false
	}
	for _, s := range statements {
		by := counted(s)
		if s.ID != id || s.Fault != "" || len(by) == 0 || slices.Contains(by, principal) {
			continue
		}
		e := entryAt(p.judged, s.Path)
		if e.Path == "" {
			return false // only at the trust ref: its bytes are not this commit's
		}
		data, err := p.judged.Blob(e)
		if err != nil || approval.Digest(data) != s.ID {
			return false
		}
		item.Statement, item.Data, item.By, item.At = &s, data, by, s.IssuedAt
		return true
	}
	return false
}

// seconds joins items that wait for the same statement into one, and leaves to a
// new statement what shares its statement with a definition that is no longer current.
func (p *PullRequest) seconds(o *Offer, principal string) error {
	if err := p.waitingRest(o, principal); err != nil {
		return err
	}
	kept := o.Items[:0]
	seen := map[string]bool{}
	for _, i := range o.Items {
		if i.Kind == OfferSecond {
			current := true
			for _, other := range slices.Concat(i.Statement.Approve, i.Statement.Retire) {
				current = current && o.current[other.Digest()]
			}
			switch {
			case !current:
				i.Kind, i.Statement, i.Data = i.alone, nil, nil
			case seen[i.Statement.ID]:
				continue
			default:
				seen[i.Statement.ID] = true
			}
		}
		kept = append(kept, i)
	}
	o.Items = kept
	return nil
}

// waitingRest turns removals, evidence and a changed root that somebody else has
// already signed, but too few, into second signatures.
func (p *PullRequest) waitingRest(o *Offer, principal string) error {
	all, err := p.list.All()
	if err != nil {
		return err
	}
	for i := range o.Items {
		item := &o.Items[i]
		if item.Kind != OfferRemoved && item.Kind != OfferRoot && item.Kind != OfferEvidence {
			continue
		}
		for _, s := range all {
			by := counted(s)
			if s.Fault != "" || s.Trusted && item.Kind == OfferRoot || p.revoked.Has(s.ID) || len(by) == 0 || len(by) >= p.Root.Policy.Threshold || slices.Contains(by, principal) || !item.in(s) {
				continue
			}
			data, err := p.judged.Blob(entryAt(p.judged, s.Path))
			if err != nil || approval.Digest(data) != s.ID {
				continue
			}
			item.alone, item.Kind = item.Kind, OfferSecond
			item.Statement, item.Data, item.By, item.At = &s, data, by, s.IssuedAt
			break
		}
	}
	return nil
}

// in reports whether a statement says what the item needs.
func (i *Item) in(s approval.Statement) bool {
	if i.Kind == OfferEvidence {
		return slices.ContainsFunc(s.Evidence, func(e approval.SignedEvidence) bool {
			return e.Ledger == i.Evidence.Ledger && e.Gate == i.Evidence.Gate && e.Outcome == i.Evidence.Outcome && e.Text == i.Evidence.Text &&
				e.ExpiresAt.Add(RenewWithin/2).After(i.Evidence.ExpiresAt)
		})
	}
	if i.Kind == OfferRemoved {
		return slices.ContainsFunc(s.Retire, func(o approval.Oracle) bool { return o.Digest() == i.Oracle.Digest() })
	}
	for _, f := range i.Files {
		if s.Root[f.Path] != rootValue(f) {
			return false
		}
	}
	return len(i.Files) > 0
}

func rootValue(f approval.FileChange) string {
	if f.New == "" {
		return approval.RootAbsent
	}
	return f.New
}

// Statement makes the one statement that says everything in items but second
// signatures, whose statements exist. ok is false when nothing is left to say.
func (p *PullRequest) Statement(items []Item) (s approval.Statement, ok bool, err error) {
	s.Project = p.Root.Policy.Project
	s.IssuedAt = p.now.UTC().Truncate(time.Second)
	for _, i := range items {
		switch i.Kind {
		case OfferNew, OfferChanged, OfferRenewal:
			s.Approve = append(s.Approve, i.Oracle)
			older, err := p.list.Older(i.Ledger, i.Gate.ID, i.Oracle.Digest())
			if err != nil {
				return s, false, err
			}
			s.Replaces = append(s.Replaces, older...)
		case OfferRemoved:
			s.Retire = append(s.Retire, i.Oracle)
		case OfferEvidence:
			s.Evidence = append(s.Evidence, *i.Evidence)
		case OfferRoot:
			s.Root = map[string]string{}
			for _, f := range i.Files {
				s.Root[f.Path] = rootValue(f)
			}
		default:
			continue
		}
		ok = true
		if err := p.after(&s, i); err != nil {
			return s, false, err
		}
	}
	slices.Sort(s.Replaces)
	s.Replaces = slices.Compact(s.Replaces)
	return s, ok, nil
}

// after dates the statement later than every other about the gate: the order in
// which a gate was approved, replaced and retired decides, to the second.
func (p *PullRequest) after(s *approval.Statement, i Item) error {
	if i.Kind == OfferRoot || i.Kind == OfferEvidence {
		return nil
	}
	statements, err := p.list.About(i.Ledger, i.Gate.ID)
	if err != nil {
		return err
	}
	for _, other := range statements {
		if other.Fault == "" && !other.IssuedAt.Before(s.IssuedAt) {
			s.IssuedAt = other.IssuedAt.Add(time.Second)
		}
	}
	if s.IssuedAt.After(p.now.Add(approval.Skew)) {
		return fmt.Errorf("an approval of %s is dated %s, in the future: set this machine's clock", i.Name, s.IssuedAt.Format(time.RFC3339))
	}
	return nil
}
