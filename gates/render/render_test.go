package render_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/gatesworn/gatesworn/gates/render"
)

var update = flag.Bool("update", false, "rewrite the expected outputs")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", name, d)
	}
}

func ran(exit int, ms int64, tail string) *gates.Run {
	return &gates.Run{Exit: &exit, DurationMS: ms, Tail: tail, Matched: exit == 0}
}

// everyState is one gate for each state a surface can show.
func everyState() gates.Report {
	return gates.Evaluate(gates.Report{
		Schema: gates.Schema, Tool: gates.Tool{Name: "gatesworn", Version: "1.0.0"}, Trust: gates.Trust{Mode: gates.TrustLocal},
		Protections: gates.Protections{Applied: []string{}, Missing: []string{}},
		Ledgers: []gates.Ledger{{Path: "GATES.md", Kind: "task", Findings: []gates.Finding{}, Gates: []gates.Gate{
			{ID: "G1", Name: "GATES:G1", Title: "the parser rejects empty input", Line: 3, State: gates.Met, Claimed: gates.ClaimedUnmet, Check: "npm test", Expect: "/^/", Run: ran(0, 812, "")},
			{ID: "G2", Name: "GATES:G2", Title: "every flag is documented", Line: 6, State: gates.Met, Claimed: gates.ClaimedMet, Check: "x", Expect: "y"},
			{
				ID: "G3", Name: "GATES:G3", Title: "a session survives a restart", Line: 9, State: gates.Failed, Claimed: gates.ClaimedMet,
				Check: "npm test -- --run auth", Expect: "/^/", Reason: "exit 1", Next: "gatesworn check GATES:G3",
				Run: ran(1, 4200, strings.Repeat("ok something\n", 31)+"FAIL test/auth.test.ts > keeps the session after a restart\nAssertionError: expected 401 to be 200\n  at test/auth.test.ts:57:24\n"),
			},
			{
				ID: "G4", Name: "GATES:G4", Title: "the installer can run twice", Line: 12, State: gates.Unapproved, Claimed: gates.ClaimedUnmet,
				Check: "sh scripts/install.sh --twice", Expect: "IDEMPOTENT", CWD: "packages/x", Reason: "new here", Next: "read it, then gatesworn check --approve GATES:G4",
			},
			{ID: "G5", Name: "GATES:G5", Title: "by hand", Line: 15, State: gates.Manual, Claimed: gates.ClaimedUnmet, Reason: "no evidence yet", Next: "do it, tick the box and say what was seen in EVIDENCE"},
			{ID: "G6", Name: "GATES:G6", Title: "after the session", Line: 16, State: gates.Blocked, Claimed: gates.ClaimedUnmet, Check: "c", Expect: "e", Reason: "needs GATES:G3, which failed", Next: "gatesworn check GATES:G3 GATES:G6"},
			{ID: "G7", Name: "GATES:G7", Title: "given up", Line: 19, State: gates.Abandoned, Claimed: gates.ClaimedUnmet, Reason: "the host is gone"},
			{ID: "G8", Name: "GATES:G8", Title: "the docs build", Line: 0, State: gates.Removed, Claimed: gates.ClaimedUnmet, Reason: "on main, not here", Next: "put it back, or ask alice or bob: gatesworn sign"},
			{ID: "G9", Name: "GATES:G9", Title: "changed meanwhile", Line: 22, State: gates.NotRun, Stale: true, Claimed: gates.ClaimedUnmet, Check: "c", Expect: "e", Reason: "its definition changed while the check ran; the result was discarded", Next: "gatesworn check GATES:G9"},
		}}},
	})
}

// print gives a whole run as a surface shows it.
func print(r gates.Report, style render.Style, f render.Footer) string {
	var b bytes.Buffer
	t := render.NewText(&b, style, nil)
	for _, l := range r.Ledgers {
		for _, g := range l.Gates {
			if g.State == gates.Unapproved {
				t.Withheld(g)
			}
		}
	}
	for _, l := range r.Ledgers {
		for _, g := range l.Gates {
			t.Result(g)
		}
	}
	t.Verdict(r, f)
	return b.String()
}

