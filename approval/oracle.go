package approval

import "github.com/gatesworn/gatesworn/gates/ledger"

// BoundFile is one file that INPUTS matches: its content is part of the approval.
type BoundFile struct {
	Path   string `json:"path"` // slash separated, relative to the top
	Mode   string `json:"mode"` // 100644 or 100755
	SHA256 string `json:"sha256"`
}

// Oracle is what is approved. Field order is the canonical order; null and empty are as 3-approval says.
type Oracle struct {
	V             int         `json:"v"`
	Project       string      `json:"project"`
	Ledger        string      `json:"ledger"`
	Gate          string      `json:"gate"`
	Outcome       string      `json:"outcome"`
	Check         *string     `json:"check"`
	Expect        *string     `json:"expect"`
	CWD           string      `json:"cwd"`
	Timeout       *int        `json:"timeout"`
	Needs         []string    `json:"needs"`
	InputPatterns []string    `json:"inputPatterns"`
	Reads         []string    `json:"reads"`
	Writes        []string    `json:"writes"`
	Env           []string    `json:"env"`
	Inputs        []BoundFile `json:"inputs"` // nil is null: nothing is bound
}

// NewOracle builds the oracle of a gate. cwd is relative to the top, "." for the
// top; inputs are sorted by path, nil when the gate has no INPUTS.
func NewOracle(project, ledgerPath, cwd string, g ledger.Gate, inputs []BoundFile) Oracle {
	return Oracle{}
}

// Canonical returns the canonical JSON bytes.
func (o Oracle) Canonical() []byte { return nil }

// Digest returns "sha256:" and the lower-case hex of the canonical bytes.
func (o Oracle) Digest() string { return "" }
