package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatesworn/gatesworn/gates/evidence"
	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/gatesworn/gatesworn/gates/schedule"
	"github.com/gatesworn/gatesworn/gates/scope"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return noon }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, root, name, text string) {
	t.Helper()
	full := filepath.Join(root, filepath.FromSlash(name))
	must(t, os.MkdirAll(filepath.Dir(full), 0o755))
	must(t, os.WriteFile(full, []byte(text), 0o644))
}

// one is a task of a fixture.
type one struct {
	id, owns, needs string
	wave            int
	state           string
	reads           string // comma list
	using, making   string
	ledger          string // instead of the usual one
}

const metGate = "- [x] G1: a\n  CHECK: true\n  EXPECT: /^/\n"

var metLine = func() string {
	g := ledger.Parse("x", []byte(metGate)).Gates[0]
	line, err := evidence.Format(g, evidence.Run{Output: "x", Shell: "/bin/sh", Dir: "/", Path: "/bin"})
	if err != nil {
		panic(err)
	}
	return metGate + "  EVIDENCE: " + line + "\n"
}()

func fixture(t testing.TB, tasks ...one) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	lay(t, root, tasks)
	return root
}

func lay(t testing.TB, root string, tasks []one) {
	t.Helper()
	var table strings.Builder
	table.WriteString("# Plan\n\nContract revision: 2.\n\n```\n| Leaf | in a fence |\n```\n\n| Leaf | Owns | Needs | Tier | Planned wave | State |\n|---|:---|---:|:---:|---|---|\n")
	leaves := map[string]any{}
	for _, o := range tasks {
		if o.needs == "" {
			o.needs = "-"
		}
		if o.wave == 0 {
			o.wave = 1
		}
		if o.state == "" {
			o.state = "WAITING"
		}
		fmt.Fprintf(&table, "| %s | %s | %s | mechanical | %d | %s |\n", o.id, o.owns, o.needs, o.wave, o.state)
		leaves[o.id] = map[string]any{"complete": true, "reads": split(o.reads), "resourceReads": split(o.using), "resourceWrites": split(o.making)}
		text := o.ledger
		if text == "" {
			text = "OWNS: " + o.owns + "\n\n- [ ] G1: a\n  CHECK: true\n  EXPECT: /^/\n"
			if o.state == "VERIFIED" {
				text = "OWNS: " + o.owns + "\n\n" + metLine
			}
		}
		write(t, root, ".unlazy/s/gates/leaf-"+o.id+".md", text)
	}
	write(t, root, ".unlazy/s/PLAN.md", table.String()+"\nProse.\n")
	access, err := json.Marshal(map[string]any{"schema": 1, "contractRevision": 2, "leaves": leaves})
	must(t, err)
	write(t, root, ".unlazy/s/ACCESS.json", string(access))
}

func split(list string) []string {
	if list == "" {
		return []string{}
	}
	return strings.Split(list, ",")
}

func next(t testing.TB, root string, slots int) string {
	t.Helper()
	a, err := Next(t.Context(), root, "s", slots)
	must(t, err)
	text := string(a.JSON())
	if len(text) >= MaxBytes || !json.Valid([]byte(text)) {
		t.Errorf("%d bytes: %s", len(text), text)
	}
	return text
}

