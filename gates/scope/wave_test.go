package scope

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
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
)

// ticking is a clock that moves a second with every look.
func ticking() func() time.Time {
	n := 0
	return func() time.Time { n++; return noon.Add(time.Duration(n) * time.Second) }
}

func TestWaveLife(t *testing.T) {
	t.Parallel()
	root := tree(t, ".unlazy/s/")
	tr := Tree{root, ticking()}
	ctx := t.Context()
	step := func(want string) func(Wave, error) {
		return func(w Wave, err error) {
			t.Helper()
			must(t, err)
			sameText(t, "wave", w.String(), want)
		}
	}
	step("OPEN W (0/2 started, 0/2 returned)")(tr.OpenWave(ctx, "s", "W", []string{"a", "b"}))
	step("OPEN W (1/2 started, 0/2 returned)")(tr.Launch(ctx, "s", "W", "a", "agent <1>"))
	step("OPEN W (2/2 started, 0/2 returned)")(tr.Launch(ctx, "s", "W", "b", "agent 2"))
	step("SEALED W (2/2 started, 0/2 returned)")(tr.Seal(ctx, "s", "W"))
	step("SEALED W (2/2 started, 1/2 returned)")(tr.ReturnLeaf(ctx, "s", "W", "b"))
	step("COMPLETE W (2/2 returned)")(tr.ReturnLeaf(ctx, "s", "W", "a"))
	step("OPEN 7 (0/1 started, 0/1 returned)")(tr.OpenWave(ctx, "s", "7", []string{"c"}))
	step("ABANDONED 7 (0/1 started, 0/1 returned): the plan changed")(tr.Abandon(ctx, "s", "7", "the plan changed"))
	// Numbers first, as JavaScript orders the names of an object.
	sameText(t, "dispatch.json", read(t, root, ".unlazy/s/dispatch.json"), `{
  "schema": 1,
  "waves": {
    "7": {
      "leaves": [
        "c"
      ],
      "state": "abandoned",
      "openedAt": "2026-11-30T12:00:20.005Z",
      "started": {},
      "returned": {},
      "reason": "the plan changed",
      "abandonedAt": "2026-11-30T12:00:23.005Z"
    },
    "W": {
      "leaves": [
        "a",
        "b"
      ],
      "state": "complete",
      "openedAt": "2026-11-30T12:00:02.005Z",
      "started": {
        "a": {
          "handle": "agent <1>",
          "at": "2026-11-30T12:00:05.005Z"
        },
        "b": {
          "handle": "agent 2",
          "at": "2026-11-30T12:00:08.005Z"
        }
      },
      "returned": {
        "b": {
          "at": "2026-11-30T12:00:14.005Z"
        },
        "a": {
          "at": "2026-11-30T12:00:17.005Z"
        }
      },
      "sealedAt": "2026-11-30T12:00:11.005Z",
      "completedAt": "2026-11-30T12:00:17.005Z"
    }
  }
}
`)
	times := regexp.MustCompile(`(?m)^2026-11-30T12:00:\d\d\.005Z `)
	sameText(t, "status.log", times.ReplaceAllString(read(t, root, ".unlazy/s/status.log"), "T "), `T dispatch W opened: a, b
T dispatch W started a as agent <1>
T dispatch W started b as agent 2
T dispatch W sealed
T dispatch W returned b
T dispatch W returned a
T dispatch 7 opened: c
T dispatch 7 abandoned: the plan changed
`)
	d, err := Waves(root, "s")
	must(t, err)
	if d := cmp.Diff(Summary{Resolved: 2, Abandoned: []string{"dispatch:7"}}, d.Summary()); d != "" {
		t.Error(d)
	}
	if left := names(t, filepath.Join(root, ".unlazy", "locks")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestWaveRefusals(t *testing.T) {
	t.Parallel()
	root := tree(t, ".unlazy/s/")
	tr := Tree{root, clock}
	ctx := t.Context()
	wave := func(name string, upTo int) {
		for i, f := range []func() (Wave, error){
			func() (Wave, error) { return tr.OpenWave(ctx, "s", name, []string{"a", "b"}) },
			func() (Wave, error) { return tr.Launch(ctx, "s", name, "a", "h1") },
			func() (Wave, error) { return tr.Launch(ctx, "s", name, "b", "h2") },
			func() (Wave, error) { return tr.Seal(ctx, "s", name) },
			func() (Wave, error) { return tr.ReturnLeaf(ctx, "s", name, "a") },
			func() (Wave, error) { return tr.ReturnLeaf(ctx, "s", name, "b") },
		} {
			if i < upTo {
				_, err := f()
				must(t, err)
			}
		}
	}
	wave("open", 2)
	wave("sealed", 5)
	wave("done", 6)
	_, err := tr.OpenWave(ctx, "s", "gone", []string{"a"})
	must(t, err)
	_, err = tr.Abandon(ctx, "s", "gone", "x")
	must(t, err)
	before := read(t, root, ".unlazy/s/dispatch.json") + read(t, root, ".unlazy/s/status.log")
	do := map[string]func() (Wave, error){
		`wave open already exists`:               func() (Wave, error) { return tr.OpenWave(ctx, "s", "open", []string{"a"}) },
		`no leaves`:                              func() (Wave, error) { return tr.OpenWave(ctx, "s", "n", nil) },
		`duplicate leaf a`:                       func() (Wave, error) { return tr.OpenWave(ctx, "s", "n", []string{"a", "b", "a"}) },
		`leaf "a b"`:                             func() (Wave, error) { return tr.OpenWave(ctx, "s", "n", []string{"a b"}) },
		`wave ".." is not`:                       func() (Wave, error) { return tr.OpenWave(ctx, "s", "..", []string{"a"}) },
		`wave "a/b"`:                             func() (Wave, error) { return tr.Seal(ctx, "s", "a/b") },
		`no scope "t"`:                           func() (Wave, error) { return tr.Seal(ctx, "t", "open") },
		`scope "../s"`:                           func() (Wave, error) { return tr.Seal(ctx, "../s", "open") },
		`unknown wave n`:                         func() (Wave, error) { return tr.Seal(ctx, "s", "n") },
		`unknown leaf c in wave open`:            func() (Wave, error) { return tr.Launch(ctx, "s", "open", "c", "h") },
		`leaf a already started`:                 func() (Wave, error) { return tr.Launch(ctx, "s", "open", "a", "h") },
		`handle is already assigned to a`:        func() (Wave, error) { return tr.Launch(ctx, "s", "open", "b", "h1") },
		`a handle is printable`:                  func() (Wave, error) { return tr.Launch(ctx, "s", "open", "b", "h\x1b[2J") },
		`at most 256`:                            func() (Wave, error) { return tr.Launch(ctx, "s", "open", "b", strings.Repeat("h", 257)) },
		`wave sealed is sealed; launch requires`: func() (Wave, error) { return tr.Launch(ctx, "s", "sealed", "a", "h") },
		`cannot seal open: missing starts for b`: func() (Wave, error) { return tr.Seal(ctx, "s", "open") },
		`wave done is complete; seal requires an open wave`:            func() (Wave, error) { return tr.Seal(ctx, "s", "done") },
		`return requires a sealed wave; open is open`:                  func() (Wave, error) { return tr.ReturnLeaf(ctx, "s", "open", "a") },
		`leaf a already returned`:                                      func() (Wave, error) { return tr.ReturnLeaf(ctx, "s", "sealed", "a") },
		`unknown leaf z in wave sealed`:                                func() (Wave, error) { return tr.ReturnLeaf(ctx, "s", "sealed", "z") },
		`return requires a sealed wave; gone is abandoned`:             func() (Wave, error) { return tr.ReturnLeaf(ctx, "s", "gone", "a") },
		`wave done is complete; abandon requires an open or sealed`:    func() (Wave, error) { return tr.Abandon(ctx, "s", "done", "x") },
		`wave gone is abandoned; abandon requires an open or sealed w`: func() (Wave, error) { return tr.Abandon(ctx, "s", "gone", "x") },
		`a reason is printable`:                                        func() (Wave, error) { return tr.Abandon(ctx, "s", "open", " \u202e ") },
		`at most 500`:                                                  func() (Wave, error) { return tr.Abandon(ctx, "s", "open", strings.Repeat("é", 501)) },
	}
	for want, f := range do {
		w, err := f()
		wantError(t, err, want)
		if w.Name != "" {
			t.Errorf("%s: returned a wave", want)
		}
	}
	if after := read(t, root, ".unlazy/s/dispatch.json") + read(t, root, ".unlazy/s/status.log"); after != before {
		t.Error("a refusal changed a file")
	}
}

// A wave as unlazy writes it; each case damages it in one way that cannot have happened.
const history = `{
  "schema": 1,
  "waves": {
    "w1": {
      "leaves": ["a", "b"],
      "state": "STATE",
      "openedAt": "2026-01-01T10:00:00.000Z",
      "started": {"a": {"handle": "h1", "at": "2026-01-01T10:01:00.000Z"}, "b": {"handle": "h2", "at": "2026-01-01T10:02:00.000Z"}},
      "returned": {"b": {"at": "2026-01-01T10:04:00.000Z"}, "a": {"at": "2026-01-01T10:05:00.000Z"}},
      "sealedAt": "2026-01-01T10:03:00.000Z",
      "completedAt": "2026-01-01T10:05:00.000Z",
      "reason": "R",
      "abandonedAt": "2026-01-01T10:06:00.000Z"
    }
  }
}
`

func damage(state string, pairs ...string) string {
	s := strings.Replace(history, "STATE", state, 1)
	var take []string
	if state != "abandoned" {
		take = append(take, ",\n      \"reason\": \"R\",\n      \"abandonedAt\": \"2026-01-01T10:06:00.000Z\"", "")
	}
	if state != "complete" {
		take = append(take, ",\n      \"completedAt\": \"2026-01-01T10:05:00.000Z\"", "", `, "a": {"at": "2026-01-01T10:05:00.000Z"}`, "")
	}
	if state == "open" {
		take = append(take, ",\n      \"sealedAt\": \"2026-01-01T10:03:00.000Z\"", "", `{"b": {"at": "2026-01-01T10:04:00.000Z"}}`, "{}")
	}
	pairs = append(take, pairs...)
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(s, pairs[i]) {
			panic("nothing to damage: " + pairs[i])
		}
		s = strings.Replace(s, pairs[i], pairs[i+1], 1)
	}
	return s
}

func TestPossibleHistories(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		damage("open"):      "OPEN w1 (2/2 started, 0/2 returned)",
		damage("sealed"):    "SEALED w1 (2/2 started, 1/2 returned)",
		damage("complete"):  "COMPLETE w1 (2/2 returned)",
		damage("abandoned"): "ABANDONED w1 (2/2 started, 1/2 returned): R",
		damage("open", `, "b": {"handle": "h2", "at": "2026-01-01T10:02:00.000Z"}`, ""): "OPEN w1 (1/2 started, 0/2 returned)",
		damage("open", "10:01:00", "10:00:00", "10:02:00", "10:00:00"):                  "OPEN w1 (2/2 started, 0/2 returned)",
	} {
		d, err := parseDispatch([]byte(text))
		if err != nil {
			t.Errorf("%s\n%v", text, err)
			continue
		}
		sameText(t, "wave", d.Waves[0].String(), want)
	}
	d, err := parseDispatch([]byte(`{"schema":1,"waves":{}}`))
	if err != nil || len(d.Waves) != 0 {
		t.Error(d, err)
	}
}

