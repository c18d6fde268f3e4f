package gates_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/gatesworn/gatesworn/gates"
)

// shelf is a Reuse that hands out what it was given, whatever changed since.
type shelf struct {
	kept  map[string]gates.Pass
	asked []string
	told  []string
}

func (s *shelf) Lookup(g gates.GateRef) (gates.Pass, bool) {
	s.asked = append(s.asked, g.Gate.ID)
	p, ok := s.kept[g.Gate.ID]
	return p, ok
}

func (s *shelf) Keep(g gates.GateRef, p gates.Pass) {
	s.told = append(s.told, g.Gate.ID)
	if s.kept == nil {
		s.kept = map[string]gates.Pass{}
	}
	s.kept[g.Gate.ID] = p
}

var errTest = errors.New("a.txt differs from what was approved")

// twice runs a ledger once to fill the shelf, hands the texts between the runs
// to change, and returns what the second run did.
func twice(t *testing.T, mode gates.Mode, perm gates.Permit, standing bool, first string, change func(kept *shelf, second string) string) (gates.Report, *script, *memory, *shelf) {
	t.Helper()
	s := &shelf{}
	exec := &script{results: map[string]gates.Result{"bad": {End: gates.Exited, Code: 1}}}
	mem := &memory{}
	j := job(t, gates.Unmet, first, mem)
	if j.Reuse = s; standing {
		j.Sources[0].Standing, j.Sources[0].Recorder = true, nil
	}
	if _, err := gates.Check(t.Context(), j, perm, exec, &log{}); err != nil {
		t.Fatal(err)
	}
	text := first
	for _, e := range mem.got {
		if e.Passed {
			text = strings.Replace(text, "- [ ] "+e.Gate.ID+":", "- [x] "+e.Gate.ID+":", 1)
			text = strings.Replace(text, "  CHECK: "+e.Gate.Check+"\n", "  CHECK: "+e.Gate.Check+"\n  EVIDENCE: "+e.Evidence+"\n", 1)
		}
	}
	if change != nil {
		text = change(s, text)
	}
	exec.ran, s.asked, s.told = nil, nil, nil
	again := &memory{}
	j = job(t, mode, text, again)
	if j.Reuse = s; standing {
		j.Sources[0].Standing, j.Sources[0].Recorder = true, nil
	}
	r, err := gates.Check(t.Context(), j, perm, exec, &log{})
	if err != nil {
		t.Fatal(err)
	}
	return r, exec, again, s
}

func TestReusedIsMetAndSaysSo(t *testing.T) {
	t.Parallel()
	r, exec, mem, _ := twice(t, gates.Unmet, allow{"": yes}, false, gate("G1", "one")+gate("G2", "two"), nil)
	if len(exec.ran) != 0 || len(mem.got) != 0 {
		t.Errorf("ran %q, wrote %d", exec.ran, len(mem.got))
	}
	g := find(t, r, "G1")
	if g.State != gates.Met || g.Run == nil || g.Run.Reused == nil || g.Run.Reused.At == "" || *g.Run.Exit != 0 || g.Run.OutputSHA256 == "" {
		t.Errorf("G1: %+v, run %+v", g, g.Run)
	}
	if gates.ExitCode(r) != 0 || r.Conclusion != gates.Success {
		t.Errorf("exit %d, %s", gates.ExitCode(r), r.Conclusion)
	}
}

func TestEmptyBoxGetsItsRecordBack(t *testing.T) {
	t.Parallel()
	first := gate("G1", "one") + gate("G2", "two")
	r, exec, mem, s := twice(t, gates.Unmet, allow{"": yes}, false, first, func(*shelf, string) string { return first })
	if len(exec.ran) != 0 || find(t, r, "G2").Run.Reused == nil {
		t.Errorf("ran %q", exec.ran)
	}
	if len(mem.got) != 2 || !mem.got[0].Passed || mem.got[0].Evidence != s.kept["G1"].Evidence {
		t.Errorf("wrote %+v", mem.got)
	}
	if len(s.told) != 0 {
		t.Errorf("a reused pass must not be kept as a new one: %q", s.told)
	}
}

func TestDoubtRuns(t *testing.T) {
	t.Parallel()
	plain := gate("G1", "one")
	for name, change := range map[string]func(s *shelf, text string) string{
		"nothing kept": func(s *shelf, text string) string { s.kept = nil; return text },
		"other evidence in the ledger": func(s *shelf, text string) string {
			return strings.Replace(text, "/bin/sh", "/bin/zz", 1)
		},
		"kept without evidence": func(s *shelf, text string) string {
			s.kept["G1"] = gates.Pass{Run: s.kept["G1"].Run}
			return text
		},
		"kept for another definition": func(s *shelf, text string) string {
			return strings.Replace(plain, "CHECK: one", "CHECK: uno", 1)
		},
		"kept a failure": func(s *shelf, text string) string {
			p := s.kept["G1"]
			one := 1
			p.Run.Exit = &one
			s.kept["G1"] = p
			return text
		},
		"kept without an exit": func(s *shelf, text string) string {
			p := s.kept["G1"]
			p.Run.Exit = nil
			s.kept["G1"] = p
			return text
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, exec, _, s := twice(t, gates.Unmet, allow{"": yes}, false, plain, change)
			if len(exec.ran) != 1 || find(t, r, "G1").Run.Reused != nil || len(s.told) != 1 {
				t.Errorf("ran %q, told %q", exec.ran, s.told)
			}
		})
	}
}

func TestClaimAloneIsRunWhenReuseIsAsked(t *testing.T) {
	t.Parallel()
	_, exec, _, _ := twice(t, gates.Unmet, allow{"": yes}, false, gate("G1", "one"), func(s *shelf, text string) string {
		s.kept = nil
		return text // ticked, with good evidence
	})
	if !slices.Equal(exec.ran, []string{"one"}) {
		t.Errorf("ran %q", exec.ran)
	}
}

