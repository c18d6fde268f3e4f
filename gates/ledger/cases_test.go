package ledger_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// reference is one ledger with what the reference parser made of it.
type reference struct {
	Name             string
	Text             string
	Errors, Warnings int
	Gates            []referenceGate
	Owns             []string
}

type referenceGate struct {
	ID, Title, Claim   string
	Check, Expect, CWD *string
}

// stricter names the reference's ledgers that the design refuses.
var stricter = map[string]string{}

func references(t *testing.T) []reference {
	t.Helper()
	data, err := os.ReadFile("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []reference
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) < 50 {
		t.Fatalf("only %d cases", len(all))
	}
	return all
}

func TestParseAgreesWithReference(t *testing.T) {
	t.Parallel()
	for _, c := range references(t) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			d := ledger.Parse("GATES.md", []byte(c.Text))
			if string(d.Bytes()) != c.Text {
				t.Error("Bytes differ from what was parsed")
			}
			if reason, ok := stricter[c.Name]; ok {
				if d.OK() {
					t.Fatalf("accepted, though the design refuses it: %s", reason)
				}
				return
			}
			if got, want := d.OK(), c.Errors == 0; got != want {
				t.Fatalf("accepted = %v, the reference says %v; findings %v", got, want, d.Findings)
			}
			if c.Errors > 0 {
				return
			}
			if diff := cmp.Diff(c.Gates, asReference(d), cmpopts.IgnoreFields(referenceGate{}, "Claim")); diff != "" {
				t.Errorf("gates (-reference +ours):\n%s", diff)
			}
			if len(c.Owns)+len(d.Owns) > 0 {
				if diff := cmp.Diff(c.Owns, d.Owns); diff != "" {
					t.Errorf("owns (-reference +ours):\n%s", diff)
				}
			}
		})
	}
}

// asReference shows our gates in the reference's form; Claim is gates/evidence's business.
func asReference(d *ledger.Document) []referenceGate {
	value := func(g ledger.Gate, k ledger.Key, v string) *string {
		if !g.Has(k) {
			return nil
		}
		return &v
	}
	var out []referenceGate
	for _, g := range d.Gates {
		out = append(out, referenceGate{
			ID: g.ID, Title: g.Outcome,
			Check: value(g, ledger.Check, g.Check), Expect: value(g, ledger.Expect, g.Expect), CWD: value(g, ledger.CWD, g.CWD),
		})
	}
	return out
}