func TestImpossibleHistories(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, err string }{
		{"schema 2", damage("open", `"schema": 1`, `"schema": 2`), "schema must be 1"},
		{"no waves", `{"schema":1}`, "waves is missing"},
		{"waves is an array", `{"schema":1,"waves":[]}`, "must be an object"},
		{"not JSON", `{`, "is not JSON"},
		{"unknown member", damage("open", `"schema": 1`, `"schema": 1, "x": 1`), "not known"},
		{"wave twice", `{"schema":1,"waves":{"w":{},"w":{}}}`, "twice"},
		{"wave's name", damage("open", `"w1"`, `"../w"`), "not a valid name"},
		{"unknown state", damage("open", `"open"`, `"closed"`), "not known"},
		{"no state", damage("open", `"state": "open",`, ""), "state is missing"},
		{"state of another kind", damage("open", `"state": "open"`, `"state": 1`), "must be a string"},
		{"no leaves", damage("open", `["a", "b"]`, `[]`), "no leaves"},
		{"leaf twice", damage("open", `["a", "b"]`, `["a", "b", "a"]`), "duplicate leaf a"},
		{"leaf's name", damage("open", `["a", "b"]`, `["a", "b", "/"]`), "not a valid name"},
		{"leaves of another kind", damage("open", `["a", "b"]`, `"a"`), "array of strings"},
		{"never opened", damage("open", `"openedAt": "2026-01-01T10:00:00.000Z",`, ""), "openedAt is missing"},
		{"opened at no time", damage("open", `10:00:00.000Z`, `25:00:00.000Z`), "openedAt is no UTC time"},
		{"local time", damage("open", `10:00:00.000Z`, `10:00:00.000+01:00`), "openedAt is no UTC time"},
		{"started before it was opened", damage("open", "10:01:00", "09:01:00"), "start of a lies before"},
		{"unknown leaf started", damage("open", `{"a": {"handle`, `{"c": {"handle`), `unknown leaf "c"`},
		{"handle twice", damage("open", `"h2"`, `"h1"`), "already assigned to a"},
		{"blank handle", damage("open", `"h2"`, `" "`), "not printable"},
		{"handle of another kind", damage("open", `"h2"`, `2`), "must be a string"},
		{"start without time", damage("open", `"h1", "at": "2026-01-01T10:01:00.000Z"`, `"h1"`), "at is missing"},
		{"open and sealed", damage("open", `"started"`, `"sealedAt": "2026-01-01T10:03:00.000Z", "started"`), "has a time of sealing"},
		{"open with a reason", damage("open", `"started"`, `"reason": "x", "started"`), "reason"},
		{"open and completed", damage("open", `"started"`, `"completedAt": "2026-01-01T10:09:00.000Z", "started"`), "completion"},
		{"open and returned", damage("open", `"returned": {}`, `"returned": {"a": {"at": "2026-01-01T10:09:00.000Z"}}`), "returns before it was sealed"},
		{"sealed never", damage("sealed", `"sealedAt": "2026-01-01T10:03:00.000Z"`, `"sealedAt": ""`), "sealedAt is empty"},
		{"sealed without time", damage("sealed", ",\n      \"sealedAt\": \"2026-01-01T10:03:00.000Z\"", ``), "no time of sealing"},
		{"sealed before a start", damage("sealed", "10:03:00", "10:01:30"), "sealedAt lies before"},
		{"sealed with a leaf that never started", damage("sealed", `, "b": {"handle": "h2", "at": "2026-01-01T10:02:00.000Z"}`, ""), "before every leaf had started"},
		{"returned before the seal", damage("sealed", "10:04:00", "10:02:30"), "return of b lies before"},
		{"returned and never declared", damage("sealed", `{"b": {"at"`, `{"z": {"at"`), "never started"},
		{"sealed and all returned", damage("sealed", `"returned": {`, `"returned": {"a": {"at": "2026-01-01T10:05:00.000Z"}, `), "no leaf left to return"},
		{"sealed and completed", damage("sealed", `"started"`, `"completedAt": "2026-01-01T10:09:00.000Z", "started"`), "completion"},
		{"complete with one away", damage("complete", `, "a": {"at": "2026-01-01T10:05:00.000Z"}`, ""), "did not return"},
		{"complete without time", damage("complete", ",\n      \"completedAt\": \"2026-01-01T10:05:00.000Z\"", ""), "completion"},
		{"complete before a return", damage("complete", `"completedAt": "2026-01-01T10:05:00.000Z"`, `"completedAt": "2026-01-01T10:04:30.000Z"`), "completedAt lies before"},
		{"complete with a reason", damage("complete", `"started"`, `"reason": "x", "started"`), "reason"},
		{"abandoned without reason", damage("abandoned", `"reason": "R",`, ""), "abandonment"},
		{"abandoned without time", damage("abandoned", ",\n      \"abandonedAt\": \"2026-01-01T10:06:00.000Z\"", ""), "abandonment"},
		{"abandoned before a return", damage("abandoned", "10:06:00", "10:03:30"), "abandonedAt lies before"},
		{"abandoned with everything back", damage("abandoned", `"returned": {`, `"returned": {"a": {"at": "2026-01-01T10:05:00.000Z"}, `), "no leaf left to return"},
		{"abandoned with an unprintable reason", damage("abandoned", `"R"`, `"\u001b"`), "not printable"},
		{"abandoned, returned and never sealed", damage("abandoned", ",\n      \"sealedAt\": \"2026-01-01T10:03:00.000Z\"", ""), "before it was sealed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := parseDispatch([]byte(tt.text))
			wantError(t, err, tt.err)
			root := tree(t)
			write(t, root, ".unlazy/s/dispatch.json", tt.text)
			if _, err := Waves(root, "s"); !errors.Is(err, ErrDispatch) {
				t.Errorf("got %v", err)
			}
			if _, err := (Tree{root, clock}).OpenWave(t.Context(), "s", "new", []string{"a"}); !errors.Is(err, ErrDispatch) {
				t.Errorf("was added to: %v", err)
			}
			sameText(t, "file", read(t, root, ".unlazy/s/dispatch.json"), tt.text)
		})
	}
}

