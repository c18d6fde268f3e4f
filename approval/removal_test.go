package approval_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gatesworn/gatesworn/approval"
)

const gates = `# Gates

- [ ] G1: one
  CHECK: make one
  EXPECT: ok
- [ ] G2: two
  CHECK: sh scripts/two.sh
  EXPECT: ok
  INPUTS: scripts/two.sh
- [ ] G3: somebody looked
`

// said is a hand-written Statements.
type said struct {
	all []approval.Statement
	err error
}

func (s said) About(string, string, ...string) ([]approval.Statement, error) { return s.all, s.err }
func (s said) Roots() ([]approval.Statement, error)                          { return s.all, s.err }

func baseTree() tree {
	return rootTree().with(tree{"GATES.md": gates, "scripts/two.sh": "echo ok\n", "gates/x.md": "- [ ] X1: x\n  CHECK: x\n  EXPECT: x\n"})
}

func guard(t *testing.T, judged tree, edit func(*approval.GuardRequest)) (approval.Guard, error) {
	t.Helper()
	base := baseTree()
	r := approval.GuardRequest{
		Base: base, BaseName: "main", Judged: judged, Root: approval.ReadTrustRoot("main", "c", base, formats{}),
		Statements: said{}, Now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC),
	}
	if r.Root.State != approval.RootValid {
		t.Fatal(r.Root.Err)
	}
	if edit != nil {
		edit(&r)
	}
	return approval.GuardRemoval(r)
}

func TestGuardRemoval(t *testing.T) {
	t.Parallel()
	cut := func(from, to string) string { return strings.Replace(gates, from, to, 1) }
	tests := []struct {
		name    string
		changes tree
		want    string // ids with reasons
	}{
		{"the same", nil, ""},
		{"another file gone", tree{"scripts/two.sh": "-"}, ""},
		{"a gate more", tree{"GATES.md": gates + "- [ ] G4: four\n"}, ""},
		{"a changed gate", tree{"GATES.md": cut("make one", "make two")}, ""},
		{"reordered", tree{"GATES.md": "- [ ] G3: somebody looked\n" + strings.Replace(gates, "- [ ] G3: somebody looked\n", "", 1)}, ""},
		{"a gate gone", tree{"GATES.md": cut("- [ ] G1: one\n  CHECK: make one\n  EXPECT: ok\n", "")}, "G1: on main, not here"},
		{"a manual gate gone", tree{"GATES.md": cut("- [ ] G3: somebody looked\n", "")}, "G3: on main, not here"},
		{"renamed", tree{"GATES.md": cut("G1: one", "G9: one")}, "G1: on main, not here"},
		{"renamed in case", tree{"GATES.md": cut("G1: one", "g1: one")}, "G1: on main, not here"},
		{"turned manual", tree{"GATES.md": cut("  CHECK: make one\n  EXPECT: ok\n", "")}, "G1: has a CHECK on main, none here"},
		{"hidden in a fence", tree{"GATES.md": cut("- [ ] G1: one\n  CHECK: make one\n  EXPECT: ok\n", "```\n- [ ] G1: one\n  CHECK: make one\n  EXPECT: ok\n```\n\n")}, "G1: on main, not here"},
		{"the ledger gone", tree{"GATES.md": "-"}, "G1: on main; GATES.md is not here|G2|G3"},
		{"a ledger of a glob gone", tree{"gates/x.md": "-"}, "X1: on main; gates/x.md is not here"},
		{"moved out of the glob", tree{"gates/x.md": "-", "docs/x.md": "- [ ] X1: x\n  CHECK: x\n  EXPECT: x\n"}, "X1"},
		{"the ledger is a link", tree{"GATES.md": "120000|gates/x.md"}, "G1: on main; GATES.md cannot be read here|G2|G3"},
		{"the ledger is a submodule", tree{"GATES.md": "160000|x"}, "G1|G2|G3"},
		{"the ledger is a folder", tree{"GATES.md": "-", "GATES.md/x": ""}, "G1|G2|G3"},
		{"the ledger's folder is a link", tree{"gates/x.md": "-", "gates": "120000|elsewhere"}, "X1"},
		{"the ledger no longer parses", tree{"GATES.md": cut("  EXPECT: ok\n", "")}, "G1|G2|G3"},
		{"the ledger is empty", tree{"GATES.md": ""}, "G1|G2|G3"},
		{"the ledger is damaged", tree{"GATES.md": "ERROR"}, "G1|G2|G3"},
		{"the ledger is too large", tree{"GATES.md": gates + strings.Repeat("\n", approval.MaxLedger)}, "G1|G2|G3"},
		{"the judged policy has no say", tree{".gatesworn/policy.yml": policyText + "removal: allow\n", "gates/x.md": "-"}, "X1"},
	}
	for _, test := range tests {
		g, err := guard(t, baseTree().with(test.changes), nil)
		if err != nil || !g.Compared || len(g.Unknown) != 0 {
			t.Errorf("%s: %+v, %v", test.name, g, err)
			continue
		}
		var want []string
		if test.want != "" {
			want = strings.Split(test.want, "|")
		}
		lost := g.Lost()
		if len(lost) != len(want) {
			t.Errorf("%s: lost %d, want %v", test.name, len(lost), want)
			continue
		}
		for i, l := range lost {
			if got := l.Gate.ID + ": " + l.Why; !strings.HasPrefix(got, want[i]) {
				t.Errorf("%s: %q, want %q", test.name, got, want[i])
			}
			if l.Next != "put it back, or ask alice or bob: gatesworn sign" {
				t.Errorf("%s: next %q", test.name, l.Next)
			}
		}
	}
}

