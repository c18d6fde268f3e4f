package gates_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/gates/evidence"
	"github.com/gatesworn/gatesworn/gates/expect"
	"github.com/gatesworn/gatesworn/gates/ledger"
)

// allow is a Permit with an answer for each gate id; "" stands for the rest.
type allow map[string]gates.Permission

func (a allow) Permit(_ context.Context, g gates.GateRef) (gates.Permission, error) {
	p, ok := a[g.Gate.ID]
	if !ok {
		p = a[""]
	}
	if p.Reason == "broken" {
		return p, errors.New("store unreadable")
	}
	return p, nil
}

var yes = gates.Permission{Allowed: true, Oracle: "sha256:0"}

// script is an Exec: what each command prints and how it ends.
type script struct {
	mu      sync.Mutex
	ran     []string
	results map[string]gates.Result
	during  func(command string)
}

func (s *script) Exec(_ context.Context, c gates.Command) gates.Result {
	s.mu.Lock()
	s.ran = append(s.ran, c.Script)
	s.mu.Unlock()
	if s.during != nil {
		s.during(c.Script)
	}
	if r, ok := s.results[c.Script]; ok {
		return r
	}
	return gates.Result{End: gates.Exited, Stdout: []byte("fine\n")}
}

// log is an Observer that writes down what it is told.
type log struct{ lines []string }

func (l *log) Withheld(g gates.Gate)             { l.lines = append(l.lines, "withheld "+g.ID) }
func (l *log) Planned(int)                       {}
func (l *log) Started(name string, at time.Time) { l.lines = append(l.lines, "started "+name) }
func (l *log) Ended(name string)                 {}
func (l *log) Result(g gates.Gate)               { l.lines = append(l.lines, fmt.Sprintf("%s %s", g.ID, g.State)) }

// memory is a Recorder that answers each entry with the fate its gate has.
type memory struct {
	mu    sync.Mutex
	fates map[string]gates.Recorded
	got   []gates.Entry
	done  []func()
}

func (m *memory) Record(e gates.Entry, done func(gates.Recorded, error)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.got = append(m.got, e)
	fate, ok := m.fates[e.Gate.ID]
	if !ok {
		fate = gates.RecordWritten
	}
	m.done = append(m.done, func() { done(fate, nil) })
}

// Flush answers what waits: results must not be announced before.
func (m *memory) Flush() {
	m.mu.Lock()
	defer m.mu.Unlock()
	waiting := m.done
	m.done = nil
	go func() {
		for _, d := range waiting {
			d()
		}
	}()
}

func gate(id, check string, rest ...string) string {
	return "- [ ] " + id + ": outcome " + id + "\n  CHECK: " + check + "\n  EXPECT: fine\n" + strings.Join(rest, "")
}

func job(t *testing.T, mode gates.Mode, text string, rec gates.Recorder) gates.Job {
	t.Helper()
	engine := expect.New()
	t.Cleanup(engine.Close)
	return gates.Job{
		Mode: mode, Jobs: 2, Timeout: time.Second, Shell: "/bin/sh", Path: "/bin", Engine: engine, Now: time.Now,
		Env: func(ledger.Gate) []string { return nil },
		Sources: []gates.Source{{
			Path: "GATES.md", Abs: "/r/GATES.md", Doc: ledger.Parse("GATES.md", []byte(text)), Recorder: rec,
			Dir: func(ledger.Gate) (string, string, error) { return "/r", ".", nil },
		}},
		Base: gates.Report{Trust: gates.Trust{Mode: gates.TrustLocal}},
	}
}

func states(r gates.Report) map[string]gates.State {
	out := map[string]gates.State{}
	for _, l := range r.Ledgers {
		for _, g := range l.Gates {
			out[g.ID] = g.State
		}
	}
	return out
}

func find(t *testing.T, r gates.Report, id string) gates.Gate {
	t.Helper()
	for _, l := range r.Ledgers {
		for _, g := range l.Gates {
			if g.ID == id {
				return g
			}
		}
	}
	t.Fatalf("no gate %s in the report", id)
	return gates.Gate{}
}