func TestWavesSummary(t *testing.T) {
	t.Parallel()
	root := tree(t, ".unlazy/s/")
	if d, err := Waves(root, "s"); err != nil || len(d.Summary().Unresolved) != 0 {
		t.Error(d, err)
	}
	if _, err := Waves(root, "../s"); err == nil {
		t.Error("a path as scope")
	}
	write(t, root, ".unlazy/s/dispatch.json", damage("open"))
	d, err := Waves(root, "s")
	must(t, err)
	if d := cmp.Diff(Summary{Unresolved: []string{"dispatch:w1 open (2/2 started)"}}, d.Summary()); d != "" {
		t.Error(d)
	}
	write(t, root, ".unlazy/s/dispatch.json", damage("sealed"))
	if d, err = Waves(root, "s"); err != nil || d.Summary().Unresolved[0] != "dispatch:w1 sealed (1/2 returned)" {
		t.Error(d, err)
	}
	must(t, os.Remove(filepath.Join(root, ".unlazy", "s", "dispatch.json")))
	write(t, root, "elsewhere", damage("complete"))
	link(t, "../../elsewhere", filepath.Join(root, ".unlazy", "s", "dispatch.json"))
	if _, err := Waves(root, "s"); err == nil {
		t.Error("a link was read")
	}
	if _, err := (Tree{root, clock}).OpenWave(t.Context(), "s", "w", []string{"a"}); err == nil {
		t.Error("a link was written")
	}
}