func TestGuardRefusesToGuess(t *testing.T) {
	t.Parallel()
	if (approval.Guard{}).Compared {
		t.Error("the zero guard says it compared")
	}
	if _, err := guard(t, baseTree(), func(r *approval.GuardRequest) { r.Root = approval.TrustRoot{} }); err == nil {
		t.Error("a guard without rules")
	}
	judged := baseTree().with(tree{"gates/x.md": "-"})
	if _, err := guard(t, judged, func(r *approval.GuardRequest) { r.Statements = said{err: errors.New("x")} }); err == nil {
		t.Error("statements that cannot be read retire")
	}
	g, err := guard(t, judged, func(r *approval.GuardRequest) { r.Statements = nil })
	if err != nil || len(g.Lost()) != 1 {
		t.Error("no statements retire", g, err)
	}
	g, err = guard(t, judged, func(r *approval.GuardRequest) { r.Root.Policy.Removal = approval.RemovalAllow })
	if err != nil || len(g.Removed) != 0 || !g.Compared {
		t.Error("removal: allow guards", g, err)
	}
	g, err = guard(t, judged, func(r *approval.GuardRequest) { r.Root.Policy.Removal = "" })
	if err != nil || len(g.Lost()) != 1 {
		t.Error("no rule on removal allows", g, err)
	}
	// A base that cannot be read promised something nobody knows any more.
	g, err = guard(t, baseTree(), func(r *approval.GuardRequest) { r.Base = baseTree().with(tree{"gates/x.md": "- [ ] no id\n"}) })
	if err != nil || len(g.Unknown) != 1 || g.Unknown[0].Path != "gates/x.md" {
		t.Error("a malformed base", g, err)
	}
	g, err = guard(t, baseTree(), func(r *approval.GuardRequest) {
		r.JudgedLedger = func(path string) approval.LedgerAt { return approval.LedgerAt{Path: path} }
	})
	if err != nil || len(g.Lost()) != 4 {
		t.Error("ledgers that were not read keep their gates", g, err)
	}
}

func TestRetirement(t *testing.T) {
	t.Parallel()
	base := baseTree()
	var g2 approval.Oracle
	for _, g := range approval.ReadLedger(base, "GATES.md").Doc.Gates {
		if g.ID == "G2" {
			var err error
			if g2, err = approval.Build(base, "7b1c9f0e4a5d4e6f", "GATES.md", g); err != nil {
				t.Fatal(err)
			}
		}
	}
	if g2.Digest() == "" || len(g2.Inputs) != 1 {
		t.Fatalf("%+v", g2)
	}
	judged := base.with(tree{"GATES.md": strings.Split(gates, "- [ ] G2")[0] + "- [ ] G3: somebody looked\n"})
	approve := func(at string) approval.Statement {
		s := statement{NoApprove: true, Issued: at}.value(t, 0)
		s.Approve = []approval.Oracle{g2}
		return s
	}
	retire := func(at string, edit func(*approval.Statement)) approval.Statement {
		s := statement{NoApprove: true, Issued: at}.value(t, 1)
		s.Retire = []approval.Oracle{g2}
		if edit != nil {
			edit(&s)
		}
		return s
	}
	other := g2
	other.Outcome = "another"
	tests := []struct {
		name    string
		all     []approval.Statement
		retired bool
	}{
		{"retired after its approval", []approval.Statement{approve("2026-10-01T00:00:00Z"), retire("2026-10-02T00:00:00Z", nil)}, true},
		{"retired, never approved", []approval.Statement{retire("2026-10-02T00:00:00Z", nil)}, true},
		{"approved again later", []approval.Statement{approve("2026-10-01T00:00:00Z"), retire("2026-10-02T00:00:00Z", nil), approve("2026-10-03T00:00:00Z")}, false},
		{"approved in the same second", []approval.Statement{approve("2026-10-02T00:00:00Z"), retire("2026-10-02T00:00:00Z", nil)}, false},
		{"not retired", []approval.Statement{approve("2026-10-01T00:00:00Z")}, false},
		{"another definition retired", []approval.Statement{retire("2026-10-02T00:00:00Z", func(s *approval.Statement) { s.Retire = []approval.Oracle{other} })}, false},
		{"retired by nobody", []approval.Statement{retire("2026-10-02T00:00:00Z", func(s *approval.Statement) { s.Signatures = nil })}, false},
		{"malformed", []approval.Statement{retire("2026-10-02T00:00:00Z", func(s *approval.Statement) { s.Fault = "x" })}, false},
		{"expired", []approval.Statement{retire("2026-10-02T00:00:00Z", func(s *approval.Statement) { s.ExpiresAt = s.IssuedAt.Add(time.Hour) })}, false},
		{"issued in the future", []approval.Statement{retire("2026-12-02T00:00:00Z", nil)}, false},
		{"another project", []approval.Statement{retire("2026-10-02T00:00:00Z", func(s *approval.Statement) { s.Project = "aaaaaaaaaaaa" })}, false},
		{"an unsigned approval later", []approval.Statement{retire("2026-10-02T00:00:00Z", nil), func() approval.Statement {
			s := approve("2026-10-03T00:00:00Z")
			s.Signatures = nil
			return s
		}()}, true},
	}
	for _, test := range tests {
		g, err := guard(t, judged, func(r *approval.GuardRequest) { r.Statements = said{all: test.all} })
		if err != nil || len(g.Removed) != 1 {
			t.Fatalf("%s: %+v, %v", test.name, g, err)
		}
		if got := g.Removed[0].Retired != nil; got != test.retired || (len(g.Lost()) == 0) != test.retired {
			t.Errorf("%s: retired %v", test.name, got)
		}
	}
	g, err := guard(t, judged, func(r *approval.GuardRequest) {
		s := retire("2026-10-02T00:00:00Z", nil)
		r.Statements, r.Revoked = said{all: []approval.Statement{s}}, approval.Unite([]string{s.ID})
	})
	if err != nil || len(g.Lost()) != 1 {
		t.Error("a revoked retirement counts", g, err)
	}
}