func TestNext(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		tasks []one
		slots int
		want  string
	}{
		{"independent", []one{{id: "b", owns: "b/**"}, {id: "a", owns: "a/**"}}, 4, `{"launch":["a","b"],"wait":[],"review":[]}`},
		{"slots", []one{{id: "a", owns: "a"}, {id: "b", owns: "b"}, {id: "c", owns: "c"}}, 2, `{"launch":["a","b"],"wait":[{"task":"c","because":"no free slot"}],"review":[]}`},
		{"needs", []one{{id: "a", owns: "a"}, {id: "b", owns: "b", needs: "a", wave: 2}}, 4, `{"launch":["a"],"wait":[{"task":"b","because":"needs a"}],"review":[]}`},
		{"needs verified", []one{{id: "a", owns: "a", state: "VERIFIED"}, {id: "b", owns: "b", needs: "a", wave: 2, state: "READY"}}, 4, `{"launch":["b"],"wait":[],"review":[]}`},
		{"write and write", []one{{id: "a", owns: "src/*"}, {id: "b", owns: "src/x"}}, 4, `{"launch":["a"],"wait":[{"task":"b","because":"a goes first"}],"review":[]}`},
		{"read and write", []one{{id: "a", owns: "a", reads: "B/x"}, {id: "b", owns: "b"}}, 4, `{"launch":["a"],"wait":[{"task":"b","because":"a goes first"}],"review":[]}`},
		{"write and read", []one{{id: "a", owns: "a"}, {id: "b", owns: "b", reads: "**"}}, 4, `{"launch":["a"],"wait":[{"task":"b","because":"a goes first"}],"review":[]}`},
		{"read and read", []one{{id: "a", owns: "a", reads: "x"}, {id: "b", owns: "b", reads: "x"}}, 4, `{"launch":["a","b"],"wait":[],"review":[]}`},
		{"resource write and write", []one{{id: "a", owns: "a", making: "db"}, {id: "b", owns: "b", making: "db"}}, 4, `{"launch":["a"],"wait":[{"task":"b","because":"a goes first"}],"review":[]}`},
		{"resource read and write", []one{{id: "a", owns: "a", using: "db"}, {id: "b", owns: "b", making: "db"}}, 4, `{"launch":["a"],"wait":[{"task":"b","because":"a goes first"}],"review":[]}`},
		{"resource write and read", []one{{id: "a", owns: "a", making: "db"}, {id: "b", owns: "b", using: "db"}}, 4, `{"launch":["a"],"wait":[{"task":"b","because":"a goes first"}],"review":[]}`},
		{"resource read and read", []one{{id: "a", owns: "a", using: "db"}, {id: "b", owns: "b", using: "db"}}, 4, `{"launch":["a","b"],"wait":[],"review":[]}`},
		{"in flight", []one{{id: "a", owns: "a", state: "IN-FLIGHT"}, {id: "b", owns: "a/b"}, {id: "c", owns: "c"}, {id: "d", owns: "d"}}, 2, `{"launch":["c"],"wait":[{"task":"a","because":"in flight"},{"task":"b","because":"a is active"},{"task":"d","because":"no free slot"}],"review":[]}`},
		{"needed by what is active", []one{{id: "a", owns: "a"}, {id: "b", owns: "b", needs: "a", wave: 2}, {id: "c", owns: "c", needs: "b", wave: 3, state: "IN-FLIGHT"}}, 4, `{"launch":[],"wait":[{"task":"a","because":"a task that needs it is active"},{"task":"b","because":"needs a"},{"task":"c","because":"in flight"}],"review":[]}`},
		{"done", []one{{id: "a", owns: "a", state: "VERIFIED"}}, 4, `{"launch":[],"wait":[],"review":[]}`},
		{"abandoned row", []one{{id: "a", owns: "a", state: "ABANDONED"}, {id: "b", owns: "b"}}, 4, `{"launch":[],"wait":[{"task":"b","because":"review first"}],"review":["a: abandoned: a handoff"]}`},
		{"abandoned gate", []one{{id: "a", owns: "a", ledger: "OWNS: a\n- [ ] G1: x\nABANDON: G1 y\n"}}, 4, `{"launch":[],"wait":[{"task":"a","because":"review first"}],"review":["a: gate G1 is abandoned: a handoff"]}`},
		{"verified and not met", []one{{id: "a", owns: "a", state: "VERIFIED", ledger: "OWNS: a\n- [ ] G1: x\n"}}, 4, `{"launch":[],"wait":[],"review":["a: verified, and its ledger is not met"]}`},
		{"verified before its need", []one{{id: "a", owns: "a"}, {id: "b", owns: "b", needs: "a", wave: 2, state: "VERIFIED"}}, 4, `{"launch":[],"wait":[{"task":"a","because":"review first"}],"review":["b: verified before a, which it needs"]}`},
		{"OWNS differ", []one{{id: "a", owns: "a", ledger: "OWNS: b\n- [ ] G1: x\n"}}, 4, `{"launch":[],"wait":[{"task":"a","because":"review first"}],"review":["a: Owns in the plan is not OWNS in its ledger"]}`},
		{"OWNS in another order", []one{{id: "a", owns: "a, ./b/c", ledger: "OWNS: b/c\nOWNS: a\n- [ ] G1: x\n"}}, 4, `{"launch":["a"],"wait":[],"review":[]}`},
		{"malformed ledger", []one{{id: "a", owns: "a", ledger: "nothing\n"}}, 4, `{"launch":[],"wait":[{"task":"a","because":"review first"}],"review":["a: its ledger has errors"]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root := fixture(t, tt.tasks...)
			for range 2 {
				if d := cmp.Diff(tt.want, next(t, root, tt.slots)); d != "" {
					t.Error(d)
				}
			}
		})
	}
}

func TestWavesAndLeases(t *testing.T) {
	t.Parallel()
	tasks := []one{{id: "a", owns: "a"}, {id: "b", owns: "b", needs: "a", wave: 2}, {id: "c", owns: "c"}}
	step := func(root string, steps ...func(scope.Tree) error) {
		for _, s := range steps {
			must(t, s(scope.Tree{Root: root, Now: clock}))
		}
	}
	open := func(leaves ...string) func(scope.Tree) error {
		return func(tr scope.Tree) error { _, err := tr.OpenWave(t.Context(), "s", "w", leaves); return err }
	}
	launch := func(leaf string) func(scope.Tree) error {
		return func(tr scope.Tree) error { _, err := tr.Launch(t.Context(), "s", "w", leaf, "h-"+leaf); return err }
	}
	seal := func(tr scope.Tree) error { _, err := tr.Seal(t.Context(), "s", "w"); return err }
	back := func(leaf string) func(scope.Tree) error {
		return func(tr scope.Tree) error { _, err := tr.ReturnLeaf(t.Context(), "s", "w", leaf); return err }
	}
	giveUp := func(tr scope.Tree) error { _, err := tr.Abandon(t.Context(), "s", "w", "r"); return err }
	claim := func(sc, leaf string, globs ...string) func(scope.Tree) error {
		return func(tr scope.Tree) error { _, err := tr.Claim(t.Context(), sc, leaf, globs); return err }
	}
	tests := []struct {
		name  string
		tasks []one
		steps []func(scope.Tree) error
		want  string
	}{
		{"open wave", tasks, []func(scope.Tree) error{open("leaf-a"), launch("leaf-a")}, `{"launch":[],"wait":[{"task":"a","because":"in flight"},{"task":"b","because":"needs a"},{"task":"c","because":"review first"}],"review":["wave w is open: launch its leaves and seal it, or abandon it"]}`},
		{"sealed wave", tasks, []func(scope.Tree) error{open("a"), launch("a"), seal}, `{"launch":["c"],"wait":[{"task":"a","because":"in flight"},{"task":"b","because":"needs a"}],"review":[]}`},
		{"returned", tasks, []func(scope.Tree) error{open("a"), launch("a"), seal, back("a")}, `{"launch":["c"],"wait":[{"task":"a","because":"returned: verify it"},{"task":"b","because":"needs a"}],"review":[]}`},
		{"abandoned wave", tasks, []func(scope.Tree) error{open("a"), giveUp}, `{"launch":[],"wait":[{"task":"a","because":"review first"},{"task":"b","because":"needs a"},{"task":"c","because":"review first"}],"review":["wave w was abandoned with a unfinished"]}`},
		{"unknown leaf", tasks, []func(scope.Tree) error{open("zz", "a"), launch("zz"), launch("a"), seal}, `{"launch":[],"wait":[{"task":"a","because":"in flight"},{"task":"b","because":"needs a"},{"task":"c","because":"review first"}],"review":["wave w names leaf zz, which is not in the plan"]}`},
		{"verified before return", []one{{id: "a", owns: "a", state: "VERIFIED"}}, []func(scope.Tree) error{open("a"), launch("a"), seal}, `{"launch":[],"wait":[],"review":["a: verified before it returned from wave w"]}`},
		{"verified and returned", []one{{id: "a", owns: "a", state: "VERIFIED"}}, []func(scope.Tree) error{open("a"), launch("a"), seal, back("a")}, `{"launch":[],"wait":[],"review":[]}`},
		{"own lease", tasks, []func(scope.Tree) error{claim("s", "leaf-a", "a")}, `{"launch":["a","c"],"wait":[{"task":"b","because":"needs a"}],"review":[]}`},
		{"need still leased", []one{{id: "a", owns: "a", state: "VERIFIED"}, {id: "b", owns: "b", needs: "a", wave: 2}}, []func(scope.Tree) error{claim("s", "leaf-a", "a")}, `{"launch":[],"wait":[{"task":"b","because":"a still holds its lease"}],"review":[]}`},
		{"another scope's lease blocks what it overlaps", tasks, []func(scope.Tree) error{claim("o", "x", "c/**")}, `{"launch":["a"],"wait":[{"task":"b","because":"needs a"},{"task":"c","because":"lease of o/x"}],"review":[]}`},
		{"lease of more than it owns", tasks, []func(scope.Tree) error{claim("s", "leaf-a", "a", "z")}, `{"launch":[],"wait":[{"task":"a","because":"review first"},{"task":"b","because":"needs a"},{"task":"c","because":"review first"}],"review":["a: its lease is not what it owns"]}`},
		{"lease of nobody", tasks, []func(scope.Tree) error{claim("s", "leaf-q", "q")}, `{"launch":[],"wait":[{"task":"a","because":"review first"},{"task":"b","because":"needs a"},{"task":"c","because":"review first"}],"review":["leaf leaf-q holds a lease and is not in the plan"]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root := fixture(t, tt.tasks...)
			step(root, tt.steps...)
			before := snapshot(t, root)
			if d := cmp.Diff(tt.want, next(t, root, 4)); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(before, snapshot(t, root)); d != "" {
				t.Errorf("it wrote: %s", d)
			}
		})
	}
	t.Run("handed out again since", func(t *testing.T) {
		t.Parallel()
		root := fixture(t, tasks...)
		step(root, open("a"), launch("a"), giveUp)
		tr := scope.Tree{Root: root, Now: func() time.Time { return noon.Add(time.Hour) }}
		_, err := tr.OpenWave(t.Context(), "s", "w2", []string{"a"})
		must(t, err)
		_, err = tr.Launch(t.Context(), "s", "w2", "a", "h")
		must(t, err)
		_, err = tr.Seal(t.Context(), "s", "w2")
		must(t, err)
		want := `{"launch":["c"],"wait":[{"task":"a","because":"in flight"},{"task":"b","because":"needs a"}],"review":[]}`
		if d := cmp.Diff(want, next(t, root, 4)); d != "" {
			t.Error(d)
		}
	})
}