func TestCheckRunsOnlyWhatIsAllowed(t *testing.T) {
	t.Parallel()
	exec := &script{}
	j := job(t, gates.Unmet, gate("G1", "one")+gate("G2", "two"), &memory{})
	watch := &log{}
	r, err := gates.Check(t.Context(), j, allow{"G1": yes, "": {Reason: "new here"}}, exec, watch)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(exec.ran, []string{"one"}) {
		t.Errorf("ran %q", exec.ran)
	}
	if r.Verdict != gates.VerdictUnmet || r.Conclusion != gates.ActionRequired || gates.ExitCode(r) != 1 {
		t.Errorf("verdict %s, conclusion %s, exit %d", r.Verdict, r.Conclusion, gates.ExitCode(r))
	}
	if g := find(t, r, "G2"); g.State != gates.Unapproved || g.Reason != "new here" || g.Run != nil {
		t.Errorf("G2: %+v", g)
	}
	if watch.lines[0] != "withheld G2" {
		t.Errorf("decisions come before anything runs: %q", watch.lines)
	}
}

func TestZeroPermissionRefuses(t *testing.T) {
	t.Parallel()
	exec := &script{}
	r, err := gates.Check(t.Context(), job(t, gates.Reverify, gate("G1", "one"), nil), allow{}, exec, &log{})
	if err != nil || len(exec.ran) != 0 || find(t, r, "G1").State != gates.Unapproved {
		t.Errorf("err %v, ran %q, %v", err, exec.ran, states(r))
	}
}

func TestUnreadableStoreStopsOnlyItsGate(t *testing.T) {
	t.Parallel()
	exec := &script{}
	r, err := gates.Check(t.Context(), job(t, gates.Unmet, gate("G1", "one")+gate("G2", "two"), nil), allow{"G1": {Reason: "broken"}, "": yes}, exec, &log{})
	if err == nil || gates.ExitCode(r) != 2 || r.Conclusion != gates.Failure {
		t.Errorf("err %v, exit %d, conclusion %s", err, gates.ExitCode(r), r.Conclusion)
	}
	if !slices.Equal(exec.ran, []string{"two"}) {
		t.Errorf("ran %q", exec.ran)
	}
}

func TestPassingNeedsExitZeroAndMatch(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		result gates.Result
		reason string
	}{
		"passes":         {gates.Result{End: gates.Exited, Stdout: []byte("all fine")}, ""},
		"zero value":     {gates.Result{}, "could not start: unknown reason"},
		"exit 1, match":  {gates.Result{End: gates.Exited, Code: 1, Stdout: []byte("fine")}, "exit 1; EXPECT matched, but only exit 0 can pass"},
		"exit 0, no":     {gates.Result{End: gates.Exited, Stdout: []byte("bad")}, `exit 0, but the output lacks "fine"`},
		"killed":         {gates.Result{End: gates.Signaled, Signal: 9, Stdout: []byte("fine")}, "killed by signal 9 (memory?)"},
		"timed out":      {gates.Result{End: gates.TimedOut, Stdout: []byte("fine")}, "timed out after 1s"},
		"flood":          {gates.Result{End: gates.Overflowed, Stdout: []byte("fine")}, "output over 1 MiB"},
		"not started":    {gates.Result{End: gates.NotStarted, Err: errors.New("no shell")}, "could not start: no shell"},
		"grows past cap": {gates.Result{End: gates.Exited, Stdout: []byte(strings.Repeat("\xff", evidence.MaxOutput/2) + "fine")}, "output over 1 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exec := &script{results: map[string]gates.Result{"one": tc.result}}
			r, err := gates.Check(t.Context(), job(t, gates.Unmet, gate("G1", "one"), &memory{}), allow{"": yes}, exec, &log{})
			if err != nil {
				t.Fatal(err)
			}
			g := find(t, r, "G1")
			if (g.State == gates.Met) != (tc.reason == "") || !strings.HasPrefix(g.Reason, tc.reason) {
				t.Errorf("state %s, reason %q, want %q", g.State, g.Reason, tc.reason)
			}
			if g.State != gates.Met && (g.Next == "" || r.Conclusion != gates.Failure) {
				t.Errorf("next %q, conclusion %s", g.Next, r.Conclusion)
			}
		})
	}
}

