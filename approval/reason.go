package approval

// Reason says which rule decided. The zero value is no decision and refuses.
// The order of the refusals of a statement is the documented order of the checks.
type Reason int

const (
	Undecided Reason = iota

	// What refuses before any approval is looked at.
	BadOracle     // the definition has no digest
	NotBound      // INPUTS cannot be bound
	InputsMissing // the policy wants INPUTS
	NoRoot        // the trust ref has no policy or no signers
	BrokenRoot    // the root cannot be read
	OtherRoot     // the definition is of another project

	// What refuses one statement, in the order of the checks.
	Malformed
	OtherProject
	NotYet
	Expired
	TooOld
	StatementRevoked
	Revoked
	Replaced
	Differs
	NotHardware
	TooFewSigners
	NotPinned // signed, but this machine does not trust the signers

	// What refuses locally.
	NewHere
	OtherHere  // approved here with something else
	Unreadable // the local store cannot be read

	// What refuses a manual gate.
	NoEvidence
	OtherEvidence // signed for another text, outcome or tree

	// What allows.
	ApprovedHere
	Signed
	EvidenceSigned
	EvidenceClaimed
)

// words are the stable short names of reasons, for explain and tests.
var words = map[Reason]string{
	Undecided: "undecided", BadOracle: "bad-definition", NotBound: "not-bound", InputsMissing: "inputs-missing",
	NoRoot: "no-root", BrokenRoot: "broken-root", OtherRoot: "other-root",
	Malformed: "malformed", OtherProject: "other-project", NotYet: "not-yet", Expired: "expired", TooOld: "too-old",
	StatementRevoked: "statement-revoked", Revoked: "revoked", Replaced: "replaced", Differs: "differs",
	NotHardware: "not-hardware", TooFewSigners: "too-few-signers", NotPinned: "not-pinned",
	NewHere: "new", OtherHere: "other-here", Unreadable: "unreadable",
	NoEvidence: "no-evidence", OtherEvidence: "other-evidence",
	ApprovedHere: "approved-here", Signed: "signed", EvidenceSigned: "evidence-signed", EvidenceClaimed: "evidence-claimed",
}

// String gives the stable short name.
func (r Reason) String() string {
	if w, ok := words[r]; ok {
		return w
	}
	return words[Undecided]
}

// Allows reports whether the reason is one that allows.
func (r Reason) Allows() bool {
	return r == ApprovedHere || r == Signed || r == EvidenceSigned || r == EvidenceClaimed
}
