package action

import (
	"github.com/gatesworn/gatesworn/gates"
)

// Types of the attestation (in-toto attestation framework, spec v1 and predicate
// "test result" v0.1).
const (
	StatementType = "https://in-toto.io/Statement/v1"
	PredicateType = "https://in-toto.io/attestation/test-result/v0.1"
)

// Statement is an in-toto statement that a commit's gates were measured.
type Statement struct {
	Type          string     `json:"_type"`
	Subject       []Resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     TestResult `json:"predicate"`
}

// Resource is a resource descriptor.
type Resource struct {
	Name   string            `json:"name,omitempty"`
	URI    string            `json:"uri,omitempty"`
	Digest map[string]string `json:"digest"`
}

// TestResult is the predicate. Result is PASSED only for a success.
type TestResult struct {
	Result        string     `json:"result"`
	Configuration []Resource `json:"configuration"`
	URL           string     `json:"url,omitempty"`
	PassedTests   []string   `json:"passedTests"`
	WarnedTests   []string   `json:"warnedTests"`
	FailedTests   []string   `json:"failedTests"`
}

// Attest states what a report says. log is the address of the run, or "".
func Attest(r gates.Report, log string) Statement {
	t := TestResult{
		Result: "FAILED", URL: log, Configuration: []Resource{},
		PassedTests: []string{}, WarnedTests: []string{}, FailedTests: []string{},
	}
	if r.Conclusion == gates.Success {
		t.Result = "PASSED"
	}
	for _, l := range r.Ledgers {
		if l.SHA256 != "" {
			t.Configuration = append(t.Configuration, Resource{Name: l.Path, Digest: map[string]string{"sha256": l.SHA256}})
		}
		for _, g := range l.Gates {
			name := l.Path + ":" + g.ID
			switch g.State {
			case gates.Met:
				t.PassedTests = append(t.PassedTests, name)
			case gates.Abandoned:
				t.WarnedTests = append(t.WarnedTests, name)
			default:
				t.FailedTests = append(t.FailedTests, name)
			}
		}
	}
	if r.Trust.PolicySHA256 != "" {
		t.Configuration = append(t.Configuration, Resource{Name: ".gatesworn/policy.yml", Digest: map[string]string{"sha256": r.Trust.PolicySHA256}})
	}
	subject := Resource{Name: r.Subject.Repository, Digest: map[string]string{"gitCommit": r.Subject.JudgedCommit}}
	if subject.Name == "" {
		subject.Name = "commit"
	}
	return Statement{Type: StatementType, Subject: []Resource{subject}, PredicateType: PredicateType, Predicate: t}
}
