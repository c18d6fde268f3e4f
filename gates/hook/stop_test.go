package hook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/gatesworn/gatesworn/gates/evidence"
	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/gatesworn/gatesworn/gates/scope"
	"pgregory.net/rapid"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 5e6, time.UTC)

func clock() time.Time { return noon }

func tree(t testing.TB, files ...string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for i := 0; i+1 < len(files); i += 2 {
		write(t, root, files[i], files[i+1])
	}
	return root
}

func write(t testing.TB, root, name, text string) {
	t.Helper()
	full := filepath.Join(root, filepath.FromSlash(name))
	if strings.HasSuffix(name, "/") {
		must(t, os.MkdirAll(full, 0o755))
		return
	}
	must(t, os.MkdirAll(filepath.Dir(full), 0o755))
	must(t, os.WriteFile(full, []byte(text), 0o644))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func link(t testing.TB, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		if runtime.GOOS == "windows" {
			t.Skip("needs the right to make links")
		}
		t.Fatal(err)
	}
}

func read(t testing.TB, root, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	must(t, err)
	return string(data)
}

func input(root string) io.Reader {
	data, _ := json.Marshal(map[string]any{"cwd": root, "session_id": "s1", "stop_hook_active": true, "hook_event_name": "Stop"})
	return strings.NewReader(string(data))
}

func stop(t testing.TB, s Stop, in io.Reader) Answer {
	t.Helper()
	if s.Now == nil {
		s.Now = clock
	}
	a := s.Answer(t.Context(), in)
	clean(t, a)
	return a
}

