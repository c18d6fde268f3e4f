package gates_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/gates/ledger"
)

// A pass that is not on disk is not announced as one (10-fine-print: a result is
// announced only once it is on disk); a failure needs no record to be one.
func TestUnrecordedPassIsNoPass(t *testing.T) {
	t.Parallel()
	m := &memory{fates: map[string]gates.Recorded{"G1": gates.RecordFailed, "G2": gates.RecordFailed, "G3": gates.RecordFailed}}
	exec := &script{results: map[string]gates.Result{"bad": {End: gates.Exited, Code: 1}}}
	watch := &log{}
	r, err := gates.Check(t.Context(), job(t, gates.Unmet, gate("G1", "a")+gate("G2", "b")+gate("G3", "bad"), m), allow{"": yes}, exec, watch)
	if err == nil || gates.ExitCode(r) != 2 || r.Conclusion != gates.Failure {
		t.Fatalf("err %v, exit %d", err, gates.ExitCode(r))
	}
	want := map[string]gates.State{"G1": gates.NotRun, "G2": gates.NotRun, "G3": gates.Failed}
	for id, s := range want {
		if got := find(t, r, id); got.State != s || s == gates.NotRun && !strings.Contains(got.Reason, "could not be written") {
			t.Errorf("%s is %s, %q; want %s", id, got.State, got.Reason, s)
		}
	}
	if slices.Contains(watch.lines, "G1 met") || slices.Contains(watch.lines, "G2 met") {
		t.Errorf("announced %q", watch.lines)
	}
	// One cause is told once, with the gates in ledger order.
	if want := "cannot record GATES:G1, GATES:G2, GATES:G3: the result was not written"; err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}

// What keeps a run from judging anything gives no verdict about gates.
func TestNothingIsJudged(t *testing.T) {
	t.Parallel()
	broken := job(t, gates.Unmet, gate("G1", "a"), &memory{})
	broken.Sources[0].Dir = func(ledger.Gate) (string, string, error) { return "", "", errors.New(`CWD ".." leaves the repository`) }
	unknown := job(t, gates.Unmet, gate("G1", "a"), &memory{})
	unknown.Only = gates.Selection{"G9"}
	for name, j := range map[string]gates.Job{"CWD": broken, "name": unknown} {
		r, err := gates.Check(t.Context(), j, allow{"": yes}, &script{}, &log{})
		if !errors.Is(err, gates.ErrNothingJudged) || r.Verdict != gates.VerdictError || r.Conclusion != gates.Failure {
			t.Errorf("%s: err %v, verdict %s", name, err, r.Verdict)
		}
	}
}

// The name that a surface printed means that gate, also where it is the end of a longer one.
func TestPrintedNameWins(t *testing.T) {
	t.Parallel()
	j := job(t, gates.Unmet, gate("G1", "root"), &memory{})
	sub := j.Sources[0]
	sub.Path, sub.Abs = "sub/GATES.md", "/r/sub/GATES.md"
	sub.Doc = ledger.Parse(sub.Path, []byte(gate("G1", "sub")))
	j.Sources = append(j.Sources, sub)
	for name, want := range map[string]string{"GATES:G1": "root", "GATES.md:G1": "root", "sub/GATES:G1": "sub", "sub/GATES.md:G1": "sub"} {
		j.Only = gates.Selection{name}
		exec := &script{}
		if _, err := gates.Check(t.Context(), j, allow{"": yes}, exec, &log{}); err != nil || !slices.Equal(exec.ran, []string{want}) {
			t.Errorf("%s ran %q, err %v", name, exec.ran, err)
		}
	}
	j.Only = gates.Selection{"G1"}
	if _, err := gates.Check(t.Context(), j, allow{"": yes}, &script{}, &log{}); err == nil {
		t.Error("G1 alone is ambiguous")
	}
}

// The next step of a blocked gate is what cures the block: no run of gatesworn
// ticks a manual gate or takes back that one was given up.
func TestNextOfBlocked(t *testing.T) {
	t.Parallel()
	text := "- [ ] G1: by hand\n" + gate("G2", "two", "  NEEDS: G1\n") + gate("G3", "three", "  NEEDS: G2\n") +
		gate("G4", "gone") + gate("G5", "five", "  NEEDS: G4\n") + "ABANDON: G4 no\n"
	r, err := gates.Check(context.Background(), job(t, gates.Unmet, text, &memory{}), allow{"": yes}, &script{}, &log{})
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{
		"G2": "do it, tick the box and say what was seen in EVIDENCE",
		"G3": "do it, tick the box and say what was seen in EVIDENCE",
		"G5": "drop GATES:G4 from NEEDS, or take back its ABANDON",
	} {
		if g := find(t, r, id); g.State != gates.Blocked || !strings.HasSuffix(g.Next, want) {
			t.Errorf("%s: %s, next %q", id, g.State, g.Next)
		}
	}
}

// The reference's answer for cases/ledgers.json "manual with automatic line is stale".
func TestManualWithAutomaticEvidenceIsStale(t *testing.T) {
	t.Parallel()
	line := "automatic-evidence=v1; definition-sha256=" + strings.Repeat("a", 64) + "; exit=0; EXPECT=matched; output-sha256=" + strings.Repeat("b", 64) + "; output-bytes=1; shell=/bin/sh"
	text := "- [x] G1: by hand\n  EVIDENCE: " + line + "\n- [x] G2: by hand\n  EVIDENCE: pending\n"
	r, err := gates.Check(t.Context(), job(t, gates.Status, text, nil), allow{}, nil, &log{})
	if err != nil {
		t.Fatal(err)
	}
	if g := find(t, r, "G1"); g.Claimed != gates.ClaimedStale || g.State != gates.Manual {
		t.Errorf("G1: %s, claimed %s", g.State, g.Claimed)
	}
	if g := find(t, r, "G2"); g.Claimed != gates.ClaimedUnmet {
		t.Errorf("G2: claimed %s", g.Claimed)
	}
}