// The clock may go back between two steps; what is written is possible all the same.
func TestClockGoesBack(t *testing.T) {
	t.Parallel()
	root := tree(t, ".unlazy/s/")
	now := noon
	tr := Tree{root, func() time.Time { now = now.Add(-time.Minute); return now }}
	_, err := tr.OpenWave(t.Context(), "s", "w", []string{"a"})
	must(t, err)
	_, err = tr.Launch(t.Context(), "s", "w", "a", "h")
	must(t, err)
	_, err = tr.Seal(t.Context(), "s", "w")
	must(t, err)
	w, err := tr.ReturnLeaf(t.Context(), "s", "w", "a")
	must(t, err)
	if w.CompletedAt != w.OpenedAt || w.State != WaveComplete {
		t.Errorf("%+v", w)
	}
}

func TestAuditFailureKeepsTheTransition(t *testing.T) {
	t.Parallel()
	root := tree(t, ".unlazy/s/status.log/")
	w, err := (Tree{root, clock}).OpenWave(t.Context(), "s", "w", []string{"a"})
	if e := new(AuditError); !errors.As(err, &e) || errors.Unwrap(e) == nil || w.Name != "w" {
		t.Errorf("%v %v", w, err)
	}
	wantError(t, err, "is recorded")
	if d, err := Waves(root, "s"); err != nil || len(d.Waves) != 1 {
		t.Error(d, err)
	}
}