func TestResultIsAnnouncedOnlyOnceRecorded(t *testing.T) {
	t.Parallel()
	m := &memory{fates: map[string]gates.Recorded{"G2": gates.RecordStale, "G3": gates.RecordAbandoned}}
	watch := &log{}
	r, err := gates.Check(t.Context(), job(t, gates.Unmet, gate("G1", "a")+gate("G2", "b")+gate("G3", "c"), m), allow{"": yes}, &script{}, watch)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]gates.State{"G1": gates.Met, "G2": gates.NotRun, "G3": gates.Abandoned}
	for id, s := range want {
		if states(r)[id] != s {
			t.Errorf("%s is %s, want %s", id, states(r)[id], s)
		}
	}
	if !find(t, r, "G2").Stale {
		t.Error("G2 is not marked stale")
	}
	if len(m.got) != 3 || !m.got[0].Passed || !strings.HasPrefix(m.got[0].Evidence, "automatic-evidence=v1; ") {
		t.Errorf("recorded %+v", m.got)
	}
}

func TestFailedWriteIsStatusTwo(t *testing.T) {
	t.Parallel()
	m := &memory{fates: map[string]gates.Recorded{"G1": gates.RecordFailed}}
	r, err := gates.Check(t.Context(), job(t, gates.Unmet, gate("G1", "a"), m), allow{"": yes}, &script{}, &log{})
	if err == nil || gates.ExitCode(r) != 2 {
		t.Errorf("err %v, exit %d", err, gates.ExitCode(r))
	}
}

func TestNeedsBlock(t *testing.T) {
	t.Parallel()
	text := gate("G1", "bad") + gate("G2", "two", "  NEEDS: G1\n") + gate("G3", "three", "  NEEDS: G2\n") + gate("G4", "four", "  NEEDS: G5\n") + "- [ ] G5: by hand\n"
	exec := &script{results: map[string]gates.Result{"bad": {End: gates.Exited, Code: 1}}}
	watch := &log{}
	r, err := gates.Check(t.Context(), job(t, gates.Unmet, text, &memory{}), allow{"": yes}, exec, watch)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(exec.ran, []string{"bad"}) {
		t.Errorf("ran %q", exec.ran)
	}
	for id, reason := range map[string]string{
		"G2": "needs GATES:G1, which failed", "G3": "needs GATES:G2, which is blocked", "G4": "needs GATES:G5, which waits for a person",
	} {
		if g := find(t, r, id); g.State != gates.Blocked || g.Reason != reason {
			t.Errorf("%s: %s, %q", id, g.State, g.Reason)
		}
	}
	if got := watch.lines[len(watch.lines)-5:]; !slices.Equal(got, []string{"G1 failed", "G2 blocked", "G3 blocked", "G4 blocked", "G5 manual"}) {
		t.Errorf("ledger order: %q", got)
	}
}

func TestSelection(t *testing.T) {
	t.Parallel()
	text := gate("G1", "one") + gate("G2", "two") + gate("G3", "three")
	for name, tc := range map[string]struct {
		only    gates.Selection
		verdict gates.Verdict
		exit    int
		ran     []string
	}{
		"bare":      {gates.Selection{"G2"}, gates.VerdictPartial, 0, []string{"two"}},
		"qualified": {gates.Selection{"GATES:G2"}, gates.VerdictPartial, 0, []string{"two"}},
		"file":      {gates.Selection{"GATES.md:G2"}, gates.VerdictPartial, 0, []string{"two"}},
		"all":       {gates.Selection{"G1", "G2", "G3"}, gates.VerdictAllMet, 0, []string{"one", "two", "three"}},
		"unknown":   {gates.Selection{"G9"}, gates.VerdictError, 2, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := job(t, gates.Unmet, text, &memory{})
			j.Only, j.Jobs = tc.only, 1
			exec := &script{}
			r, err := gates.Check(t.Context(), j, allow{"": yes}, exec, &log{})
			if (err != nil) != (tc.exit == 2) || r.Counts.Gates != 3 {
				t.Errorf("err %v, %d gates", err, r.Counts.Gates)
			}
			if !slices.Equal(exec.ran, tc.ran) {
				t.Errorf("ran %q", exec.ran)
			}
			if err == nil && (r.Verdict != tc.verdict || gates.ExitCode(r) != tc.exit) {
				t.Errorf("verdict %s, exit %d", r.Verdict, gates.ExitCode(r))
			}
			if err == nil && tc.verdict == gates.VerdictPartial && r.Conclusion == gates.Success {
				t.Error("a partial run is never a success")
			}
		})
	}
}