// foreign is the reference's class of characters that a line must not hold.
func foreign(r rune) bool {
	return unicode.IsControl(r) || r == 0x61c || r == 0x200e || r == 0x200f || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// clean checks what holds for every answer: size, visible text, one line of JSON.
func clean(t testing.TB, a Answer) {
	t.Helper()
	for _, text := range []string{a.Reason, a.Message} {
		if len(text) > MaxReason {
			t.Errorf("%d bytes: %q", len(text), text)
		}
		for _, r := range text {
			if foreign(r) {
				t.Errorf("%q holds %U", text, r)
			}
		}
	}
	line := a.JSON()
	var v map[string]string
	switch {
	case line == nil:
		if a.Block || a.Message != "" {
			t.Error("an answer without text")
		}
	case json.Unmarshal(line, &v) != nil || strings.Contains(string(line), "\n"):
		t.Errorf("line %q", line)
	case a.Block && (v["decision"] != "block" || v["reason"] != a.Reason || len(v) != 2):
		t.Errorf("line %q", line)
	case !a.Block && (v["systemMessage"] != a.Message || len(v) != 1):
		t.Errorf("line %q", line)
	}
}

const twoOpen = "- [ ] G3: a\n  CHECK: touch ran\n  EXPECT: /^/\n- [ ] G4: b\n"

// met is a ledger with one gate that is met.
func met(t testing.TB, id string) string {
	t.Helper()
	text := "- [x] " + id + ": a\n  CHECK: true\n  EXPECT: /^/\n"
	g := ledger.Parse("GATES.md", []byte(text)).Gates[0]
	line, err := evidence.Format(g, evidence.Run{Output: "x", Shell: "/bin/sh", Dir: "/", Path: "/bin"})
	must(t, err)
	return text + "  EVIDENCE: " + line + "\n"
}

func TestBlocksSixTimesThenLetsGo(t *testing.T) {
	t.Parallel()
	root := tree(t, "GATES.md", twoOpen)
	for i := range MaxBlocks {
		a := stop(t, Stop{}, input(root))
		want := "2 gates unmet: GATES:G3 not met, GATES:G4 by hand. Fix G3, then: gatesworn check. G4 needs a person: say so and stop. Do not edit CHECK or EXPECT to pass."
		if !a.Block || a.Reason != want {
			t.Fatalf("stop %d: %+v", i+1, a)
		}
	}
	for range 3 { // and goes on letting go
		a := stop(t, Stop{}, input(root))
		if a.Block || a.Message != "gatesworn: letting go after 6 blocks without progress. 2 gates unmet: GATES:G3 not met, GATES:G4 by hand." {
			t.Fatalf("%+v", a)
		}
	}
	// Touching the ledger is no progress, another session starts anew.
	write(t, root, "GATES.md", "# touched\n"+strings.Replace(twoOpen, ": a", ": other words", 1))
	if a := stop(t, Stop{}, input(root)); a.Block {
		t.Error("metadata counted as progress")
	}
	if a := stop(t, Stop{}, strings.NewReader(`{"cwd":"`+filepath.ToSlash(root)+`","sessionId":"s2"}`)); !a.Block {
		t.Error("another session was let go")
	}
	// A gate met is progress: six more.
	write(t, root, "GATES.md", met(t, "G1")+twoOpen)
	for i := range MaxBlocks {
		if a := stop(t, Stop{}, input(root)); !a.Block {
			t.Fatalf("after progress, stop %d: %+v", i+1, a)
		}
	}
	if a := stop(t, Stop{}, input(root)); a.Block {
		t.Error("not let go")
	}
	if _, err := os.Stat(filepath.Join(root, "ran")); err == nil {
		t.Error("a check ran")
	}
	// Done: silence, and only the other session's count is left.
	write(t, root, "GATES.md", met(t, "G1"))
	if a := stop(t, Stop{}, input(root)); a != (Answer{}) {
		t.Errorf("%+v", a)
	}
	if n := strings.Count(read(t, root, ".unlazy-hook-state.json"), `"hash"`); n != 1 {
		t.Errorf("%d sessions left", n)
	}
	stop(t, Stop{}, strings.NewReader(`{"cwd":"`+filepath.ToSlash(root)+`","sessionId":"s2"}`))
	if _, err := os.Stat(filepath.Join(root, ".unlazy-hook-state.json")); err == nil {
		t.Error("an empty state is left")
	}
}

func TestWavesHoldAndReArm(t *testing.T) {
	t.Parallel()
	root := tree(t, ".unlazy/s/gates/leaf-a.md", met(t, "G1"))
	tr := scope.Tree{Root: root, Now: clock}
	_, err := tr.OpenWave(t.Context(), "s", "w1", []string{"leaf-a"})
	must(t, err)
	for range MaxBlocks {
		if a := stop(t, Stop{}, input(root)); !a.Block || !strings.HasPrefix(a.Reason, "1 item open: dispatch:w1 open (0/1 started). Next: gatesworn check --status.") {
			t.Fatalf("%+v", a)
		}
	}
	_, err = tr.Launch(t.Context(), "s", "w1", "leaf-a", "h")
	must(t, err)
	if a := stop(t, Stop{}, input(root)); a.Block {
		t.Error("a launch counted as progress")
	}
	_, err = tr.Abandon(t.Context(), "s", "w1", "secret reason")
	must(t, err)
	if a := stop(t, Stop{}, input(root)); a.Block || a.Message != "gatesworn: HANDOFF REQUIRED: 1 abandoned: dispatch:w1" {
		t.Errorf("%+v", a)
	}
	_, err = tr.OpenWave(t.Context(), "s", "w2", []string{"leaf-a"})
	must(t, err)
	if a := stop(t, Stop{}, input(root)); !a.Block || !strings.Contains(a.Reason, "HANDOFF REQUIRED: 1 abandoned") || strings.Contains(a.Reason, "secret") {
		t.Errorf("a resolved wave did not re-arm, or its reason was copied: %+v", a)
	}
}

func TestStateIsUnlazys(t *testing.T) {
	t.Parallel()
	root := tree(t, ".unlazy/s/GATES.md", twoOpen)
	sum := sha256.Sum256([]byte("s1\x00s"))
	key := hex.EncodeToString(sum[:])[:24]
	old := `{"schema":1,"sessions":{"` + strings.Repeat("0", 24) + `":{"hash":"x","blocks":3,"updatedAt":1700000000000},"` + key + `":{"hash":"` + strings.Repeat("a", 24) + `","blocks":5,"updatedAt":"2026-01-01T00:00:00.000Z"}}}`
	write(t, root, ".unlazy/s/hook-state.json", old)
	stop(t, Stop{}, input(root))
	var got struct {
		Schema   int
		Sessions map[string]map[string]any
	}
	text := read(t, root, ".unlazy/s/hook-state.json")
	must(t, json.Unmarshal([]byte(text), &got))
	ours := got.Sessions[key]
	if got.Schema != 1 || len(got.Sessions) != 2 || len(ours) != 3 || ours["blocks"] != 1.0 || len(ours["hash"].(string)) != 24 || ours["updatedAt"] != "2026-11-30T12:00:00.005Z" || !strings.HasPrefix(text, "{\n  \"schema\": 1,\n  \"sessions\": {") {
		t.Errorf("%s", text)
	}
	if got.Sessions[strings.Repeat("0", 24)]["updatedAt"] != 1700000000000.0 {
		t.Errorf("another session changed: %s", text)
	}
	entries, err := os.ReadDir(filepath.Join(root, ".unlazy", "locks"))
	if err != nil || len(entries) != 0 {
		t.Errorf("locks left: %v %v", entries, err)
	}
}

func TestNewestSessionsAreKept(t *testing.T) {
	t.Parallel()
	root := tree(t, "GATES.md", twoOpen)
	now := noon
	for i := range 80 {
		now = now.Add(time.Second)
		in := fmt.Sprintf(`{"cwd":%q,"session_id":"n%d"}`, root, i)
		stop(t, Stop{Now: func() time.Time { return now }}, strings.NewReader(in))
	}
	text := read(t, root, ".unlazy-hook-state.json")
	if n := strings.Count(text, `"hash"`); n != maxSessions {
		t.Errorf("%d sessions", n)
	}
	for i, want := range map[int]bool{15: false, 16: true, 79: true} {
		if strings.Contains(text, state{session: fmt.Sprintf("n%d", i)}.key()) != want {
			t.Errorf("session %d: want %v", i, want)
		}
	}
}

// None of these may hold a session.
func TestNeverATrap(t *testing.T) {
	t.Parallel()
	root := tree(t, "GATES.md", twoOpen)
	for name, in := range map[string]io.Reader{
		"nothing":      strings.NewReader(""),
		"not JSON":     strings.NewReader("{"),
		"an array":     strings.NewReader("[]"),
		"twice":        strings.NewReader(`{"cwd":"a","cwd":"b"}`),
		"not UTF-8":    strings.NewReader("{\"cwd\":\"\xff\"}"),
		"huge":         io.LimitReader(zeroes{}, maxInput+2),
		"broken":       broken{},
		"never closed": never{},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			a := (Stop{Dir: root, Now: clock}).Answer(ctx, in)
			clean(t, a)
			if a != (Answer{}) {
				t.Errorf("%+v", a)
			}
		})
	}
	t.Run("members of other kinds", func(t *testing.T) {
		t.Parallel()
		root := tree(t, "GATES.md", twoOpen)
		if a := stop(t, Stop{Dir: root}, strings.NewReader(`{"cwd":1,"session_id":{},"sessionId":null}`)); !a.Block {
			t.Errorf("%+v", a)
		}
	})
	for name, in := range map[string]string{"no folder": "/nowhere/at/all", "relative": "..", "NUL": "/a\x00b"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if a := stop(t, Stop{}, input(in)); a != (Answer{}) {
				t.Errorf("%+v", a)
			}
		})
	}
}

