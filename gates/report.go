package gates

import "time"

// Schema names the report's stable JSON form; report.schema.json in this folder describes it.
const Schema = "gatesworn.report/v1"

// Verdict sums up a run. The zero value is no verdict and maps to exit status 2.
type Verdict string

// The verdicts, most severe first.
const (
	VerdictError   Verdict = "error"
	VerdictUnmet   Verdict = "unmet"
	VerdictHandoff Verdict = "handoff-required"
	VerdictPartial Verdict = "partial"
	VerdictAllMet  Verdict = "all-met"
)

// Conclusion is the check run's conclusion. There is no neutral and no skipped:
// both satisfy a required check (8-github-facts, fact 11).
type Conclusion string

const (
	Success        Conclusion = "success"
	Failure        Conclusion = "failure"
	ActionRequired Conclusion = "action_required"
)

// State is what the run found out about a gate. The zero value is not met.
type State string

const (
	Met        State = "met"
	Failed     State = "failed"
	Unapproved State = "unapproved"
	Blocked    State = "blocked"
	Manual     State = "manual" // a manual gate without evidence that counts
	Abandoned  State = "abandoned"
	Removed    State = "removed"
	NotRun     State = "not-run"
)

// Claimed is what the author says: box and evidence line.
type Claimed string

const (
	ClaimedMet   Claimed = "met"
	ClaimedUnmet Claimed = "unmet"
	ClaimedStale Claimed = "stale"
)

// Change compares a definition with the trust ref's.
type Change string

const (
	New     Change = "new"
	Changed Change = "changed"
	Same    Change = "same"
)

// Report is the one value that every front end renders. Its JSON form is a contract.
type Report struct {
	Schema      string      `json:"schema"`
	Tool        Tool        `json:"tool"`
	Verdict     Verdict     `json:"verdict"`
	Conclusion  Conclusion  `json:"conclusion"`
	Counts      Counts      `json:"counts"`
	Trust       Trust       `json:"trust"`
	Subject     Subject     `json:"subject"`
	Protections Protections `json:"protections"`
	Execution   Execution   `json:"execution"`
	Level       string      `json:"level,omitempty"`    // enforced, reviewed, advisory; only in the Action
	Part        *Part       `json:"part,omitempty"`     // of a sharded run
	Notices     []string    `json:"notices,omitempty"`  // first lines of every surface, most important first
	Pending     []string    `json:"pending,omitempty"`  // waves that are not resolved: they keep the verdict from all-met
	Handoffs    []string    `json:"handoffs,omitempty"` // abandoned waves
	Ledgers     []Ledger    `json:"ledgers"`
	StartedAt   time.Time   `json:"startedAt"`
	DurationMS  int64       `json:"durationMs"`
}

type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Counts partition the gates: their sum, Gates aside, is Gates.
type Counts struct {
	Gates      int `json:"gates"`
	Met        int `json:"met"`
	Failed     int `json:"failed"`
	Unapproved int `json:"unapproved"`
	Blocked    int `json:"blocked"`
	Manual     int `json:"manual"`
	Abandoned  int `json:"abandoned"`
	Removed    int `json:"removed"`
	NotRun     int `json:"notRun"`
}

// The values of Trust.Mode. The zero value is treated as TrustNone.
const (
	TrustLocal     = "local"
	TrustPinned    = "pinned"
	TrustAllowlist = "allowlist"
	TrustNone      = "none"
)

// Trust says who vouched. Mode is local, pinned, allowlist or none.
type Trust struct {
	Mode         string   `json:"mode"`
	Ref          string   `json:"ref,omitempty"`
	Commit       string   `json:"commit,omitempty"`
	Signers      []string `json:"signers,omitempty"`
	PolicySHA256 string   `json:"policySha256,omitempty"`
	RootChanged  bool     `json:"rootChanged"`
	RootSigned   bool     `json:"rootSigned,omitempty"` // a changed root that the old threshold signed
	Governed     bool     `json:"governed"`             // the base is the default branch or listed
}