func TestBoundFileThatChangesVoidsTheResult(t *testing.T) {
	t.Parallel()
	calls := 0
	p := yes
	p.Unchanged = func() error {
		if calls++; calls > 1 {
			return errors.New("scripts/a.sh changed")
		}
		return nil
	}
	m := &memory{}
	r, err := gates.Check(t.Context(), job(t, gates.Unmet, gate("G1", "one"), m), allow{"": p}, &script{}, &log{})
	if g := find(t, r, "G1"); err != nil || g.State != gates.Failed || g.Reason != "scripts/a.sh changed" || len(m.got) != 0 {
		t.Errorf("err %v, %s %q, recorded %d", err, g.State, g.Reason, len(m.got))
	}
}

func TestInterruptedKeepsWhatIsDone(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	exec := &script{during: func(c string) {
		if c == "two" {
			cancel()
		}
	}, results: map[string]gates.Result{"two": {End: gates.Interrupted}}}
	j := job(t, gates.Unmet, gate("G1", "one")+gate("G2", "two")+gate("G3", "three"), &memory{})
	j.Jobs = 1
	r, err := gates.Check(ctx, j, allow{"": yes}, exec, &log{})
	if !errors.Is(err, gates.ErrInterrupted) || gates.ExitCode(r) != 2 || r.Conclusion != gates.Failure {
		t.Errorf("err %v, exit %d", err, gates.ExitCode(r))
	}
	if s := states(r); s["G1"] != gates.Met || s["G2"] != gates.NotRun || s["G3"] != gates.NotRun {
		t.Errorf("states %v", s)
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	g := ledger.Parse("GATES.md", []byte(gate("G1", "one"))).Gates[0]
	line, err := evidence.Format(g, evidence.Run{Output: "fine", Shell: "/bin/sh", Dir: "/r", Path: "/bin"})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(gate("G1", "one"), "[ ]", "[x]", 1) + "  EVIDENCE: " + line + "\n" + gate("G2", "two") + "- [x] G3: seen\n  EVIDENCE: by eye\n"
	for name, tc := range map[string]struct {
		mode     gates.Mode
		standing bool
		ran      []string
		g3       gates.State
	}{
		"status":   {gates.Status, false, nil, gates.Met},
		"unmet":    {gates.Unmet, false, []string{"two"}, gates.Met},
		"reverify": {gates.Reverify, false, []string{"one", "two"}, gates.Met},
		"as-pr":    {gates.AsPR, false, []string{"one", "two"}, gates.Manual},
		"standing": {gates.Unmet, true, []string{"one", "two"}, gates.Met},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := job(t, tc.mode, text, nil)
			j.Jobs, j.Sources[0].Standing = 1, tc.standing
			exec := &script{}
			r, err := gates.Check(t.Context(), j, allow{"": yes}, exec, &log{})
			if err != nil || !slices.Equal(exec.ran, tc.ran) || states(r)["G3"] != tc.g3 {
				t.Errorf("err %v, ran %q, states %v", err, exec.ran, states(r))
			}
			if find(t, r, "G1").Claimed != gates.ClaimedMet || find(t, r, "G2").Claimed != gates.ClaimedUnmet {
				t.Error("claims are always there")
			}
		})
	}
}

func TestDecideOnlyRunsNothing(t *testing.T) {
	t.Parallel()
	j := job(t, gates.AsPR, gate("G1", "one")+gate("G2", "two"), nil)
	j.DecideOnly = true
	exec := &script{}
	r, err := gates.Check(t.Context(), j, allow{"G1": yes, "": {Reason: "new"}}, exec, &log{})
	if err != nil || len(exec.ran) != 0 || states(r)["G1"] != gates.NotRun || states(r)["G2"] != gates.Unapproved {
		t.Errorf("err %v, ran %q, states %v", err, exec.ran, states(r))
	}
}
