package receipt

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/gates/evidence"
	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/gatesworn/gatesworn/internal/gitobj"
)

// world is a tree with one ledger, and everything else a context holds.
type world struct {
	t     *testing.T
	top   string
	dir   string
	text  string
	set   Setting
	env   []string
	now   time.Time
	git   bool
	index int // of the gate that is asked for
}

const (
	wholeTree = "- [ ] G1: it works\n  CHECK: true\n  EXPECT: /^/\n  TIMEOUT: 9\n  ENV: FOO\n"
	depends   = "- [ ] G1: it works\n  CHECK: true\n  EXPECT: /^/\n  DEPENDS: src/**, go.mod\n"
)

func newWorld(t *testing.T, text string, git bool) *world {
	t.Helper()
	root := t.TempDir()
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, top: filepath.Join(root, "tree"), dir: filepath.Join(root, "state", "receipts"), text: text, git: git, now: time.Now()}
	w.env = []string{"PATH=/bin", "FOO=1", "HOME=/h"}
	shell := filepath.Join(root, "shell")
	if err := os.WriteFile(shell, []byte("a shell"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.set = Setting{
		Shell: shell, Path: "/bin", Env: func(ledger.Gate) []string { return w.env }, Timeout: time.Minute,
		Platform: "linux/amd64", Version: "1", Policy: "version: 1\n", Machine: "m/1000",
	}
	for path, data := range map[string]string{"go.mod": "module x\n", "src/a.go": "a", "src/deep/b.go": "b", "README.md": "r", ".gitignore": "/out/\n", "out/made": "1"} {
		w.write(path, data)
	}
	w.write("GATES.md", text)
	if git {
		w.run("init", "-q", "-b", "main")
		w.run("add", ".")
		w.run("-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-q", "-m", "first")
	}
	return w
}

func (w *world) run(args ...string) {
	w.t.Helper()
	path, err := exec.LookPath("git")
	if err != nil {
		if os.Getenv("REQUIRE_TOOLS") != "" {
			w.t.Fatal(err)
		}
		w.t.Skip("git is not installed")
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = w.top
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.t.TempDir(), "GIT_CONFIG_NOSYSTEM=1"}
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (w *world) write(path, data string) {
	w.t.Helper()
	path = filepath.Join(w.top, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) remove(path string) {
	w.t.Helper()
	if err := os.Remove(filepath.Join(w.top, path)); err != nil {
		w.t.Fatal(err)
	}
}

// open begins a run over what is on disk now.
func (w *world) open() (*Book, gates.GateRef) {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.top, "GATES.md"))
	if err != nil {
		w.t.Fatal(err)
	}
	doc := ledger.Parse("GATES.md", data)
	if !doc.OK() {
		w.t.Fatalf("%+v", doc.Findings)
	}
	tree := Tree{Top: w.top, Skip: []string{".gatesworn-out/"}, Ledgers: map[string]*ledger.Document{"GATES.md": doc}}
	if w.git {
		repo, err := gitobj.Open(w.top)
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(func() { _ = repo.Close() })
		tree.Git = repo
	}
	now := w.now
	b, err := Open(w.t.Context(), w.dir, tree, w.set, func() time.Time { return now })
	if err != nil {
		w.t.Fatal(err)
	}
	return b, gates.GateRef{Name: "GATES:G1", Ledger: "GATES.md", Abs: filepath.Join(w.top, "GATES.md"), Dir: w.top, RelDir: ".", Gate: doc.Gates[w.index]}
}

func pass(t *testing.T, g gates.GateRef, at time.Time) gates.Pass {
	t.Helper()
	line, err := evidence.Format(g.Gate, evidence.Run{Output: "fine\n", Shell: "/bin/sh", Dir: g.Dir, Path: "/bin"})
	if err != nil {
		t.Fatal(err)
	}
	zero := 0
	return gates.Pass{At: at, Evidence: line, Run: gates.Run{Exit: &zero, Matched: true, DurationMS: 7, OutputSHA256: evidence.OutputDigest("fine\n"), OutputBytes: 5}}
}

// passes runs the gate once and returns how many receipts were written.
func (w *world) passes(during func()) int {
	w.t.Helper()
	b, g := w.open()
	b.Keep(g, pass(w.t, g, w.now))
	if during != nil {
		during()
	}
	n, err := b.Close(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	w.now = w.now.Add(time.Minute)
	return n
}

func (w *world) holds() bool {
	w.t.Helper()
	b, g := w.open()
	_, ok := b.Lookup(g)
	if e := b.Explain(g); e.Holds != ok {
		w.t.Errorf("Explain says %+v, Lookup %v", e, ok)
	}
	return ok
}

func TestUnchangedIsReused(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]*world{
		"whole tree, git":   newWorld(t, wholeTree, true),
		"whole tree, plain": newWorld(t, wholeTree, false),
		"DEPENDS, git":      newWorld(t, depends, true),
		"DEPENDS, plain":    newWorld(t, depends, false),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w.t = t
			if w.holds() {
				t.Fatal("holds before it ran")
			}
			if n := w.passes(nil); n != 1 {
				t.Fatalf("wrote %d receipts", n)
			}
			b, g := w.open()
			p, ok := b.Lookup(g)
			if !ok {
				t.Fatalf("not reused: %+v", b.Explain(g))
			}
			want := pass(t, g, w.now)
			if p.Evidence != want.Evidence || *p.Run.Exit != 0 || !p.Run.Matched || p.Run.OutputSHA256 != want.Run.OutputSHA256 || p.Run.OutputBytes != 5 || p.Run.DurationMS != 7 {
				t.Errorf("%+v", p)
			}
			if w.git { // ignored by git: no input
				w.write("out/made", "2")
			}
			w.write(".gatesworn-out/report.json", "{}")
			if !w.holds() {
				t.Error("changed by what is no input")
			}
		})
	}
}