// snapshot is every file with its bytes.
func snapshot(t testing.TB, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		all[p] = string(data)
		return err
	}))
	return all
}

// Whatever is inconsistent asks for a review and launches nothing.
func TestInconsistencies(t *testing.T) {
	t.Parallel()
	replace := func(file, old, text string) func(t *testing.T, root string) {
		return func(t *testing.T, root string) {
			data, err := os.ReadFile(filepath.Join(root, ".unlazy", "s", file))
			must(t, err)
			if !strings.Contains(string(data), old) {
				t.Fatalf("nothing to replace: %q", old)
			}
			write(t, root, ".unlazy/s/"+file, strings.Replace(string(data), old, text, 1))
		}
	}
	add := func(file, text string) func(t *testing.T, root string) {
		return func(t *testing.T, root string) { write(t, root, ".unlazy/s/"+file, text) }
	}
	tests := map[string]struct {
		damage func(t *testing.T, root string)
		says   string
	}{
		"no revision":            {replace("PLAN.md", "Contract revision: 2.", ""), "exactly one line Contract revision"},
		"two revisions":          {replace("PLAN.md", "Prose.", "Contract revision: 3"), "exactly one line Contract revision"},
		"revision 0":             {replace("PLAN.md", "revision: 2", "revision: 0"), "exactly one line Contract revision"},
		"revision 2x":            {replace("PLAN.md", "revision: 2.", "revision: 2x"), "exactly one line Contract revision"},
		"no table":               {replace("PLAN.md", "| Leaf | Owns", "| Task | Owns"), "no table"},
		"other columns":          {replace("PLAN.md", "| Tier | Planned wave", "| Planned wave | Tier"), "columns must be"},
		"two tables":             {replace("PLAN.md", "Prose.", "| Leaf | Owns | Needs | Tier | Planned wave | State |"), "two tables"},
		"separator":              {replace("PLAN.md", "|---|:---|", "|--|:---|"), "separator"},
		"a short row":            {replace("PLAN.md", "| a | a | -", "| a | a"), "has 5 cells"},
		"leaf- in an id":         {replace("PLAN.md", "| a | a |", "| leaf-a | a |"), "no leaf's bare id"},
		"leaf twice":             {replace("PLAN.md", "| b | b | a |", "| a | b | - |"), "twice"},
		"owns nothing":           {replace("PLAN.md", "| a | a |", "| a | - |"), "Owns must name paths"},
		"owns a placeholder":     {replace("PLAN.md", "| a | a |", "| a | <path> |"), "no relative path"},
		"owns upwards":           {replace("PLAN.md", "| a | a |", "| a | x/../y |"), "leaves the root"},
		"owns absolute":          {replace("PLAN.md", "| a | a |", "| a | /a |"), "no relative path"},
		"owns blank":             {replace("PLAN.md", "| a | a |", "| a | a, |"), "is blank"},
		"owns twice":             {replace("PLAN.md", "| a | a |", "| a | a, ./a |"), "twice"},
		"needs twice":            {replace("PLAN.md", "| b | b | a |", "| b | b | a, a |"), "Needs names a leaf twice"},
		"needs itself":           {replace("PLAN.md", "| b | b | a |", "| b | b | b |"), "needs itself"},
		"needs the unknown":      {replace("PLAN.md", "| b | b | a |", "| b | b | z |"), "not in the plan"},
		"a cycle":                {replace("PLAN.md", "| a | a | - |", "| a | a | b |"), "a cycle of Needs holds up a"},
		"wave order":             {replace("PLAN.md", "mechanical | 2", "mechanical | 1"), "earlier Planned wave"},
		"wave 0":                 {replace("PLAN.md", "mechanical | 2", "mechanical | 0"), "positive number"},
		"wave 02":                {replace("PLAN.md", "mechanical | 2", "mechanical | 02"), "positive number"},
		"tier":                   {replace("PLAN.md", "mechanical", "robot"), "Tier must be"},
		"state":                  {replace("PLAN.md", "WAITING", "DONE"), "is not known"},
		"no leaves":              {func(t *testing.T, root string) { lay(t, root, nil) }, "no leaves"},
		"access not JSON":        {add("ACCESS.json", "{"), "ACCESS.json: "},
		"access schema":          {replace("ACCESS.json", `"schema":1`, `"schema":2`), "schema and contractRevision"},
		"access is ahead":        {replace("ACCESS.json", `"contractRevision":2`, `"contractRevision":3`), "schema and contractRevision"},
		"access of other leaves": {replace("ACCESS.json", `"a":{`, `"z":{`), "not in the plan"},
		"access of fewer":        {add("ACCESS.json", `{"schema":1,"contractRevision":1,"leaves":{}}`), "declares 0 leaves"},
		"access not complete":    {replace("ACCESS.json", `"complete":true`, `"complete":1`), "not declared complete"},
		"access without reads":   {replace("ACCESS.json", `"reads":[],`, ``), "not declared complete"},
		"access with more":       {replace("ACCESS.json", `"reads":[],`, `"reads":[],"x":1,`), "not known"},
		"access reads":           {replace("ACCESS.json", `"reads":[]`, `"reads":["/x"]`), "no relative path"},
		"access reads no list":   {replace("ACCESS.json", `"reads":[]`, `"reads":"x"`), "array of strings"},
		"access resource":        {replace("ACCESS.json", `"resourceReads":[]`, `"resourceReads":["DB"]`), "no lower-case name"},
		"access resource twice":  {replace("ACCESS.json", `"resourceReads":[]`, `"resourceReads":["x","x"]`), "twice"},
		"impossible waves":       {add("dispatch.json", `{"schema":1}`), "invalid dispatch state"},
		"registry":               {add("STRUCTURE.json", `{}`), "STRUCTURE.json is there"},
		"pending structure":      {add("STRUCTURE.pending.json", ``), "STRUCTURE.pending.json is there"},
		"structure gate":         {add("GATES.md", "- [ ] S_STRUCTURE: x\n"), "has gate S_STRUCTURE"},
		"root ledger":            {add("GATES.md", "nothing\n"), "GATES.md has errors"},
		"a ledger too many":      {add("gates/leaf-z.md", "OWNS: z\n- [ ] G1: x\n"), "leaf-z.md is not in the plan"},
		"a ledger too few": {func(t *testing.T, root string) {
			must(t, os.Remove(filepath.Join(root, ".unlazy", "s", "gates", "leaf-a.md")))
		}, "a: it has no ledger"},
		"a ledger that is a folder": {func(t *testing.T, root string) {
			must(t, os.Remove(filepath.Join(root, ".unlazy", "s", "gates", "leaf-a.md")))
			must(t, os.Mkdir(filepath.Join(root, ".unlazy", "s", "gates", "leaf-a.md"), 0o755))
		}, "a: its ledger cannot be read"},
		"an invalid lease": {func(t *testing.T, root string) { write(t, root, ".unlazy/locks/x.lease", "{") }, "x.lease is not valid"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := fixture(t, one{id: "a", owns: "a"}, one{id: "b", owns: "b", needs: "a", wave: 2}, one{id: "c", owns: "c"})
			tt.damage(t, root)
			var got Answer
			must(t, json.Unmarshal([]byte(next(t, root, 4)), &got))
			if len(got.Launch) > 0 || len(got.Review) == 0 || !strings.Contains(strings.Join(got.Review, "\n"), tt.says) {
				t.Errorf("%+v, want %q", got, tt.says)
			}
		})
	}
	t.Run("branches and prose are allowed", func(t *testing.T) {
		t.Parallel()
		root := fixture(t, one{id: "a", owns: "a"})
		write(t, root, ".unlazy/s/gates/node-x.md", "- [ ] G1: x\n")
		write(t, root, ".unlazy/s/GATES.md", "- [ ] G1: x\n")
		if got := next(t, root, 1); got != `{"launch":["a"],"wait":[],"review":[]}` {
			t.Error(got)
		}
	})
}

