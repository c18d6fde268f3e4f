package ledger_test

import (
	"strings"
	"testing"

	"github.com/gatesworn/gatesworn/gates/ledger"
)

func TestApplyEditsBoxAndEvidenceOnly(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"inserted after the attributes", "# A\n\n- [ ] G1: a\n  CHECK: x\n  EXPECT: y\n\n- [ ] G2: b\n", "# A\n\n- [x] G1: a\n  CHECK: x\n  EXPECT: y\n  EVIDENCE: seen\n\n- [ ] G2: b\n"},
		{"replaced", "- [ ] G1: a\n  EVIDENCE: pending\n  CHECK: x\n  EXPECT: y\n", "- [x] G1: a\n  EVIDENCE: seen\n  CHECK: x\n  EXPECT: y\n"},
		{"blank one filled", "- [ ] G1: a\n  EVIDENCE:\n", "- [x] G1: a\n  EVIDENCE: seen\n"},
		{"capital X stays", "- [X] G1: a\n\tEVIDENCE:\told  \n", "- [X] G1: a\n\tEVIDENCE: seen\n"},
		{"indent of the attributes", "- [ ] G1: a\n\tCHECK: x\n\tEXPECT: y\n", "- [x] G1: a\n\tCHECK: x\n\tEXPECT: y\n\tEVIDENCE: seen\n"},
		{"no final newline", "- [ ] G1: a", "- [x] G1: a\n  EVIDENCE: seen"},
		{"no final newline behind evidence", "- [ ] G1: a\n  EVIDENCE: old", "- [x] G1: a\n  EVIDENCE: seen"},
		{"CRLF", "# A\r\n- [ ] G1: a\r\n  CHECK: x\r\n  EXPECT: y\r\n", "# A\r\n- [x] G1: a\r\n  CHECK: x\r\n  EXPECT: y\r\n  EVIDENCE: seen\r\n"},
		{"CRLF, no final newline", "# A\r\n- [ ] G1: a", "# A\r\n- [x] G1: a\r\n  EVIDENCE: seen"},
		{"mixed endings", "# A\r\n- [ ] G1: a\n  CHECK: x\r\n  EXPECT: y\n\r\nend\r\n", "# A\r\n- [x] G1: a\n  CHECK: x\r\n  EXPECT: y\n  EVIDENCE: seen\n\r\nend\r\n"},
		{"byte order mark", "\uFEFF# A\n- [ ] G1: a\n", "\uFEFF# A\n- [x] G1: a\n  EVIDENCE: seen\n"},
		{"trailing blanks elsewhere", "- [ ] G1: a  \n  CHECK: x \t\n  EXPECT: y\n", "- [x] G1: a  \n  CHECK: x \t\n  EXPECT: y\n  EVIDENCE: seen\n"},
		{"optional attributes", "- [ ] G1: a\n  CHECK: x\n  EXPECT: y\n  TIMEOUT: 3\n", "- [x] G1: a\n  CHECK: x\n  EXPECT: y\n  TIMEOUT: 3\n  EVIDENCE: seen\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := ledger.Parse("GATES.md", []byte(tt.in))
			got, err := d.Apply([]ledger.Edit{{ID: "G1", Ticked: true, Evidence: "seen"}})
			if err != nil {
				t.Fatalf("Apply: %v; findings %v", err, d.Findings)
			}
			if string(got.Bytes()) != tt.want {
				t.Errorf("got  %q\nwant %q", got.Bytes(), tt.want)
			}
			again, err := got.Apply([]ledger.Edit{{ID: "G1", Ticked: true, Evidence: "seen"}})
			if err != nil || string(again.Bytes()) != tt.want {
				t.Errorf("a second time: %q, %v", again.Bytes(), err)
			}
			if string(d.Bytes()) != tt.in {
				t.Error("the edited document changed the first one's bytes")
			}
		})
	}
}

func TestApplyRefuses(t *testing.T) {
	t.Parallel()
	const ok = "- [ ] G1: a\n  CHECK: x\n  EXPECT: y\n"
	tests := []struct {
		name, in string
		edits    []ledger.Edit
	}{
		{"a ledger with errors", "- [ ] a\n", []ledger.Edit{{ID: "G1", Evidence: "e"}}},
		{"an unknown gate", ok, []ledger.Edit{{ID: "G2", Evidence: "e"}}},
		{"two edits of a gate", ok, []ledger.Edit{{ID: "G1", Evidence: "e"}, {ID: "G1", Evidence: "e"}}},
		{"a line break", ok, []ledger.Edit{{ID: "G1", Evidence: "e\n- [x] G2: b"}}},
		{"a carriage return", ok, []ledger.Edit{{ID: "G1", Evidence: "e\rf"}}},
		{"a line separator", ok, []ledger.Edit{{ID: "G1", Evidence: "e\u2028f"}}},
		{"no evidence", ok, []ledger.Edit{{ID: "G1"}}},
		{"blanks around", ok, []ledger.Edit{{ID: "G1", Evidence: " e"}}},
		{"invalid UTF-8", ok, []ledger.Edit{{ID: "G1", Evidence: "\xff"}}},
		{"over 8 MiB", ok, []ledger.Edit{{ID: "G1", Evidence: strings.Repeat("e", ledger.MaxSize)}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := ledger.Parse("GATES.md", []byte(tt.in))
			if got, err := d.Apply(tt.edits); err == nil || got != nil {
				t.Errorf("Apply = %v, %v; want an error and no document", got, err)
			}
		})
	}
}
