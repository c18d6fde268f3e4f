package gates

import (
	"time"

	"github.com/gatesworn/gatesworn/gates/expect"
	"github.com/gatesworn/gatesworn/gates/ledger"
)

// Mode says which gates a run measures. The zero value, Status, measures none.
type Mode int

// The modes of check.
const (
	Status   Mode = iota // report what the ledgers claim; run nothing
	Unmet                // run what is approved and not met by its claim
	Reverify             // run everything that is approved
	AsPR                 // decide and run as the Action does; claims count for nothing
)

// Source is one ledger to judge.
type Source struct {
	Path     string // relative to the top, slash separated; the report's path
	Abs      string
	Standing bool // always measured, never written (3-approval)
	SHA256   string
	Doc      *ledger.Document
	// Dir resolves the directory a gate's check runs in. Its error stops the
	// run before anything started: a CWD that leaves the repository is not a
	// failing gate but a ledger nobody should run.
	Dir      func(g ledger.Gate) (abs, rel string, err error)
	Recorder Recorder // nil: results are not written
}

// Removal is a gate of the trust ref that the judged ledgers no longer have.
type Removal struct {
	Ledger string // relative to the top
	Gate   Gate   // State, Line and Name are filled in by Check
}

// Job is everything a run needs besides what it may do (Permit) and how (Exec).
type Job struct {
	Mode    Mode
	Sources []Source
	Removed []Removal
	Only    Selection // empty: every gate
	// DecideOnly stops after the decisions: what may run is reported as not run.
	DecideOnly bool

	Jobs    int           // checks at a time, at least 1
	Timeout time.Duration // of a gate without TIMEOUT
	Shell   string        // absolute path
	Env     func(g ledger.Gate) []string
	Path    string // PATH of the checks, for the evidence line
	Tree    string // HEAD^{tree} when only ledgers differ from it, else ""

	// OtherTree reports whether the tree named in an evidence line differs from
	// this one in more than ledgers; nil: not known, nothing is said.
	OtherTree func(tree string) bool

	// Reuse remembers earlier passes; nil: every gate is judged as the mode says.
	Reuse Reuse
	// Share says whether a gate belongs to this part of a sharded run; nil: all do.
	Share func(ledger, id string) bool

	// Expected returns the last recorded duration of a gate, 0 if unknown.
	Expected func(g GateRef) time.Duration
	// Unpassed names variables that the output mentions, that are set here and
	// that were not passed to the check.
	Unpassed  func(g ledger.Gate, output string) []string
	Container bool // checks run in the Action's container

	Engine *expect.Engine // matches the expectations
	Now    func() time.Time
	Base   Report // tool, trust, subject, protections, execution as known beforehand
}

// Entry is one result on its way into a ledger.
type Entry struct {
	Gate     ledger.Gate // the definition that ran
	Passed   bool
	Evidence string // value of the EVIDENCE line of a gate that passed
}

// Recorded says what became of an entry. The zero value is a failure.
type Recorded int

// What can become of an entry.
const (
	RecordFailed    Recorded = iota // the ledger could not be written
	RecordWritten                   // it is on disk, or the ledger already said so
	RecordStale                     // the definition changed while the check ran: discarded
	RecordAbandoned                 // the gate was abandoned while the check ran: discarded
	RecordUnneeded                  // there is nothing to write for it
)

// Recorder writes results into one ledger. Record returns at once; done is
// called exactly once, from another goroutine, when the entry's fate is known.
// Flush has what is waiting written without further delay and may be called
// at any time, also while entries still come.
type Recorder interface {
	Record(e Entry, done func(Recorded, error))
	Flush()
}

// Observer is told what happens, from one goroutine. Withheld and Result come in
// ledger order, Withheld before anything runs; Planned says how many checks are
// going to run, Started and Ended come as it happens.
type Observer interface {
	Withheld(g Gate)
	Planned(checks int)
	Started(name string, at time.Time)
	Ended(name string)
	Result(g Gate)
}