// TestEveryIngredientCounts changes one thing at a time between two runs.
func TestEveryIngredientCounts(t *testing.T) {
	t.Parallel()
	edit := func(old, new string) func(*world) {
		return func(w *world) { w.write("GATES.md", strings.Replace(w.text, old, new, 1)) }
	}
	both := []string{wholeTree, depends}
	for _, tc := range []struct {
		name    string
		texts   []string
		change  func(*world)
		changed string
	}{
		{"outcome", both, edit("it works", "it does"), Outcome},
		{"CHECK", both, edit("CHECK: true", "CHECK: :"), "CHECK"},
		{"EXPECT", both, edit("EXPECT: /^/", "EXPECT: fine"), "EXPECT"},
		{"CWD", both, edit("CHECK: true\n", "CHECK: true\n  CWD: src\n"), "CWD"},
		{"NEEDS", both, func(w *world) {
			w.write("GATES.md", strings.Replace(w.text, "CHECK: true\n", "CHECK: true\n  NEEDS: G2\n", 1)+"- [ ] G2: other\n")
		}, "NEEDS"},
		{"INPUTS", both, edit("CHECK: true\n", "CHECK: true\n  INPUTS: go.mod\n"), "INPUTS"},
		{"DEPENDS added", both[:1], edit("CHECK: true\n", "CHECK: true\n  DEPENDS: go.mod\n"), "DEPENDS"},
		{"DEPENDS", both[1:], edit("src/**", "src/*"), "DEPENDS"},
		{"READS", both, edit("CHECK: true\n", "CHECK: true\n  READS: src\n"), "READS"},
		{"WRITES", both, edit("CHECK: true\n", "CHECK: true\n  WRITES: out\n"), "WRITES"},
		{"TIMEOUT", both[:1], edit("TIMEOUT: 9", "TIMEOUT: 8"), "TIMEOUT"},
		{"ENV", both[:1], edit("ENV: FOO", "ENV: BAR"), "ENV"},
		{"time limit", both[1:], func(w *world) { w.set.Timeout++ }, Limit},
		{"a file", both, func(w *world) { w.write("src/a.go", "b") }, Files},
		{"a file deeper", both, func(w *world) { w.write("src/deep/b.go", "c") }, Files},
		{"a file that is gone", both, func(w *world) { w.remove("src/a.go") }, Files},
		{"a new file", both, func(w *world) { w.write("src/new.go", "") }, Files},
		{"a file that can be executed", both, func(w *world) { must(w.t, os.Chmod(filepath.Join(w.top, "src/a.go"), 0o755)) }, Files},
		{"a link instead", both, func(w *world) {
			w.remove("src/a.go")
			must(w.t, os.Symlink("deep/b.go", filepath.Join(w.top, "src/a.go")))
		}, Files},
		{"a file elsewhere", both[:1], func(w *world) { w.write("README.md", "R") }, Files},
		{"an untracked file elsewhere", both[:1], func(w *world) { w.write("notes/x", "") }, Files},
		{"the ledger's prose", both[:1], func(w *world) { w.write("GATES.md", "# More\n\n"+w.text) }, Files},
		{"a variable", both, func(w *world) { w.env = []string{"PATH=/bin", "FOO=2", "HOME=/h"} }, Environment},
		{"a variable less", both, func(w *world) { w.env = []string{"PATH=/bin", "HOME=/h"} }, Environment},
		{"a variable more", both, func(w *world) { w.env = append(slices.Clone(w.env), "NEW=") }, Environment},
		{"the shell", both, func(w *world) {
			other := w.set.Shell + "2"
			must(w.t, os.WriteFile(other, []byte("a shell"), 0o700))
			w.set.Shell = other
		}, Shell},
		{"the shell's program", both, func(w *world) { must(w.t, os.WriteFile(w.set.Shell, []byte("b shell"), 0o700)) }, Shell},
		{"PATH", both, func(w *world) { w.set.Path = "/bin:/usr/bin" }, SearchPath},
		{"policy", both, func(w *world) { w.set.Policy = "version: 2\n" }, Policy},
		{"no policy", both, func(w *world) { w.set.Policy = "" }, Policy},
		{"platform", both, func(w *world) { w.set.Platform = "linux/arm64" }, Platform},
		{"version", both, func(w *world) { w.set.Version = "2" }, Version},
		{"machine", both, func(w *world) { w.set.Machine = "other/1000" }, Machine},
	} {
		for i, text := range tc.texts {
			for _, git := range []bool{true, false} {
				t.Run(tc.name, func(t *testing.T) {
					t.Parallel()
					w := newWorld(t, text, git)
					if w.passes(nil) != 1 || !w.holds() {
						t.Fatal("not reused before the change")
					}
					tc.change(w)
					b, g := w.open()
					if _, ok := b.Lookup(g); ok {
						t.Fatalf("reused after a change of %s (text %d, git %v)", tc.name, i, git)
					}
					if e := b.Explain(g); e.Holds || !slices.Contains(e.Changed, tc.changed) {
						t.Errorf("Explain does not name %q: %+v", tc.changed, e)
					}
				})
			}
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestFolderCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, wholeTree, true)
	w.passes(nil)
	b, g := w.open()
	g.Dir, g.RelDir = filepath.Join(w.top, "src"), "src"
	if _, ok := b.Lookup(g); ok {
		t.Error("reused in another folder")
	}
}

// TestReceiptsOfOthersDoNotCount: a receipt copied to where another one belongs.
func TestReceiptsOfOthersDoNotCount(t *testing.T) {
	t.Parallel()
	two := wholeTree + strings.Replace(wholeTree, "G1", "G2", 1)
	w := newWorld(t, two, true)
	w.passes(nil)
	from := filepath.Join(w.dir, name(w.top, "GATES.md", "G1"))
	for what, to := range map[string]string{
		"gate":   name(w.top, "GATES.md", "G2"),
		"ledger": name(w.top, "gates/b.md", "G1"),
		"tree":   name("/elsewhere", "GATES.md", "G1"),
	} {
		data, err := os.ReadFile(from)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(w.dir, to), data, 0o600))
		b, g := w.open()
		switch what {
		case "gate":
			g.Gate.ID = "G2"
		case "ledger":
			g.Ledger = "gates/b.md"
		case "tree":
			b.tree.Top = "/elsewhere"
		}
		if _, err := b.load(g); err == nil {
			t.Errorf("the receipt of another %s was taken", what)
		}
	}
}