// Any sequence of steps leaves a history that is read back as it was written.
func TestAnySequenceOfSteps(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		root, err := os.MkdirTemp(t.TempDir(), "")
		must(t, err)
		must(t, os.MkdirAll(filepath.Join(root, ".unlazy", "s"), 0o755))
		tr := Tree{root, ticking()}
		ctx := context.Background()
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			w := rapid.SampledFrom([]string{"w", "2", "10"}).Draw(rt, "wave")
			l := rapid.SampledFrom([]string{"a", "b", "1"}).Draw(rt, "leaf")
			var got Wave
			var err error
			switch rapid.IntRange(0, 5).Draw(rt, "step") {
			case 0:
				got, err = tr.OpenWave(ctx, "s", w, []string{"a", "1"})
			case 1, 2:
				got, err = tr.Launch(ctx, "s", w, l, "h"+l)
			case 3:
				got, err = tr.Seal(ctx, "s", w)
			case 4:
				got, err = tr.ReturnLeaf(ctx, "s", w, l)
			case 5:
				got, err = tr.Abandon(ctx, "s", w, "r")
			}
			d, readErr := Waves(root, "s")
			if readErr != nil {
				rt.Fatal(readErr)
			}
			if err != nil {
				continue
			}
			i, findErr := d.find(w)
			if findErr != nil {
				rt.Fatal(findErr)
			}
			if len(got.Started) != len(d.Waves[i].Started) || got.State != d.Waves[i].State || len(got.Returned) != len(d.Waves[i].Returned) {
				rt.Fatalf("wrote %+v, read %+v", got, d.Waves[i])
			}
		}
	})
}

