package approval_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/gatesworn/gatesworn/approval"
)

// gateEdit changes the gate that every vector starts from.
type gateEdit struct {
	Project  *string   `yaml:"project"`
	Ledger   *string   `yaml:"ledger"`
	ID       *string   `yaml:"id"`
	Outcome  *string   `yaml:"outcome"`
	Check    *string   `yaml:"check"`
	Expect   *string   `yaml:"expect"`
	CWD      *string   `yaml:"cwd"`
	Timeout  *int      `yaml:"timeout"`
	Needs    *[]string `yaml:"needs"`
	Inputs   *[]string `yaml:"inputs"`
	Reads    *[]string `yaml:"reads"`
	Writes   *[]string `yaml:"writes"`
	Env      *[]string `yaml:"env"`
	Files    *[]file   `yaml:"files"`
	Manual   bool      `yaml:"manual"`
	NoInputs bool      `yaml:"no-inputs"`
}

type file struct {
	Path string `yaml:"path"`
	Mode string `yaml:"mode"`
	Data string `yaml:"data"`
}

type statement struct {
	ID        string     `yaml:"id"`
	Fault     string     `yaml:"fault"`
	Project   string     `yaml:"project"`
	Issued    string     `yaml:"issued"`
	Expires   string     `yaml:"expires"`
	Approve   []gateEdit `yaml:"approve"`
	Replaces  []gateEdit `yaml:"replaces"`
	By        *[]string  `yaml:"by"`
	Hardware  bool       `yaml:"hardware"`
	SigFault  string     `yaml:"signature-fault"`
	Trusted   bool       `yaml:"trusted"`
	Evidence  []evidence `yaml:"evidence"`
	NoApprove bool       `yaml:"no-approve"`
}

type evidence struct {
	Ledger  string `yaml:"ledger"`
	Gate    string `yaml:"gate"`
	Outcome string `yaml:"outcome"`
	Text    string `yaml:"text"`
	Tree    string `yaml:"tree"`
	Expires string `yaml:"expires"`
}

type vector struct {
	Name    string   `yaml:"name"`
	Mode    string   `yaml:"mode"`
	Now     string   `yaml:"now"`
	Gate    gateEdit `yaml:"gate"`
	BindErr string   `yaml:"bind-error"`
	Root    string   `yaml:"root"`
	Policy  struct {
		Threshold int    `yaml:"threshold"`
		Keys      string `yaml:"keys"`
		Inputs    string `yaml:"inputs"`
		Manual    string `yaml:"manual"`
		MaxAge    int    `yaml:"max-age-days"`
	} `yaml:"policy"`
	Statements     []statement `yaml:"statements"`
	Revoked        []string    `yaml:"revoked"`
	RevokedGates   []gateEdit  `yaml:"revoked-gates"`
	Local          string      `yaml:"local"` // approved, error, or what is near
	Evidence       string      `yaml:"evidence"`
	Claimed        bool        `yaml:"claimed"`
	Expect         string      `yaml:"expect"`
	Text           string      `yaml:"text"`
	Next           string      `yaml:"next"`
	Considered     []string    `yaml:"considered"`
	AllowedByError bool        `yaml:"status2"`
}

const sign = "2026-10-02T09:00:00Z"