// TestDamagedReceiptsDoNotCount cuts the file everywhere, flips bits, and bends
// every part of it that a decision looks at.
func TestDamagedReceiptsDoNotCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t, wholeTree, true)
	w.passes(nil)
	path := filepath.Join(w.dir, name(w.top, "GATES.md", "G1"))
	good, err := os.ReadFile(path)
	must(t, err)
	b, g := w.open()
	for n := 0; n < len(good); n += 7 {
		if _, err := parse(good[:n], b.now()); err == nil {
			t.Fatalf("the first %d bytes were taken", n)
		}
	}
	bend := func(name string, change func(m map[string]any)) {
		var m map[string]any
		must(t, json.Unmarshal(good, &m))
		change(m)
		data, err := json.Marshal(m)
		must(t, err)
		must(t, os.WriteFile(path, append(data, '\n'), 0o600))
		if _, ok := b.Lookup(g); ok {
			t.Errorf("%s: reused", name)
		}
		// the same in the order and spelling that is written
		var r record
		if name == "a field more" || json.Unmarshal(data, &r) != nil {
			return
		}
		same, err := r.bytes()
		must(t, err)
		must(t, os.WriteFile(path, same, 0o600))
		if _, ok := b.Lookup(g); ok {
			t.Errorf("%s, well spelled: reused", name)
		}
	}
	bend("schema", func(m map[string]any) { m["schema"] = "gatesworn.receipt/v2" })
	bend("context", func(m map[string]any) { m["context"] = strings.Repeat("0", 64) })
	bend("evidence", func(m map[string]any) { m["evidence"] = m["evidence"].(string) + " " })
	bend("evidence digest", func(m map[string]any) { m["evidenceSha256"] = "" })
	bend("prose as evidence", func(m map[string]any) { m["evidence"] = "seen"; m["evidenceSha256"] = hash("seen") })
	bend("no date", func(m map[string]any) { m["at"] = "yesterday" })
	bend("odd date", func(m map[string]any) { m["at"] = "2020-01-01T00:00:00+01:00" })
	bend("future", func(m map[string]any) { m["at"] = b.now().Add(time.Hour).UTC().Format(time.RFC3339) })
	bend("negative duration", func(m map[string]any) { m["durationMs"] = -1 })
	bend("an ingredient", func(m map[string]any) { m["ingredients"].(map[string]any)[Version] = hash("2") })
	bend("an ingredient less", func(m map[string]any) { delete(m["ingredients"].(map[string]any), Policy) })
	bend("a field more", func(m map[string]any) { m["note"] = "" })
	for name, data := range map[string][]byte{
		"empty": {}, "two": append(slices.Clone(good), good...), "null": []byte("null\n"), "list": []byte("[]\n"), "large": append(slices.Clone(good), make([]byte, MaxRecord)...),
	} {
		must(t, os.WriteFile(path, data, 0o600))
		if _, ok := b.Lookup(g); ok {
			t.Errorf("%s: reused", name)
		}
	}
	must(t, os.WriteFile(path, good, 0o600))
	if _, ok := b.Lookup(g); !ok {
		t.Error("the good one is not taken: this test shows nothing")
	}
}