func TestEveryState(t *testing.T) {
	t.Parallel()
	f := render.Footer{PullRequest: []string{"GATES:G4 also needs a signature by alice or bob"}}
	for name, style := range map[string]render.Style{
		"piped.txt":    {},
		"terminal.txt": {Terminal: true},
		"colour.txt":   {Terminal: true, Color: true},
		"verbose.txt":  {Verbose: true},
		"aspr.txt":     {AsPR: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden(t, name, print(everyState(), style, f))
		})
	}
}

func TestBudgets(t *testing.T) {
	t.Parallel()
	met := gates.Report{Trust: gates.Trust{Mode: gates.TrustLocal}, Ledgers: []gates.Ledger{{Path: "GATES.md"}}}
	for i := range 200 {
		met.Ledgers[0].Gates = append(met.Ledgers[0].Gates, gates.Gate{
			ID: fmt.Sprintf("G%d", i+1), Name: fmt.Sprintf("GATES:G%d", i+1), Title: strings.Repeat("long title ", 12), State: gates.Met, Run: ran(0, 1234, ""),
		})
	}
	if n := len(print(gates.Evaluate(met), render.Style{}, render.Footer{})); n > 8<<10 {
		t.Errorf("a met run of 200 gates takes %d bytes, more than 8 KB", n)
	}
	long := strings.Repeat("long ", 4000)
	for _, g := range []gates.Gate{
		{ID: "G1", Name: "GATES:G1", Title: long, State: gates.Failed, Check: long, Expect: long, Reason: "exit 1", Next: "gatesworn check GATES:G1", Run: ran(1, 1, strings.Repeat("error: "+long+"\n", 9))},
		{ID: "G1", Name: "GATES:G1", Title: strings.Repeat("t", 400), State: gates.Failed, Check: strings.Repeat("c", 400), Expect: "x", Reason: "exit 1", Next: "gatesworn check GATES:G1", Run: ran(1, 1, strings.Repeat("error 1\n", 500))},
	} {
		var b bytes.Buffer
		render.NewText(&b, render.Style{}, nil).Result(g)
		if b.Len() > 700 {
			t.Errorf("a block of a failed gate takes %d bytes, more than 700:\n%s", b.Len(), &b)
		}
		if !strings.HasSuffix(b.String(), "next: gatesworn check GATES:G1\n") {
			t.Errorf("a block ends in its command:\n%s", &b)
		}
	}
}

func TestVerdictLines(t *testing.T) {
	t.Parallel()
	g := func(id string, s gates.State) gates.Gate {
		return gates.Gate{ID: id, Name: "GATES:" + id, State: s, Check: "c"}
	}
	local := gates.Trust{Mode: gates.TrustLocal}
	for name, tc := range map[string]struct {
		report gates.Report
		want   string
	}{
		"all met":     {gates.Report{Trust: local, Ledgers: one(run(g("G1", gates.Met)))}, "ALL MET (1 met)\n"},
		"recorded":    {gates.Report{Trust: local, Ledgers: one(g("G1", gates.Met))}, "ALL MET (1 met)\n  nothing was run: 1 recorded; next: gatesworn check --reverify\n"},
		"other tree":  {gates.Report{Trust: local, Ledgers: one(earlier(g("G1", gates.Met)))}, "ALL MET (1 met)\n  nothing was run: 1 recorded, on another tree; next: gatesworn check --reverify\n"},
		"older":       {gates.Report{Trust: local, Ledgers: one(older(g("G1", gates.NotRun)))}, "UNMET: 1 (met: 0)\n  GATES:G1 not run\n  1 gate is ticked with evidence from an older checker, which names no command. Nothing is wrong; it proves less. next: gatesworn check\n"},
		"handoff":     {gates.Report{Trust: local, Ledgers: one(run(g("G1", gates.Met)), g("G2", gates.Abandoned))}, "HANDOFF REQUIRED: 1 abandoned (met: 1)\n  GATES:G2\n"},
		"both":        {gates.Report{Trust: local, Ledgers: one(g("G1", gates.Failed), g("G2", gates.Abandoned))}, "HANDOFF REQUIRED: 1 abandoned (met: 0)\n  GATES:G2\nUNMET: 1 (met: 0)\n  GATES:G1 failed\n"},
		"wave":        {gates.Report{Trust: local, Pending: []string{"dispatch:w open (1/2 started)"}, Ledgers: one(run(g("G1", gates.Met)))}, "UNMET: 1 (met: 1)\n  dispatch:w open (1/2 started)\n"},
		"partial":     {gates.Report{Trust: local, Ledgers: one(run(g("G1", gates.Met)), unasked(g("G2", gates.NotRun)))}, "PARTIAL: 1 met of 1 asked, 2 in the ledger\n"},
		"part, unmet": {gates.Report{Trust: local, Ledgers: one(g("G1", gates.Failed), unasked(g("G2", gates.NotRun)))}, "UNMET: 1 (met: 0)\n  GATES:G1 failed\n  asked for 1 of 2 gates\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			render.NewText(&b, render.Style{}, nil).Verdict(gates.Evaluate(tc.report), render.Footer{})
			if d := cmp.Diff(tc.want, b.String()); d != "" {
				t.Error(d)
			}
		})
	}
}

