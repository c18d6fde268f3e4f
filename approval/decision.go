package approval

import "time"

// Mode says which approvals count. The zero value counts none and refuses.
type Mode int

const (
	ModeNone      Mode = iota
	ModeLocal          // this user's records alone; the allowlist approves nothing here
	ModePinned         // this user's records, or the allowlist of a root pinned on this machine
	ModeAllowlist      // the allowlist alone: the Action, and --as-pr on a machine with a pin
	ModePreview        // as ModeAllowlist, and nothing runs: --as-pr without a pin
)

// Skew is how far into the future a statement may be issued (3-approval).
const Skew = 5 * time.Minute

// MaxEvidenceLife is how long signed evidence that names no tree may last (3-approval).
const MaxEvidenceLife = 14 * 24 * time.Hour

// Local is what approval/store found for the definition.
type Local struct {
	Approved   bool
	ID         string // sha256:… of the record, "" without one
	ApprovedAt time.Time
	// Near says which single thing differs from a record that is there, such as
	// "approved before with another PATH: 2 entries differ". "" for none.
	Near string
	// Err says why the store could not be read. It is no "not approved": the run ends in status 2.
	Err error
}

// Request is everything that one decision depends on. Nothing else is read.
type Request struct {
	Mode   Mode
	Now    time.Time // one for all decisions of a run
	Oracle Oracle
	Bind   error // why INPUTS could not be bound, or the path is reached through a link; nil otherwise

	Local Local

	Root       TrustRoot
	Revoked    Revocations // of the trust ref, the judged commit and, on a laptop, the pin
	Statements []Statement // what Statements.About returned for the gate

	// For a manual gate: its EVIDENCE value, whether box and evidence stand by the
	// ledger's own rule, and the hashes that count as the judged tree.
	Evidence string
	Claimed  bool
	Trees    []string
}

// Source says where an approval came from: "local" or "allowlist".
type Source string

const (
	SourceLocal     Source = "local"
	SourceAllowlist Source = "allowlist"
)

// Decision is the answer. The zero value refuses.
type Decision struct {
	Allowed bool // the command may run; for a manual gate, its evidence counts
	Reason  Reason
	Text    string // why, for people: "EXPECT differs from what alice signed on 2026-10-02 (…)"
	Next    string // what cures it, "" when allowed
	Err     error  // the answer could not be known (status 2)

	Source          Source
	By              []string // principals, sorted
	ID              string   // of the statement or record
	Issued, Expires time.Time

	Considered []Considered // every approval looked at, the closest first
}

// Considered is one approval that was looked at and the rule that decided on it.
type Considered struct {
	ID      string
	By      []string
	Issued  time.Time
	Same    bool // it approves exactly the definition in front of us
	Reason  Reason
	Text    string
	Changes []FieldChange // with Differs
}

// Decide says whether a gate's command may run, or a manual gate's evidence
// counts. It is pure: the same request gives the same decision. Every path to
// execution goes through it, and everything it does not know refuses.
func Decide(r Request) Decision {
	if err := r.Oracle.Validate(); err != nil {
		return refuse(BadOracle, err.Error(), "correct the ledger")
	}
	if r.Bind != nil {
		return refuse(NotBound, r.Bind.Error(), "correct INPUTS or the file it names")
	}
	if len(r.Oracle.InputPatterns) > 0 && len(r.Oracle.Inputs) == 0 {
		return refuse(NotBound, "INPUTS was not bound to files", "correct INPUTS")
	}
	switch r.Mode {
	case ModeLocal:
		return decideLocal(r)
	case ModePinned:
		return decidePinned(r)
	case ModeAllowlist:
		return decideAllowlist(r)
	case ModePreview:
		return preview(r, decideAllowlist(r))
	}
	return refuse(Undecided, "nothing was decided", "")
}

func refuse(reason Reason, text, next string) Decision {
	return Decision{Reason: reason, Text: text, Next: next}
}

// decideLocal: unlazy's rule for manual gates, this user's records for the rest.
func decideLocal(r Request) Decision {
	if !r.Oracle.Runnable() {
		if r.Claimed {
			return Decision{Allowed: true, Reason: EvidenceClaimed, Text: "ticked, with evidence", Source: SourceLocal}
		}
		return refuse(NoEvidence, "needs a tick and evidence by hand", "do what it says, then tick it and write EVIDENCE")
	}
	l := r.Local
	switch {
	case l.Err != nil:
		d := refuse(Unreadable, l.Err.Error(), "correct the approval folder")
		d.Err = l.Err
		return d
	case l.Approved && l.ID != "":
		return Decision{
			Allowed: true, Reason: ApprovedHere, Text: "approved here on " + day(l.ApprovedAt),
			Source: SourceLocal, ID: l.ID, Issued: l.ApprovedAt,
		}
	case l.Near != "":
		return refuse(OtherHere, l.Near, "read it, then gatesworn check --approve")
	}
	return refuse(NewHere, "new here", "read it, then gatesworn check --approve")
}

// decidePinned: either source allows, and a revocation denies both. That a
// definition was replaced denies only the signatures: this user's own consent to
// an older branch stands. The cure of a refusal is the local one, because that is
// what a person here can do.
func decidePinned(r Request) Decision {
	if r.Root.State != RootValid {
		return decideAllowlist(r)
	}
	signed := decideAllowlist(r)
	if signed.Allowed || r.Revoked.Has(r.Oracle.Digest()) {
		return signed
	}
	local := decideLocal(r)
	if !local.Allowed && local.Err == nil && len(r.Statements) > 0 {
		signed.Next = local.Next
		return signed
	}
	local.Considered = signed.Considered
	return local
}

// preview says what a pull request would get, and runs nothing: the signers are
// a stranger's until somebody here has looked at them.
func preview(r Request, d Decision) Decision {
	if !d.Allowed || !r.Oracle.Runnable() {
		return d
	}
	d.Allowed = false
	d.Reason = NotPinned
	d.Text += "; not run, because these signers are not pinned on this machine"
	d.Next = "gatesworn trust"
	return d
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }
