package approval

import (
	"fmt"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
)

// MaxPolicy is the largest policy.yml read, in bytes.
const MaxPolicy = 16 << 10

// Removal says whether gates of standing ledgers may go. The zero value is no rule and denies.
type Removal string

const (
	RemovalDeny  Removal = "deny"
	RemovalAllow Removal = "allow"
)

// ManualRule says what makes a manual gate met in a pull request. The zero value accepts nothing.
type ManualRule string

const (
	ManualSigned   ManualRule = "signed"
	ManualEvidence ManualRule = "evidence"
)

// Keys says which keys' signatures count. The zero value counts none.
type Keys string

const (
	KeysAny      Keys = "any"
	KeysHardware Keys = "hardware"
)

// Clean says what a tracked file that differs from its blob is. The zero value is an error, as required.
type Clean string

const (
	CleanRequired Clean = "required"
	CleanReport   Clean = "report"
)

// Inputs says whether every runnable gate must bind INPUTS. The zero value requires it.
type Inputs string

const (
	InputsOptional Inputs = "optional"
	InputsRequired Inputs = "required"
)

// Policy is .gatesworn/policy.yml. The zero value refuses everything: Valid is
// false, the threshold cannot be met and no key counts.
type Policy struct {
	Version    int
	Project    string
	Repository string // owner/name
	Ledgers    []string
	Tasks      []string
	Branches   []string
	Threshold  int
	Inputs     Inputs
	MaxAge     time.Duration // 0: approvals do not age
	Removal    Removal
	Manual     ManualRule
	Keys       Keys
	Clean      Clean
	Shell      string
	Jobs       int
	Env        []string
}

// defaults are the values of absent keys (3-approval, policy.yml).
func defaults() Policy {
	return Policy{
		Ledgers: []string{"GATES.md"}, Threshold: 1, Inputs: InputsOptional, Removal: RemovalDeny,
		Manual: ManualSigned, Keys: KeysAny, Clean: CleanRequired, Shell: "/bin/sh", Jobs: 1,
	}
}

// Valid reports whether the policy came out of ParsePolicy without a problem.
func (p Policy) Valid() bool { return p.Version == 1 && p.Project != "" && p.Threshold > 0 }

// Governs reports whether a pull request into base may be a success: base is the
// default branch or listed. Names are compared whole, without refs/heads/.
func (p Policy) Governs(defaultBranch, base string) bool {
	if !p.Valid() || base == "" || defaultBranch == "" {
		return false
	}
	if base == defaultBranch {
		return true
	}
	for _, b := range p.Branches {
		if b == base {
			return true
		}
	}
	return false
}

// Kind is what a ledger is to the policy. The zero value is neither and refuses.
type Kind int

const (
	KindNone Kind = iota
	Standing
	Task
)

// String gives the report's word.
func (k Kind) String() string {
	switch k {
	case Standing:
		return "standing"
	case Task:
		return "task"
	}
	return "none"
}

// KindOf says what the ledger at path is: standing if a pattern of ledgers
// matches, else task. Without a valid policy every ledger is a task ledger.
func (p Policy) KindOf(path string) Kind {
	if p.Valid() && matchAny(p.Ledgers, path) {
		return Standing
	}
	return Task
}

// LedgerPaths returns the paths of a tree that the globs match, sorted, whatever
// stands there: a link or a submodule is for the caller to refuse.
func LedgerPaths(t Tree, globs []string) []string {
	found := map[string]bool{}
	for _, e := range t.Entries() {
		if matchAny(globs, e.Path) {
			found[e.Path] = true
		}
	}
	return sorted(found)
}

func matchAny(globs []string, path string) bool {
	for _, g := range globs {
		if ok, err := doublestar.Match(g, path); err == nil && ok {
			return true
		}
	}
	return false
}

// Problem is one thing wrong with a root file.
type Problem struct {
	Path         string
	Line, Column int // from 1; 0 for the whole file
	Message      string
}

func (p Problem) Error() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s", p.Path, p.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.Path, p.Line, p.Column, p.Message)
}

// Problems is every problem of one file, in line order.
type Problems []Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}