func one(g ...gates.Gate) []gates.Ledger { return []gates.Ledger{{Path: "GATES.md", Gates: g}} }
func run(g gates.Gate) gates.Gate        { g.Run = ran(0, 1, ""); return g }
func earlier(g gates.Gate) gates.Gate    { g.EarlierTree = true; return g }
func older(g gates.Gate) gates.Gate      { g.OlderEvidence = true; return g }
func unasked(g gates.Gate) gates.Gate    { g.NotAsked = true; return g }
func hostile() *rapid.Generator[string]  { return rapid.OneOf(rapid.String(), rapid.SampledFrom(nasty)) }

func gateWith(t *rapid.T, s gates.State) gates.Gate {
	return gates.Gate{
		ID: "G1", Name: "GATES:G1", State: s, Title: hostile().Draw(t, "title"), Check: hostile().Draw(t, "check"), Expect: hostile().Draw(t, "expect"),
		CWD: hostile().Draw(t, "cwd"), Reason: hostile().Draw(t, "reason"), Next: "gatesworn check GATES:G1",
		Run: &gates.Run{Tail: strings.Join(rapid.SliceOfN(hostile(), 0, 12).Draw(t, "tail"), "\n")},
	}
}

var nasty = []string{
	"::error::x", "\r::set-output name=a::b", "x ##[error]y", "\x1b[31mred", "\x1b]8;;http://x\x07link", "a\u202eb", "\x00", "\u2028", "\xff", "\nUNMET: 0\n", "]]>", "&#27;",
}

// TestForeignTextStaysInItsPlace prints hostile text in every field of every
// state: no line is a workflow command, nothing but our own colour is an escape
// sequence, and only our own words stand in the first column.
func TestForeignTextStaysInItsPlace(t *testing.T) {
	t.Parallel()
	first := regexp.MustCompile(`^(PASS|FAIL|UNMET|STALE|REMOVED|NOT SIGNED|APPROVAL REQUIRED|APPROVED)( GATES:G1|: )|^  `)
	rapid.Check(t, func(t *rapid.T) {
		g := gateWith(t, rapid.SampledFrom([]gates.State{gates.Met, gates.Failed, gates.Unapproved, gates.Blocked, gates.Manual, gates.Removed, gates.NotRun}).Draw(t, "state"))
		var b bytes.Buffer
		text := render.NewText(&b, render.Style{Verbose: true, AsPR: rapid.Bool().Draw(t, "pr")}, nil)
		text.Withheld(g)
		text.Result(g)
		text.Approving(gates.GateRef{Name: g.Name, RelDir: g.CWD, Gate: ledger.Gate{Check: g.Check, Expect: g.Expect, Outcome: g.Title}}, []string{g.CWD}, g.CWD)
		for line := range strings.SplitSeq(strings.TrimSuffix(b.String(), "\n"), "\n") {
			switch {
			case !first.MatchString(line):
				t.Fatalf("a line of its own: %q", line)
			case strings.ContainsAny(line, "\x1b\r\x00\u2028\u202e"):
				t.Fatalf("control characters: %q", line)
			case strings.Contains(line, "##["), strings.HasPrefix(strings.TrimSpace(line), "::"):
				t.Fatalf("a workflow command: %q", line)
			}
		}
	})
}