func TestErrors(t *testing.T) {
	t.Parallel()
	root := fixture(t, one{id: "a", owns: "a"})
	for _, slots := range []int{0, -1, 65} {
		if _, err := Next(t.Context(), root, "s", slots); err == nil {
			t.Errorf("%d slots", slots)
		}
	}
	if _, err := Next(t.Context(), root, "t", 1); !errors.As(err, new(*scope.UnknownError)) {
		t.Error(err)
	}
	for _, f := range []string{"ACCESS.json", "PLAN.md"} {
		must(t, os.Remove(filepath.Join(root, ".unlazy", "s", f)))
		if _, err := Next(t.Context(), root, "s", 1); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", f, err)
		}
	}
}

// The index answers as schedule.Overlap does.
func TestIndexIsOverlap(t *testing.T) {
	t.Parallel()
	segment := rapid.SampledFrom([]string{"a", "b", "A", "c*", "*", "?", "[a]", "**", "d"})
	pattern := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(segment, 1, 4).Draw(t, "p"), "/") })
	rapid.Check(t, func(t *rapid.T) {
		held := rapid.SliceOfN(pattern, 0, 6).Draw(t, "held")
		asked := rapid.SliceOfN(pattern, 1, 3).Draw(t, "asked")
		except := rapid.IntRange(0, 6).Draw(t, "except")
		var p paths
		want := false
		for i, h := range held {
			p.add(fmt.Sprint(i), []string{h})
			for _, a := range asked {
				want = want || i != except && schedule.Overlap(strings.ToLower(h), strings.ToLower(a))
			}
		}
		if got := p.other(fmt.Sprint(except), asked); (got != "") != want {
			t.Fatalf("%v against %v without %d: %q, want %v", asked, held, except, got, want)
		}
	})
}