type (
	zeroes struct{}
	broken struct{}
	never  struct{}
)

func (zeroes) Read(p []byte) (int, error) { clear(p); return len(p), nil }
func (broken) Read([]byte) (int, error)   { return 0, errors.New("broken pipe") }
func (never) Read([]byte) (int, error)    { select {} }

func TestStateTrouble(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		make  func(t *testing.T, root, file string)
		block bool
	}{
		{"malformed is counted anew", func(t *testing.T, root, file string) { must(t, os.WriteFile(file, []byte("{"), 0o644)) }, true},
		{"of other shapes", func(t *testing.T, root, file string) {
			must(t, os.WriteFile(file, []byte(`{"schema":1,"sessions":{"x":1,"`+state{session: "s1"}.key()+`":{"hash":1}}}`), 0o644))
		}, true},
		{"huge numbers", func(t *testing.T, root, file string) {
			must(t, os.WriteFile(file, []byte(`{"schema":1,"sessions":{"`+state{session: "s1"}.key()+`":{"hash":"x","blocks":1e99,"updatedAt":{}}}}`), 0o644))
		}, true},
		{"a folder", func(t *testing.T, root, file string) { must(t, os.Mkdir(file, 0o755)) }, false},
		{"a link", func(t *testing.T, root, file string) { link(t, "elsewhere", file) }, false},
		{"huge", func(t *testing.T, root, file string) { must(t, os.WriteFile(file, make([]byte, maxState+1), 0o644)) }, false},
		{"locked by a dead process", func(t *testing.T, root, file string) {
			write(t, root, ".unlazy/locks/", "")
			_, err := scope.FileLock(t.Context(), root, file, clock) // never released
			must(t, err)
		}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root := tree(t, "GATES.md", twoOpen)
			tt.make(t, root, filepath.Join(root, ".unlazy-hook-state.json"))
			a := stop(t, Stop{}, input(root))
			if a.Block != tt.block || !tt.block && !strings.Contains(a.Message, "not blocking, to avoid a trap") {
				t.Errorf("%+v", a)
			}
		})
	}
}