func when(t *testing.T, s, fallback string) time.Time {
	t.Helper()
	if s == "" {
		s = fallback
	}
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func ptr[T any](v T) *T { return &v }

// baseOracle is GATES.md's G1 with one bound file.
func baseOracle() approval.Oracle {
	return approval.Oracle{
		V: 1, Project: "7b1c9f0e4a5d4e6f", Ledger: "GATES.md", Gate: "G1", Outcome: "the installer can run twice",
		Check: ptr("sh scripts/install.sh --twice"), Expect: ptr("READY"), CWD: ".", Timeout: ptr(30),
		Needs: []string{"G2"}, InputPatterns: []string{"scripts/*.sh"}, Reads: []string{"src"}, Writes: []string{"@db"},
		Env:    []string{"DATABASE"},
		Inputs: []approval.BoundFile{bound("scripts/install.sh", approval.ModeFile, "echo READY\n")},
	}
}

func bound(path, mode, data string) approval.BoundFile {
	return approval.BoundFile{Path: path, Mode: mode, SHA256: strings.TrimPrefix(approval.Digest([]byte(data)), "sha256:")}
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

func (e gateEdit) oracle() approval.Oracle {
	o := baseOracle()
	set(&o.Project, e.Project)
	set(&o.Ledger, e.Ledger)
	set(&o.Gate, e.ID)
	set(&o.Outcome, e.Outcome)
	set(&o.CWD, e.CWD)
	set(&o.Needs, e.Needs)
	set(&o.InputPatterns, e.Inputs)
	set(&o.Reads, e.Reads)
	set(&o.Writes, e.Writes)
	set(&o.Env, e.Env)
	if e.Check != nil {
		o.Check = e.Check
	}
	if e.Expect != nil {
		o.Expect = e.Expect
	}
	if e.Timeout != nil {
		if o.Timeout = e.Timeout; *e.Timeout == 0 {
			o.Timeout = nil
		}
	}
	if e.Files != nil {
		o.Inputs = []approval.BoundFile{}
		for _, f := range *e.Files {
			if f.Mode == "" {
				f.Mode = approval.ModeFile
			}
			o.Inputs = append(o.Inputs, bound(f.Path, f.Mode, f.Data))
		}
	}
	if e.Manual {
		o.Check, o.Expect = nil, nil
	}
	if e.NoInputs {
		o.InputPatterns, o.Inputs = []string{}, nil
	}
	return o
}

func (s statement) value(t *testing.T, i int) approval.Statement {
	v := approval.Statement{
		ID: s.ID, Path: fmt.Sprintf(".gatesworn/approvals/%d.approval", i), Fault: s.Fault, Project: s.Project,
		IssuedAt: when(t, s.Issued, sign), Trusted: s.Trusted,
	}
	if v.ID == "" {
		v.ID = approval.Digest([]byte(v.Path))
	}
	if v.Project == "" {
		v.Project = baseOracle().Project
	}
	if s.Expires != "" {
		v.ExpiresAt = when(t, s.Expires, "")
	}
	if s.Approve == nil && !s.NoApprove {
		s.Approve = []gateEdit{{}}
	}
	for _, e := range s.Approve {
		v.Approve = append(v.Approve, e.oracle())
	}
	for _, e := range s.Replaces {
		v.Replaces = append(v.Replaces, e.oracle().Digest())
	}
	if s.By == nil {
		s.By = &[]string{"alice@example.org"}
	}
	for k, by := range *s.By {
		v.Signatures = append(v.Signatures, approval.Signature{
			Principal: by, Key: fmt.Sprintf("SHA256:%d", k), Fault: s.SigFault, Hardware: s.Hardware,
		})
	}
	for _, e := range s.Evidence {
		se := approval.SignedEvidence{Ledger: "GATES.md", Gate: "G1", Outcome: baseOracle().Outcome, Text: e.Text, Tree: e.Tree}
		if e.Ledger != "" {
			se.Ledger = e.Ledger
		}
		if e.Gate != "" {
			se.Gate = e.Gate
		}
		if e.Outcome != "" {
			se.Outcome = e.Outcome
		}
		if e.Expires != "" {
			se.ExpiresAt = when(t, e.Expires, "")
		}
		v.Evidence = append(v.Evidence, se)
	}
	return v
}

func validRoot() approval.TrustRoot {
	return approval.TrustRoot{
		Ref: "main", Commit: strings.Repeat("9f", 20), State: approval.RootValid,
		Principals: []string{"alice@example.org", "bob@example.org"},
		Policy: approval.Policy{
			Version: 1, Project: baseOracle().Project, Repository: "o/r", Ledgers: []string{"GATES.md"}, Threshold: 1,
			Inputs: approval.InputsOptional, Removal: approval.RemovalDeny, Manual: approval.ManualSigned,
			Keys: approval.KeysAny, Clean: approval.CleanRequired, Shell: "/bin/sh", Jobs: 1,
		},
		PolicySHA256: strings.Repeat("a", 64), SignersSHA256: strings.Repeat("b", 64),
	}
}

var modes = map[string]approval.Mode{
	"": approval.ModeAllowlist, "allowlist": approval.ModeAllowlist, "local": approval.ModeLocal,
	"pinned": approval.ModePinned, "preview": approval.ModePreview, "none": approval.ModeNone,
}

func (v vector) request(t *testing.T) approval.Request {
	mode, ok := modes[v.Mode]
	if !ok {
		t.Fatalf("unknown mode %q", v.Mode)
	}
	r := approval.Request{
		Mode: mode, Now: when(t, v.Now, "2026-11-30T12:00:00Z"), Oracle: v.Gate.oracle(), Root: validRoot(),
		Evidence: v.Evidence, Claimed: v.Claimed, Trees: []string{"tree-now"},
	}
	if v.BindErr != "" {
		r.Bind = errors.New(v.BindErr)
	}
	p := &r.Root.Policy
	if v.Policy.Threshold > 0 {
		p.Threshold = v.Policy.Threshold
	}
	if v.Policy.Keys != "" {
		p.Keys = approval.Keys(v.Policy.Keys)
	}
	if v.Policy.Inputs != "" {
		p.Inputs = approval.Inputs(v.Policy.Inputs)
	}
	if v.Policy.Manual != "" {
		p.Manual = approval.ManualRule(v.Policy.Manual)
	}
	p.MaxAge = time.Duration(v.Policy.MaxAge) * 24 * time.Hour
	switch v.Root {
	case "missing":
		r.Root = approval.TrustRoot{Ref: "main", State: approval.RootMissing}
	case "broken":
		r.Root = r.Root.Break(errors.New(".gatesworn/policy.yml:3:1: unknown key \"x\""))
	case "zero":
		r.Root = approval.TrustRoot{}
	case "zero-policy":
		r.Root.Policy = approval.Policy{}
	}
	for i, s := range v.Statements {
		r.Statements = append(r.Statements, s.value(t, i))
	}
	revoked := v.Revoked
	for _, g := range v.RevokedGates {
		revoked = append(revoked, g.oracle().Digest())
	}
	r.Revoked = approval.Unite(revoked)
	switch v.Local {
	case "":
	case "approved":
		r.Local = approval.Local{Approved: true, ID: "sha256:00", ApprovedAt: when(t, sign, "")}
	case "approved-without-id":
		r.Local = approval.Local{Approved: true}
	case "error":
		r.Local = approval.Local{Err: errors.New("approval folder cannot be read")}
	default:
		r.Local = approval.Local{Near: v.Local}
	}
	return r
}

func TestDecideVectors(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/decide/*.yml")
	if err != nil || len(files) < 5 {
		t.Fatalf("found %d files of vectors: %v", len(files), err)
	}
	total, refusals := 0, 0
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var all []vector
		if err := yaml.UnmarshalWithOptions(data, &all, yaml.Strict()); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		if len(all) == 0 {
			t.Fatalf("%s holds no vectors", f)
		}
		for _, v := range all {
			total++
			d := checkVector(t, filepath.Base(f), v)
			if !d.Allowed {
				refusals++
			}
		}
	}
	if total < 90 || refusals*2 < total {
		t.Errorf("%d vectors, %d refusals: most must refuse", total, refusals)
	}
}

func checkVector(t *testing.T, file string, v vector) approval.Decision {
	t.Helper()
	d := approval.Decide(v.request(t))
	where := file + ": " + v.Name
	if d.Reason.String() != v.Expect {
		t.Errorf("%s: reason %s, want %s (%s)", where, d.Reason, v.Expect, d.Text)
	}
	if d.Allowed != d.Reason.Allows() {
		t.Errorf("%s: allowed %v with reason %s", where, d.Allowed, d.Reason)
	}
	if v.Text != "" && d.Text != v.Text {
		t.Errorf("%s: text\n got %s\nwant %s", where, d.Text, v.Text)
	}
	if v.Next != "" && d.Next != v.Next {
		t.Errorf("%s: next\n got %s\nwant %s", where, d.Next, v.Next)
	}
	if d.Allowed && d.Next != "" || !d.Allowed && d.Next == "" && v.Expect != "undecided" && v.Expect != "other-root" {
		t.Errorf("%s: allowed %v, next %q", where, d.Allowed, d.Next)
	}
	if (d.Err != nil) != v.AllowedByError {
		t.Errorf("%s: error %v", where, d.Err)
	}
	var considered []string
	for _, c := range d.Considered {
		considered = append(considered, c.Reason.String())
	}
	if v.Considered != nil && strings.Join(considered, " ") != strings.Join(v.Considered, " ") {
		t.Errorf("%s: considered %v, want %v", where, considered, v.Considered)
	}
	return d
}