func TestCompareGate(t *testing.T) {
	t.Parallel()
	base := baseTree()
	at := approval.ReadLedger(base, "GATES.md")
	build := func(from tree, id string) approval.Oracle {
		for _, g := range approval.ReadLedger(from, "GATES.md").Doc.Gates {
			if g.ID == id {
				o, _ := approval.Build(from, "7b1c9f0e4a5d4e6f", "GATES.md", g)
				return o
			}
		}
		t.Fatalf("no gate %s", id)
		return approval.Oracle{}
	}
	tests := []struct {
		name    string
		changes tree
		id      string
		want    approval.Change
	}{
		{"the same", nil, "G2", approval.ChangeNone},
		{"the same, manual", nil, "G3", approval.ChangeNone},
		{"ticked", tree{"GATES.md": strings.Replace(gates, "[ ] G2", "[x] G2", 1) + "  EVIDENCE: seen\n"}, "G2", approval.ChangeNone},
		{"a bound file", tree{"scripts/two.sh": "echo OK\n"}, "G2", approval.ChangeMade},
		{"a bound file gone", tree{"scripts/two.sh": "-"}, "G2", approval.ChangeMade},
		{"outcome", tree{"GATES.md": strings.Replace(gates, "G1: one", "G1: more", 1)}, "G1", approval.ChangeMade},
		{"turned manual", tree{"GATES.md": strings.Replace(gates, "  CHECK: make one\n  EXPECT: ok\n", "", 1)}, "G1", approval.ChangeMade},
		{"new", tree{"GATES.md": gates + "- [ ] G4: four\n"}, "G4", approval.ChangeNew},
	}
	for _, test := range tests {
		now := build(base.with(test.changes), test.id)
		c := approval.CompareGate(at, base, now)
		if c.Change != test.want || (c.Was == nil) != (test.want == approval.ChangeNew) {
			t.Errorf("%s: %+v", test.name, c)
		}
	}
	if c := approval.CompareGate(approval.LedgerAt{}, base, build(base, "G1")); c.Change != approval.ChangeNew {
		t.Error("a ledger that was not read", c)
	}
}

func TestBuild(t *testing.T) {
	t.Parallel()
	text := func(cwd string) string { return "- [ ] G1: one\n  CHECK: c\n  EXPECT: e\n  CWD: " + cwd + "\n" }
	files := tree{"l": "120000|a", "a/f": "", "m": "160000|x"}
	for cwd, want := range map[string]string{
		"a": "", "a/../a": "", "new": "", "l": "symbolic link", "l/../a": "symbolic link", "a/../l/x": "symbolic link", "..": "leaves", "m": "submodule",
	} {
		from := files.with(tree{"GATES.md": text(cwd)})
		doc := approval.ReadLedger(from, "GATES.md")
		if doc.Side != approval.SideRead {
			t.Fatalf("%s: %v %v", cwd, doc.Err, doc.Doc.Findings)
		}
		o, err := approval.Build(from, "7b1c9f0e4a5d4e6f", "GATES.md", doc.Doc.Gates[0])
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", cwd, err, want)
		}
		if err == nil && o.Digest() == "" {
			t.Errorf("%s: no digest: %v", cwd, o.Validate())
		}
	}
}