func TestDiscoveryTrouble(t *testing.T) {
	t.Parallel()
	two := []string{".unlazy/a/GATES.md", twoOpen, ".unlazy/b/GATES.md", twoOpen}
	tests := []struct {
		name  string
		files []string
		s     Stop
		want  string // of the message, or of the reason after "block: "
	}{
		{"no ledger", nil, Stop{}, ""},
		{"empty scope", []string{".unlazy/a/", ""}, Stop{}, ""},
		{"invalid scope", two, Stop{Scope: "../a"}, "gatesworn: the installed hook names an invalid scope; not blocking"},
		{"unknown scope", two, Stop{Scope: "c"}, `gatesworn: no scope "c" under .unlazy (have: a, b); not blocking`},
		{"several", two, Stop{}, "gatesworn: 2 scopes are present (a, b); name one with --scope; none is bound"},
		{"named", two, Stop{Scope: "b"}, "block: 2 gates unmet: GATES:G3 not met, GATES:G4 by hand. Fix G3, then: gatesworn check --scope b."},
		{"environment", two, Stop{Env: "b"}, "block: 2 gates unmet"},
		{"bound", append([]string{".unlazy/a/session", "s1\n"}, two...), Stop{}, "block: 2 gates unmet: GATES:G3 not met, GATES:G4 by hand. Fix G3, then: gatesworn check --scope a."},
		{"abandoned", []string{"GATES.md", "- [ ] G1: x\nABANDON: G1 secret\n"}, Stop{}, "gatesworn: HANDOFF REQUIRED: 1 abandoned: GATES:G1"},
		{"unreadable ledger", []string{"gates/x.md/", ""}, Stop{}, "block: 1 item open: gates/x.md cannot be read."},
		{"malformed ledger", []string{"GATES.md", "# x\n\n- [ ] no id here\n"}, Stop{}, "block: 1 item open: GATES.md:3 cannot be read."},
		{"malformed waves", []string{".unlazy/a/GATES.md", "- [ ] G1: x\nABANDON: G1 y\n", ".unlazy/a/dispatch.json", "{"}, Stop{}, "block: 1 item open: dispatch.json is no possible history; HANDOFF REQUIRED: 1 abandoned."},
		{"linked waves", []string{".unlazy/a/GATES.md", "- [ ] G1: x\nABANDON: G1 y\n", ".unlazy/a/dispatch.json/", ""}, Stop{}, "block: 1 item open: dispatch.json cannot be read"},
		{"gates is a file", []string{"gates", "x"}, Stop{}, "block: 1 item open: ledgers gates: must be a real folder"},
		{
			"approval",
			[]string{"GATES.md", twoOpen},
			Stop{NeedsPerson: func(_, l string, g ledger.Gate) bool { return l == "GATES.md" && g.ID == "G3" }},
			"block: 2 gates unmet: GATES:G3 not approved, GATES:G4 by hand. G3, G4 need a person: say so and stop. Do not edit CHECK or EXPECT to pass.",
		},
		{"standing ledgers are not ticked", []string{"GATES.md", twoOpen, "t.md", twoOpen}, Stop{Policy: func(string) *scope.Policy {
			return &scope.Policy{Ledgers: []string{"GATES.md", "gone.md"}, Tasks: []string{"t.md"}}
		}}, "block: 3 items open: gone.md is missing, t:G3 not met, t:G4 by hand."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := stop(t, tt.s, input(tree(t, tt.files...)))
			reason, block := strings.CutPrefix(tt.want, "block: ")
			got := a.Message
			if block {
				got = a.Reason
			}
			if a.Block != block || !strings.HasPrefix(got, reason) || reason == "" && got != "" {
				t.Errorf("%+v", a)
			}
		})
	}
}

func TestHugeLedger(t *testing.T) {
	t.Parallel()
	root := tree(t, "GATES.md", twoOpen+strings.Repeat("x", maxLedger))
	for range MaxBlocks {
		if a := stop(t, Stop{}, input(root)); !a.Block || !strings.Contains(a.Reason, "GATES.md cannot be read") {
			t.Fatalf("%+v", a)
		}
	}
	if a := stop(t, Stop{}, input(root)); a.Block {
		t.Error("trapped")
	}
}

func TestStopsInASubfolder(t *testing.T) {
	t.Parallel()
	root := tree(t, ".git/HEAD", "", "GATES.md", twoOpen, "a/b/", "")
	if a := stop(t, Stop{}, input(filepath.Join(root, "a", "b"))); !a.Block {
		t.Errorf("%+v", a)
	}
	outer := tree(t, "GATES.md", twoOpen, "repo/.git/HEAD", "", "repo/a/", "", "plain/", "")
	for _, dir := range []string{"repo/a", "plain"} { // not beyond the top, not upwards without git
		if a := stop(t, Stop{}, input(filepath.Join(outer, dir))); a != (Answer{}) {
			t.Errorf("%s: %+v", dir, a)
		}
	}
	if a := stop(t, Stop{Dir: root}, strings.NewReader(`{}`)); !a.Block {
		t.Errorf("the hook's own folder: %+v", a)
	}
}

