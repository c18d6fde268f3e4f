package markdown

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatesworn/gatesworn/gates"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// place is where the goldens are read.
var place = Place{Server: "https://github.com", Log: "https://github.com/octo/widgets/actions/runs/1650/job/7"}

// corpus reads the reports under testdata/reports by name.
func corpus(t testing.TB) map[string]*gates.Report {
	t.Helper()
	files, err := filepath.Glob("testdata/reports/*.json")
	if err != nil || len(files) < 10 {
		t.Fatalf("found %d reports: %v", len(files), err)
	}
	out := map[string]*gates.Report{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		r := new(gates.Report)
		dec := json.NewDecoder(strings.NewReader(string(data)))
		dec.DisallowUnknownFields()
		if err := dec.Decode(r); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		out[strings.TrimSuffix(filepath.Base(f), ".json")] = r
	}
	return out
}

// forkPlace is how a fork's job summary is rendered.
func forkPlace() Place {
	p := place
	p.Remarks = []string{"No comment: the token has no pull-requests: write (normal for forks)."}
	return p
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, r := range corpus(t) {
		c := Check(r, place)
		notes, err := json.MarshalIndent(c.Annotations, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name+".comment.md", Comment(r, place, MaxComment))
		golden(t, name+".summary.md", c.Title+"\n\n"+c.Summary)
		golden(t, name+".text.md", c.Text)
		golden(t, name+".job.md", JobSummary(r, forkPlace(), MaxSummary))
		golden(t, name+".annotations.json", string(notes)+"\n")
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; write it with: go test ./ghreport/markdown -update", err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", name, d)
	}
}

func TestTitle(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"met":                 "4 of 4 gates met",
		"failed-and-unsigned": "G3 failed, G4 not signed (2 of 4 met)",
		"many-failed":         "G3, G5, G6 and 5 more failed (4 of 12 met)",
		"false-claim":         "G3 is ticked but fails (3 of 4 met)",
		"unsigned":            "waiting for a maintainer to sign G4 (3 of 4 met)",
		"removed":             "G5 was removed from GATES.md (3 of 4 met)",
		"malformed":           "GATES.md:12 cannot be read",
		"malformed-two":       "GATES.md:12 and 1 more place cannot be read",
		"bootstrap":           "main has no .gatesworn/ yet: merge the set-up first",
		"realistic":           "G3 failed, G5 removed, G4 not signed (2 of 5 met)",
		"root-changed":        "4 of 4 gates met, but .gatesworn/ changes: waiting for a maintainer to sign it",
		"not-governed":        "4 of 4 gates met, but feature-x is not a governed branch",
		"no-gates":            "no gates, so nothing was shown",
		"two-ledgers":         "GATES:G3 failed, GATES_api:G3 not signed (2 of 4 met)",
		"local":               "G3 failed, G4 not approved (1 of 3 met)",
		"every-state":         "G11, G12, G13 failed and 5 more not met (1 of 9 met)",
		"workflow-edited":     "G3 is ticked but fails (3 of 4 met)",
		"hostile":             "G3 failed, G5 removed, GH-4 not signed (1 of 4 met)",
	}
	all := corpus(t)
	for name, r := range all {
		if got := Title(r); got != want[name] {
			t.Errorf("%s: got  %q\nwant %q", name, got, want[name])
		}
	}
	if len(want) != len(all) {
		t.Errorf("%d titles for %d reports", len(want), len(all))
	}
	if got := Title(&gates.Report{}); got != "the gates could not be judged" {
		t.Errorf("the zero report has title %q", got)
	}
}

// A comment is read on a phone: the realistic one stays near a kilobyte, links aside.
func TestCommentSize(t *testing.T) {
	t.Parallel()
	c := Comment(corpus(t)["realistic"], Place{}, MaxComment)
	if len(c) > 1500 {
		t.Errorf("the realistic comment takes %d bytes without links:\n%s", len(c), c)
	}
}

// Every gate that is not met is named in one of the lists, with something to do.
func TestEveryOpenGateHasANextStep(t *testing.T) {
	t.Parallel()
	for name, r := range corpus(t) {
		v := newView(r, place)
		if v.bootstrap() || len(v.open) > commentItems || name == "hostile" {
			continue
		}
		c := Comment(r, place, MaxComment)
		_, lists, _ := strings.Cut(c, "**Author**")
		_, more, _ := strings.Cut(c, "**Maintainer**")
		for _, it := range v.open {
			if !strings.Contains(lists+more, inline(it.label)) {
				t.Errorf("%s: %s is in no list:\n%s", name, it.label, c)
			}
		}
	}
}

func TestOffered(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{
		"gatesworn check GATES:G3":                                  true,
		"gatesworn check --approve 'my gates:G 3'":                  true,
		"gh pr checkout 412 && gatesworn sign --commit && git push": true,
		"git show 9f2c1ab:GATES.md":                                 true,
		"gatesworn check G3; rm -rf /":                              false,
		"gatesworn check G3 && curl evil.example":                   false,
		"gatesworn check `id`":                                      false,
		"gatesworn check $(id)":                                     false,
		"gatesworn check 'a'$(id)'b'":                               false,
		"gatesworn check G3 | sh":                                   false,
		"gatesworn check G3\nid":                                    false,
		"gh pr checkout 412 -R evil/evil":                           false,
		"git -c core.pager=id show x":                               false,
		"TIMEOUT: 300 under the gate (then sign again)":             false,
		"": false,
	} {
		if got := offered(s); got != want {
			t.Errorf("offered(%q) = %v", s, got)
		}
	}
}

// A message that is nothing but an escape sequence leaves the title to be shown.
func TestNoteIsNeverEmpty(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", " \n", "\x1b[31m", "\x1b[31m\n\x1b[0m"} {
		if a := note("GATES.md", 0, "failure", s, s, s); plainNote(a) != nil || a.Title == "" {
			t.Errorf("%q gives %+v", s, a)
		}
	}
}

// Nothing but success reads like success, and gates that were not asked about are
// not counted.
func TestMetButNotPassed(t *testing.T) {
	t.Parallel()
	r := &gates.Report{Verdict: gates.VerdictPartial, Conclusion: gates.ActionRequired, Ledgers: []gates.Ledger{{Gates: []gates.Gate{{ID: "G1", State: gates.Met}, {ID: "G2", State: gates.NotRun, NotAsked: true}}}}}
	if got := Title(r); got != "1 of 1 gates met, but not passed" {
		t.Error(got)
	}
	r.Pending = []string{"W1"}
	if got := Title(r); got != "1 of 1 gates met, but 1 wave not resolved" {
		t.Error(got)
	}
}
