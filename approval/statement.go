package approval

import "time"

// Statement is what approval/allowlist read from one approval file: its fields,
// and who signed its bytes. It is a value; Decide judges it.
type Statement struct {
	ID    string // "sha256:" and the hex of its bytes
	Path  string // of the file, for messages
	Fault string // why it is no valid statement, "" if it is one

	Project   string
	IssuedAt  time.Time
	ExpiresAt time.Time // zero: does not expire
	Approve   []Oracle
	Retire    []Oracle
	Evidence  []SignedEvidence
	// Root maps a path beneath .gatesworn to the lower-case hex SHA-256 of its new
	// content, RootAbsent for a file that is deleted. nil when the statement is about no root.
	Root     map[string]string
	Replaces []string // oracle digests
	Note     string

	Signatures []Signature // in a fixed order
	Trusted    bool        // the same bytes stand at the trust ref, under whatever name
}

// RootAbsent is the value in Statement.Root of a file that is deleted.
const RootAbsent = "absent"

// Signature is one signature file of a statement.
type Signature struct {
	Principal string // derived from the key that signed, "" when no signer has that key
	Key       string // fingerprint, SHA256:…
	Fault     string // why it does not count now, "" if it does: "key expired on 2026-10-01"
	Hardware  bool   // an sk-* key with the user-presence flag set
}

// SignedEvidence is a signer's word for a manual gate.
type SignedEvidence struct {
	Ledger, Gate, Outcome string
	Text                  string    // the EVIDENCE value, exactly
	Tree                  string    // the judged tree it is for, or ""
	ExpiresAt             time.Time // zero when it is for a tree
}

// Statements is what approval needs of the allowlist (approval/allowlist).
type Statements interface {
	// About returns, verified, every statement that approves or retires an oracle
	// of the gate, holds evidence for it, or replaces one of the digests. The error
	// is for files that could not be read; what is wrong with a statement is in its Fault.
	About(ledger, gate string, digests ...string) ([]Statement, error)
	// Roots returns, verified, every statement with a root.
	Roots() ([]Statement, error)
}

// Formats checks the root files whose formats belong to approval/allowlist.
type Formats interface {
	// Signers parses allowed_signers and returns its principals, sorted. Errors begin with path:line.
	Signers(path string, data []byte) ([]string, error)
	// Revoked parses a revoked file and returns its digests, sorted. Errors begin with path:line.
	Revoked(path string, data []byte) ([]string, error)
}

// signers returns the distinct principals whose signatures count under keys, sorted.
func (s Statement) signers(keys Keys) []string {
	seen := map[string]bool{}
	for _, g := range s.Signatures {
		if g.Fault == "" && g.Principal != "" && (keys == KeysAny || keys == KeysHardware && g.Hardware) {
			seen[g.Principal] = true
		}
	}
	return sorted(seen)
}