// Against a plain reading of the rules: what is launched may run together, and
// nothing is left waiting that could have been added.
func TestChoiceProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		var list []*task
		tab := table{byID: map[string]*task{}}
		glob := rapid.SampledFrom([]string{"a", "a/x", "b/*", "b/y", "c", "d", "e/**", "f", "g"})
		for i := range n {
			r := &task{id: fmt.Sprintf("t%02d", i), wave: i + 1, owns: rapid.SliceOfNDistinct(glob, 1, 2, rapid.ID).Draw(t, "owns"), reads: rapid.SliceOfNDistinct(glob, 0, 2, rapid.ID).Draw(t, "reads"), state: rapid.SampledFrom([]rowState{waiting, waiting, ready, inFlight}).Draw(t, "state")}
			for j := range i {
				if rapid.IntRange(0, 5).Draw(t, "edge") == 0 {
					r.needs = append(r.needs, list[j].id)
				}
			}
			if rapid.Bool().Draw(t, "done") && !slices.ContainsFunc(r.needs, func(id string) bool { return tab.byID[id].state != verified }) {
				r.state = verified
			}
			r.making = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"db", "net"}), 0, 1, rapid.ID).Draw(t, "making")
			list, tab.byID[r.id] = append(list, r), r
		}
		tab.tasks = list
		s := state{table: tab, slots: rapid.IntRange(1, 5).Draw(t, "slots"), active: map[string]string{}, held: map[string]bool{}}
		for _, r := range list {
			if r.state == inFlight {
				s.active[r.id] = "in flight"
			}
		}
		s.choose()
		running := append([]string{}, s.launch...)
		for id := range s.active {
			running = append(running, id)
		}
		for i, a := range s.launch {
			for _, n := range tab.byID[a].needs {
				if tab.byID[n].state != verified {
					t.Fatalf("%s runs before %s", a, n)
				}
			}
			for j, b := range running {
				if i != j && together(tab.byID[a], tab.byID[b]) {
					t.Fatalf("%s and %s run together", a, b)
				}
			}
		}
		if len(s.launch) > max(0, s.slots-len(s.active)) {
			t.Fatalf("%d launched", len(s.launch))
		}
		for _, w := range s.wait {
			r := tab.byID[w.Task]
			if w.Because == "no free slot" && len(s.launch) < s.slots-len(s.active) {
				t.Fatalf("%s waits for a slot that is free", w.Task)
			}
			if strings.HasSuffix(w.Because, "goes first") && !slices.ContainsFunc(s.launch, func(id string) bool { return together(r, tab.byID[id]) }) {
				t.Fatalf("%s waits for nothing", w.Task)
			}
		}
		if len(s.launch)+len(s.wait) != n-count(list, verified) {
			t.Fatal("a task is missing")
		}
	})
}