func TestJUnitParsesAndNeverSkips(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := gateWith(t, rapid.SampledFrom([]gates.State{gates.Met, gates.Failed, gates.Unapproved, gates.Blocked, gates.Manual, gates.Removed, gates.NotRun, gates.Abandoned, ""}).Draw(t, "state"))
		r := gates.Evaluate(gates.Report{Ledgers: []gates.Ledger{{Path: hostile().Draw(t, "path"), Gates: []gates.Gate{g}}}})
		var b bytes.Buffer
		if err := render.JUnit(&b, r); err != nil {
			t.Fatal(err)
		}
		noCommands(t, b.String())
		failures, errs := 0, 0
		for d := xml.NewDecoder(&b); ; {
			tok, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("not XML: %v", err)
			}
			if s, ok := tok.(xml.StartElement); ok {
				switch s.Name.Local {
				case "skipped":
					t.Fatal("skipped is read as success")
				case "failure":
					failures++
				case "error":
					errs++
				}
			}
		}
		wantFailure := g.State == gates.Failed || g.State == gates.Blocked || g.State == gates.Removed
		if (failures == 1) != wantFailure || (failures+errs == 0) != (g.State == gates.Met) {
			t.Fatalf("state %q: %d failures, %d errors", g.State, failures, errs)
		}
	})
}

// noCommands fails when a line would be a command in the log of a job.
func noCommands(t *rapid.T, document string) {
	for line := range strings.Lines(document) {
		if strings.Contains(line, "##[") || strings.HasPrefix(strings.TrimSpace(line), "::") {
			t.Fatalf("a workflow command: %q", line)
		}
	}
}

func TestJSONHoldsNoCommands(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := gates.Evaluate(gates.Report{Ledgers: []gates.Ledger{{Path: "GATES.md", Gates: []gates.Gate{gateWith(t, gates.Failed)}}}})
		want.Ledgers[0].Gates[0].Title = strings.ToValidUTF8(want.Ledgers[0].Gates[0].Title, "?") + `\\##[error]`
		var b bytes.Buffer
		if err := render.JSON(&b, want); err != nil {
			t.Fatal(err)
		}
		noCommands(t, b.String())
		var got gates.Report
		if err := json.Unmarshal(b.Bytes(), &got); err != nil || got.Ledgers[0].Gates[0].Title != want.Ledgers[0].Gates[0].Title {
			t.Fatalf("%v: %q", err, got.Ledgers[0].Gates[0].Title)
		}
	})
}

func TestJSONRoundTrip(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	want := everyState()
	if err := render.JSON(&b, want); err != nil {
		t.Fatal(err)
	}
	var got gates.Report
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	start := time.Unix(100, 0)
	for name, tc := range map[string]struct {
		terminal bool
		want     string
	}{
		"terminal": {true, "\r\x1b[Krunning GATES:G1 61s · 3 of 4 left · ^C keeps what is done\r\x1b[K"},
		"piped":    {false, "gatesworn: running GATES:G1 (31s), 3 left\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			p := render.NewProgress(&b, tc.terminal, start)
			text := render.NewText(io.Discard, render.Style{}, p)
			p.Tick(start.Add(time.Hour)) // nothing runs, nothing to say
			text.Planned(4)
			text.Started("GATES:G1", start)
			if tc.terminal {
				p.Tick(start.Add(61 * time.Second))
				p.Clear()
			} else {
				p.Tick(start.Add(29 * time.Second))
				p.Tick(start.Add(31 * time.Second))
				p.Tick(start.Add(59 * time.Second))
			}
			text.Ended("GATES:G1")
			if d := cmp.Diff(tc.want, b.String()); d != "" {
				t.Error(d)
			}
		})
	}
}

// full is a pipe whose reader is gone.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestWriteErrorIsKept(t *testing.T) {
	t.Parallel()
	text := render.NewText(full{}, render.Style{}, nil)
	text.Verdict(everyState(), render.Footer{})
	if text.Err() == nil {
		t.Error("a full disk passes for success")
	}
}