type Subject struct {
	Repository   string `json:"repository,omitempty"`
	HeadSHA      string `json:"headSha,omitempty"`
	JudgedCommit string `json:"judgedCommit,omitempty"`
	Tree         string `json:"tree,omitempty"`
	PullRequest  int    `json:"pullRequest,omitempty"`
	Base         string `json:"base,omitempty"`
}

type Protections struct {
	Applied []string `json:"applied"`
	Missing []string `json:"missing"`
}

// Execution says how checks ran. Containment is uid, cgroup, slots or group.
type Execution struct {
	Containment string `json:"containment"`
	Jobs        int    `json:"jobs"`
	Env         string `json:"env"` // inherit or clean
}

type Part struct {
	I int `json:"i"`
	N int `json:"n"`
}

// Ledger is one ledger's share of the report.
type Ledger struct {
	Path     string    `json:"path"` // slash separated, relative to the top
	Kind     string    `json:"kind"` // standing or task
	SHA256   string    `json:"sha256,omitempty"`
	Findings []Finding `json:"findings"`
	Gates    []Gate    `json:"gates"`
}

// Finding mirrors ledger.Finding in the report.
type Finding struct {
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Level   string `json:"level"`
	Message string `json:"message"`
	Source  string `json:"source,omitempty"`
	Fix     string `json:"fix,omitempty"` // lines joined by \n
}

// Gate is one gate's outcome.
type Gate struct {
	ID      string  `json:"id"`
	Name    string  `json:"name"` // qualified: GATES:G4, as short as is unique
	Title   string  `json:"title"`
	Line    int     `json:"line"` // 0 for a removed gate
	State   State   `json:"state"`
	Reason  string  `json:"reason"`
	Next    string  `json:"next"`
	Claimed Claimed `json:"claimed"`
	// NotAsked marks a gate of the ledger that this run was not asked about.
	NotAsked bool `json:"notAsked,omitempty"`
	// Stale marks a gate whose result was discarded: its definition changed while the check ran.
	Stale bool `json:"stale,omitempty"`
	// OlderEvidence marks a ticked gate whose evidence names no command.
	OlderEvidence bool `json:"olderEvidence,omitempty"`
	// EarlierTree marks a gate that is met by evidence of another tree.
	EarlierTree bool `json:"earlierTree,omitempty"`

	Check  string `json:"check,omitempty"` // the definition as it would run
	Expect string `json:"expect,omitempty"`
	CWD    string `json:"cwd,omitempty"` // relative to the top

	DefinitionSHA256 string `json:"definitionSha256,omitempty"`
	OracleSHA256     string `json:"oracleSha256,omitempty"`
	Changed          Change `json:"changed,omitempty"`
	Was              *Was   `json:"was,omitempty"`

	Approval *Approval `json:"approval,omitempty"`
	Run      *Run      `json:"run,omitempty"`
}

// Was is the definition at the trust ref of a changed or removed gate.
type Was struct {
	Outcome string `json:"outcome"`
	Check   string `json:"check"`
	Expect  string `json:"expect"`
	CWD     string `json:"cwd"`
}

type Approval struct {
	By      []string `json:"by"`
	ID      string   `json:"id"`
	Source  string   `json:"source"` // local or allowlist
	Issued  string   `json:"issued,omitempty"`
	Expires string   `json:"expires,omitempty"`
}

// Run is what was measured. Exit is nil unless the shell ended by itself.
type Run struct {
	Exit         *int    `json:"exit"`
	Signal       string  `json:"signal"`
	DurationMS   int64   `json:"durationMs"`
	TimedOut     bool    `json:"timedOut"`
	Matched      bool    `json:"matched"`
	OutputSHA256 string  `json:"outputSha256"`
	OutputBytes  int     `json:"outputBytes"`
	Tail         string  `json:"tail,omitempty"`
	Reused       *Reused `json:"reused,omitempty"`
	StartedMS    int64   `json:"startedMs"` // after Report.StartedAt
}

type Reused struct {
	At string `json:"at"`
}