func count(list []*task, s rowState) int {
	n := 0
	for _, r := range list {
		if r.state == s {
			n++
		}
	}
	return n
}

// together reports a conflict, pair by pair.
func together(a, b *task) bool {
	overlap := func(x, y []string) bool {
		for _, p := range x {
			for _, q := range y {
				if schedule.Overlap(p, q) {
					return true
				}
			}
		}
		return false
	}
	for _, m := range a.making {
		if slices.Contains(b.making, m) {
			return true
		}
	}
	return overlap(a.owns, b.owns) || overlap(a.owns, b.reads) || overlap(a.reads, b.owns)
}

func TestAnswerStaysSmall(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 300, 600)
		a := Answer{Launch: rapid.SliceOfN(rapid.StringMatching(`[a-z0-9]{1,64}`), 0, 64).Draw(t, "launch"), Review: rapid.SliceOfN(text, 0, 30).Draw(t, "review")}
		for range rapid.IntRange(0, 100).Draw(t, "waits") {
			a.Wait = append(a.Wait, Wait{rapid.StringMatching(`[a-z0-9]{1,64}`).Draw(t, "task"), text.Draw(t, "because")})
		}
		var got Answer
		line := a.JSON()
		if len(line) >= MaxBytes || json.Unmarshal(line, &got) != nil {
			t.Fatalf("%d bytes: %s", len(line), line)
		}
		more := More{}
		if got.More != nil {
			more = *got.More
		}
		if len(got.Launch)+more.Launch != len(a.Launch) || len(got.Wait)+more.Wait != len(a.Wait) || len(got.Review)+more.Review != len(a.Review) {
			t.Fatalf("something is not counted: %s", line)
		}
		if len(a.Review) > 0 && len(got.Review) == 0 {
			t.Fatal("a review that says nothing")
		}
	})
}