// A crash would end with status 2, which holds an agent for ever.
func TestAFaultLetsGo(t *testing.T) {
	t.Parallel()
	root := tree(t, "GATES.md", twoOpen)
	a := stop(t, Stop{NeedsPerson: func(string, string, ledger.Gate) bool { panic("fault") }}, input(root))
	if a.Block || !strings.Contains(a.Message, "not blocking") {
		t.Errorf("%+v", a)
	}
}

// A state folder's lock serialises what unlazy's would; both leave nothing beside.
func TestStateFolderLock(t *testing.T) {
	t.Parallel()
	root, private := tree(t, "GATES.md", twoOpen), tree(t)
	if a := stop(t, Stop{StateDir: private}, input(root)); !a.Block {
		t.Errorf("%+v", a)
	}
	if a := stop(t, Stop{StateDir: filepath.Join(private, "gone")}, input(root)); a.Block {
		t.Errorf("%+v", a)
	}
	if entries, _ := os.ReadDir(root); len(entries) != 2 {
		t.Errorf("left: %v", entries)
	}
}

// Whatever the ledgers hold, a reason is short, visible and tells who acts.
func TestReasonProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var w work
		for range rapid.IntRange(1, 40).Draw(rt, "n") {
			id := rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._-]{0,90}`).Draw(rt, "id")
			w.items = append(w.items, item{
				name: rapid.String().Draw(rt, "stem") + ":" + id, id: id, trouble: rapid.SampledFrom([]string{"not met", "by hand", "\x1b[2J\u202e"}).Draw(rt, "trouble"),
				person: rapid.Bool().Draw(rt, "person"), gate: rapid.Bool().Draw(rt, "gate"),
			})
		}
		w.abandoned = make([]string, rapid.IntRange(0, 3).Draw(rt, "abandoned"))
		sc := rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._-]{0,63}`).Draw(rt, "scope")
		a := Answer{Block: true, Reason: w.reason(scope.Targets{Scope: sc, How: scope.Named})}
		b := Answer{Message: w.released()}
		for _, text := range []string{a.Reason, b.Message} {
			if len(text) > MaxReason {
				rt.Fatalf("%d bytes: %s", len(text), text)
			}
			for _, r := range text {
				if foreign(r) {
					rt.Fatalf("%q holds %U", text, r)
				}
			}
		}
		people := false
		for _, i := range w.items {
			people = people || i.person
		}
		if people != strings.Contains(a.Reason, "a person: say so and stop.") {
			rt.Fatalf("people %v: %s", people, a.Reason)
		}
		if !strings.HasSuffix(a.Reason, "Do not edit CHECK or EXPECT to pass.") {
			rt.Fatalf("%s", a.Reason)
		}
	})
}

func FuzzStop(f *testing.F) {
	f.Add([]byte(`{"cwd":"/x","session_id":"a"}`), []byte(`{"schema":1,"sessions":{}}`), []byte(twoOpen))
	f.Add([]byte("{"), []byte("{"), []byte("- [x] \u202eG:"))
	f.Fuzz(func(t *testing.T, in, st, gates []byte) {
		root := tree(t, "GATES.md", string(gates), ".unlazy-hook-state.json", string(st))
		a := (Stop{Dir: root, Now: clock}).Answer(t.Context(), strings.NewReader(string(in)))
		clean(t, a)
	})
}

func BenchmarkStop20(b *testing.B) {
	root := tree(b)
	for i := range 20 {
		write(b, root, fmt.Sprintf(".unlazy/s/gates/leaf-%02d.md", i), "OWNS: x\n\n"+strings.Repeat(met(b, "M")+"\n", 1)+"- [ ] G1: a\n  CHECK: true\n  EXPECT: /^/\n- [ ] G2: b\n  CHECK: true\n  EXPECT: /a.b/\n- [ ] G3: c\n- [ ] G4: d\n- [ ] G5: e\n- [ ] G6: f\n")
	}
	write(b, root, ".unlazy/s/dispatch.json", `{"schema":1,"waves":{}}`)
	s := Stop{Now: time.Now}
	for b.Loop() {
		if a := s.Answer(b.Context(), input(root)); !a.Block && !strings.Contains(a.Message, "letting go") {
			b.Fatal(a)
		}
	}
}