func TestReuseNeedsPermission(t *testing.T) {
	t.Parallel()
	perm := allow{"": yes}
	r, exec, _, s := twice(t, gates.Unmet, perm, false, gate("G1", "one"), func(_ *shelf, text string) string {
		perm[""] = gates.Permission{Reason: "new here"}
		return text
	})
	if len(exec.ran)+len(s.asked) != 0 || find(t, r, "G1").State != gates.Unapproved {
		t.Errorf("ran %q, asked %q, %v", exec.ran, s.asked, states(r))
	}
}

func TestReuseLooksAtBoundFiles(t *testing.T) {
	t.Parallel()
	perm := allow{"": yes}
	r, _, _, _ := twice(t, gates.Unmet, perm, false, gate("G1", "one"), func(_ *shelf, text string) string {
		perm[""] = gates.Permission{Allowed: true, Oracle: "sha256:0", Unchanged: func() error { return errTest }}
		return text
	})
	if g := find(t, r, "G1"); g.State != gates.Failed {
		t.Errorf("G1 is %s", g.State)
	}
}

func TestWhatNeedsARunGateRuns(t *testing.T) {
	t.Parallel()
	text := gate("G1", "one") + gate("G2", "two", "  NEEDS: G1\n") + gate("G3", "three", "  NEEDS: G2\n") + gate("G4", "four")
	_, exec, _, _ := twice(t, gates.Unmet, allow{"": yes}, false, text, func(s *shelf, text string) string {
		delete(s.kept, "G1")
		return text
	})
	if !slices.Equal(exec.ran, []string{"one", "two", "three"}) {
		t.Errorf("ran %q", exec.ran)
	}
}

func TestReusedNeedIsEnough(t *testing.T) {
	t.Parallel()
	text := gate("G1", "one") + gate("G2", "two", "  NEEDS: G1\n")
	r, exec, _, _ := twice(t, gates.Unmet, allow{"": yes}, false, text, func(s *shelf, text string) string {
		delete(s.kept, "G2")
		return text
	})
	if !slices.Equal(exec.ran, []string{"two"}) || find(t, r, "G2").State != gates.Met {
		t.Errorf("ran %q, %v", exec.ran, states(r))
	}
}

func TestFailuresAreNotKept(t *testing.T) {
	t.Parallel()
	_, exec, _, s := twice(t, gates.Unmet, allow{"": yes}, false, gate("G1", "bad")+gate("G2", "two"), nil)
	if !slices.Equal(exec.ran, []string{"bad"}) || len(s.told) != 0 {
		t.Errorf("ran %q, told %q", exec.ran, s.told)
	}
}

func TestStandingLedgersAreReused(t *testing.T) {
	t.Parallel()
	r, exec, _, _ := twice(t, gates.Unmet, allow{"": yes}, true, gate("G1", "one"), nil)
	if len(exec.ran) != 0 || find(t, r, "G1").Run.Reused == nil {
		t.Errorf("ran %q", exec.ran)
	}
}

func TestReverifyIgnoresWhatIsKept(t *testing.T) {
	t.Parallel()
	r, exec, _, s := twice(t, gates.Reverify, allow{"": yes}, false, gate("G1", "one"), nil)
	if len(exec.ran) != 1 || len(s.asked) != 0 || len(s.told) != 1 || find(t, r, "G1").Run.Reused != nil {
		t.Errorf("ran %q, asked %q, told %q", exec.ran, s.asked, s.told)
	}
}

// TestPullRequestsNeverReuse: a verdict that gates a merge is measured, even if a
// front end hands Check something to reuse.
func TestPullRequestsNeverReuse(t *testing.T) {
	t.Parallel()
	for name, alter := range map[string]func(*gates.Job){
		"--as-pr":                  func(j *gates.Job) { j.Mode = gates.AsPR },
		"the Action's trust":       func(j *gates.Job) { j.Base.Trust.Mode = gates.TrustAllowlist },
		"--status claims nothing":  func(j *gates.Job) { j.Mode = gates.Status },
		"reverify with allowlists": func(j *gates.Job) { j.Mode, j.Base.Trust.Mode = gates.Reverify, gates.TrustAllowlist },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			zero := 0
			s := &shelf{kept: map[string]gates.Pass{"G1": {Evidence: "any", Run: gates.Run{Exit: &zero, Matched: true}}}}
			j := job(t, gates.Unmet, gate("G1", "one"), &memory{})
			j.Reuse = s
			alter(&j)
			r, err := gates.Check(t.Context(), j, allow{"": yes}, &script{}, &log{})
			if err != nil {
				t.Fatal(err)
			}
			if len(s.asked)+len(s.told) != 0 {
				t.Errorf("asked %q, told %q", s.asked, s.told)
			}
			if g := find(t, r, "G1"); g.Run != nil && g.Run.Reused != nil {
				t.Error("reused")
			}
		})
	}
}

func TestShareAsksForItsGatesOnly(t *testing.T) {
	t.Parallel()
	exec := &script{}
	j := job(t, gates.Unmet, gate("G1", "one")+gate("G2", "two"), &memory{})
	j.Share = func(path, id string) bool { return path == "GATES.md" && id == "G2" }
	r, err := gates.Check(t.Context(), j, allow{"": yes}, exec, &log{})
	if err != nil || !slices.Equal(exec.ran, []string{"two"}) || !find(t, r, "G1").NotAsked || r.Verdict != gates.VerdictPartial {
		t.Errorf("err %v, ran %q, verdict %s", err, exec.ran, r.Verdict)
	}
}