func FuzzPlan(f *testing.F) {
	f.Add("Contract revision: 1\n\n| Leaf | Owns | Needs | Tier | Planned wave | State |\n|---|---|---|---|---|---|\n| a | x | - | judgment | 1 | READY |\n| b | y, z/* | a | mechanical | 2 | WAITING |\n", []byte(`{"schema":1,"contractRevision":1,"leaves":{"a":{"complete":true,"reads":["q"],"resourceReads":[],"resourceWrites":["db"]},"b":{"complete":true,"reads":[],"resourceReads":[],"resourceWrites":[]}}}`))
	f.Fuzz(func(t *testing.T, text string, access []byte) {
		tab, err := parseTable(text)
		if err != nil {
			return
		}
		if len(tab.tasks) == 0 || tab.revision < 1 || !slices.IsSortedFunc(tab.tasks, func(a, b *task) int { return strings.Compare(a.id, b.id) }) {
			t.Fatalf("%q: %+v", text, tab)
		}
		if tab.readAccess(access) != nil {
			return
		}
		s := state{table: tab, slots: 4, active: map[string]string{}, held: map[string]bool{}}
		s.choose()
		if line := s.answer().JSON(); len(line) >= MaxBytes {
			t.Fatalf("%d bytes", len(line))
		}
	})
}

func BenchmarkNext5000(b *testing.B) {
	var tasks []one
	for i := range 5000 {
		o := one{id: fmt.Sprintf("t%04d", i), owns: fmt.Sprintf("src/p%d/**, docs/p%d.md", i, i), reads: fmt.Sprintf("lib/p%d/*", i%50), wave: i/100 + 1}
		if i >= 100 {
			o.needs = fmt.Sprintf("t%04d", i-100)
		}
		if i < 2500 {
			o.state = "VERIFIED"
		}
		tasks = append(tasks, o)
	}
	root := b.TempDir()
	lay(b, root, tasks)
	tr := scope.Tree{Root: root, Now: clock}
	for i := range 50 {
		_, err := tr.Claim(b.Context(), "other", fmt.Sprintf("l%d", i), []string{fmt.Sprintf("src/p%d/x", 2500+i)})
		must(b, err)
	}
	for b.Loop() {
		a, err := Next(b.Context(), root, "s", 8)
		must(b, err)
		if len(a.Launch) != 8 || len(a.JSON()) >= MaxBytes {
			b.Fatalf("%s", a.JSON())
		}
	}
}