// Two processes open waves while one is killed: nothing written is lost or torn.
func TestKilledWhileWritingWaves(t *testing.T) {
	t.Parallel()
	for round := range 4 {
		root := tree(t, ".unlazy/s/")
		cmd := self(t, "waves", root, "s", "w")
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		if line, _ := bufio.NewReader(out).ReadString('\n'); line != "going\n" {
			t.Fatalf("got %q", line)
		}
		time.Sleep(time.Duration(round*7) * time.Millisecond)
		must(t, cmd.Process.Kill())
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
		d, err := Waves(root, "s")
		if err != nil || len(d.Waves) == 0 {
			t.Errorf("%v %v", d, err)
		}
		for i, w := range d.Waves {
			if _, err := d.find(fmt.Sprintf("w%d", i)); err != nil {
				t.Errorf("%v after %s", err, w.Name)
			}
		}
	}
}

func TestBindAndLog(t *testing.T) {
	t.Parallel()
	root := tree(t, ".unlazy/a/GATES.md", ".unlazy/b/GATES.md", ".unlazy/c/GATES.md")
	tr := Tree{root, clock}
	must(t, tr.Bind("b", "  session-1 "))
	sameText(t, "session", read(t, root, ".unlazy/b/session"), "session-1\n")
	got, err := Discover(root, Options{Session: "session-1"})
	if err != nil || got.Scope != "b" || got.How != SessionBound {
		t.Errorf("%+v %v", got, err)
	}
	if _, err = Discover(root, Options{Session: "session-2"}); !errors.As(err, new(*AmbiguousError)) {
		t.Error(err)
	}
	write(t, root, ".unlazy/c/session", "session-1") // as a hand may write it
	if _, err = Discover(root, Options{Session: "session-1"}); !errors.As(err, new(*AmbiguousError)) {
		t.Errorf("bound to two: %v", err)
	}
	for _, s := range []string{"", " \n", "a\nb", strings.Repeat("x", 4096)} {
		if tr.Bind("a", s) == nil {
			t.Errorf("bound %q", s)
		}
	}
	wantError(t, tr.Bind("x", "s"), "no scope")
	name, err := tr.Log("a", "one\r\n\ntwo")
	must(t, err)
	_, err = tr.Log("a", "three")
	must(t, err)
	sameText(t, "path", name, ".unlazy/a/status.log")
	sameText(t, "log", read(t, root, name), "one two\nthree\n")
	if _, err = tr.Log("a", " \n "); err == nil {
		t.Error("a blank line")
	}
	if _, err = tr.Log("locks", "x"); err == nil {
		t.Error("locks as a scope")
	}
	write(t, root, "elsewhere", "")
	for _, f := range []string{"session", "status.log"} {
		link(t, "../../elsewhere", filepath.Join(root, ".unlazy", "a", f+"x"))
		must(t, os.RemoveAll(filepath.Join(root, ".unlazy", "a", f)))
		must(t, os.Rename(filepath.Join(root, ".unlazy", "a", f+"x"), filepath.Join(root, ".unlazy", "a", f)))
	}
	if tr.Bind("a", "s") == nil {
		t.Error("session is a link")
	}
	if _, err = tr.Log("a", "x"); err == nil {
		t.Error("status.log is a link")
	}
	sameText(t, "target of the links", read(t, root, "elsewhere"), "")
}

func FuzzDispatch(f *testing.F) {
	for _, s := range []string{"open", "sealed", "complete", "abandoned"} {
		f.Add([]byte(damage(s)))
	}
	f.Add([]byte(`{"schema":1,"waves":{"2":{},"1":{}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := parseDispatch(data)
		if err != nil {
			return
		}
		if !json.Valid(data) {
			t.Fatalf("%q", data)
		}
		text, err := d.text()
		must(t, err)
		again, err := parseDispatch(text)
		if err != nil {
			t.Fatalf("%q was written as %q: %v", data, text, err)
		}
		twice, err := again.text()
		if err != nil || string(twice) != string(text) {
			t.Fatalf("%q then %q", text, twice)
		}
	})
}
