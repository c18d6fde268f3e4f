package receipt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatesworn/gatesworn/gates/ledger"
)

func TestReceiptsArePrivateFiles(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("rights are inherited there")
	}
	w := newWorld(t, wholeTree, true)
	w.passes(nil)
	path := filepath.Join(w.dir, name(w.top, "GATES.md", "G1"))
	for p, want := range map[string]os.FileMode{w.dir: 0o700, path: 0o600} {
		info, err := os.Stat(p)
		must(t, err)
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %o", p, info.Mode().Perm())
		}
	}
	data, err := os.ReadFile(path)
	must(t, err)
	other := path + ".other"
	for name, alter := range map[string]func(){
		"readable by others": func() { must(t, os.Chmod(path, 0o644)) },
		"writable by others": func() { must(t, os.Chmod(path, 0o620)) },
		"a link":             func() { must(t, os.Rename(path, other)); must(t, os.Symlink(other, path)) },
		"a hard link":        func() { must(t, os.Link(path, other)) },
		"a folder":           func() { must(t, os.Remove(path)); must(t, os.Mkdir(path, 0o700)) },
	} {
		must(t, os.WriteFile(path, data, 0o600))
		must(t, os.Chmod(path, 0o600))
		if !w.holds() {
			t.Fatalf("before %s: not reused", name)
		}
		if alter(); w.holds() {
			t.Errorf("%s: reused", name)
		}
		must(t, os.RemoveAll(path))
		must(t, os.RemoveAll(other))
	}
}

func TestForeignOwnerDoesNotCount(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can give a file away")
	}
	w := newWorld(t, wholeTree, false)
	w.passes(nil)
	must(t, os.Chown(filepath.Join(w.dir, name(w.top, "GATES.md", "G1")), 65534, -1))
	b, g := w.open()
	if _, ok := b.Lookup(g); ok {
		t.Error("another user's receipt was taken")
	}
	if e := b.Explain(g); e.Reason != errForeign.Error() {
		t.Errorf("%+v", e)
	}
}

func TestOpenFolderIsRefused(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("rights are inherited there")
	}
	w := newWorld(t, wholeTree, false)
	must(t, os.MkdirAll(w.dir, 0o700))
	must(t, os.Chmod(w.dir, 0o755))
	b, g := w.open()
	b.Keep(g, pass(t, g, w.now))
	if n, err := b.Close(t.Context()); err == nil || n != 0 {
		t.Errorf("wrote %d, %v", n, err)
	}
}

func TestReceiptsMustLieOutsideTheTree(t *testing.T) {
	t.Parallel()
	w := newWorld(t, wholeTree, false)
	link := filepath.Join(filepath.Dir(w.top), "link")
	must(t, os.Symlink(w.top, link))
	for _, dir := range []string{w.top, filepath.Join(w.top, "a", "b"), filepath.Join(link, "new")} {
		if _, err := Open(t.Context(), dir, Tree{Top: w.top}, w.set, time.Now); !errors.Is(err, ErrPlace) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if _, err := Open(t.Context(), w.top+"-more", Tree{Top: w.top}, w.set, time.Now); err != nil {
		t.Errorf("a folder with a similar name: %v", err)
	}
	if _, err := Open(t.Context(), "relative", Tree{Top: w.top}, w.set, time.Now); err == nil {
		t.Error("a relative folder was taken")
	}
	w.set.Shell += "-gone"
	if _, err := Open(t.Context(), w.dir, Tree{Top: w.top}, w.set, time.Now); err == nil {
		t.Error("a shell that is gone was taken")
	}
}

// TestTouchedWhileRunning: what changed during a run, even if it was undone, is not remembered.
func TestTouchedWhileRunning(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		text   string
		during func(*world)
		want   int
	}{
		{"nothing", wholeTree, func(*world) {}, 1},
		{"edited", wholeTree, func(w *world) { w.write("src/a.go", "z") }, 0},
		{"edited and undone", wholeTree, func(w *world) { w.write("src/a.go", "z"); w.write("src/a.go", "a") }, 0},
		{"removed", wholeTree, func(w *world) { w.remove("src/a.go") }, 0},
		{"added", wholeTree, func(w *world) { w.write("new", "") }, 0},
		{"ignored", wholeTree, func(w *world) { w.write("out/x", "") }, 1},
		{"evidence recorded", wholeTree, func(w *world) {
			w.write("GATES.md", strings.Replace(w.text, "- [ ] G1: it works\n", "- [X] G1: it works\n  EVIDENCE: pending\n", 1))
		}, 1},
		{"ledger edited", wholeTree, func(w *world) { w.write("GATES.md", strings.Replace(w.text, "works", "does", 1)) }, 0},
		{"ledger broken", wholeTree, func(w *world) { w.write("GATES.md", "- [ ] broken\n") }, 0},
		{"elsewhere", depends, func(w *world) { w.write("README.md", "z") }, 1},
		{"a dependency", depends, func(w *world) { w.write("src/a.go", "z") }, 0},
		{"a dependency undone", depends, func(w *world) { w.write("src/a.go", "z"); w.write("src/a.go", "a") }, 0},
		{"a dependency more", depends, func(w *world) { w.write("src/z.go", "") }, 0},
		{"a dependency less", depends, func(w *world) { w.remove("src/a.go") }, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, tc.text, true)
			if n := w.passes(func() { tc.during(w) }); n != tc.want {
				t.Errorf("wrote %d, want %d", n, tc.want)
			}
		})
	}
}

func TestNoFilesNoReceipt(t *testing.T) {
	t.Parallel()
	for _, patterns := range []string{"nothing/**", "src/**, nothing", "out/**"} {
		w := newWorld(t, strings.Replace(depends, "src/**, go.mod", patterns, 1), true)
		if n := w.passes(nil); n != 0 || w.holds() {
			t.Errorf("%s: wrote %d", patterns, n)
		}
		b, g := w.open()
		if in, err := b.ingredients(g); err == nil {
			t.Errorf("%s: %v", patterns, in)
		}
	}
}

// TestStagedRemovalIsAnInput: a file that HEAD holds and the index does not any
// more still stands in the tree, ignored or not.
func TestStagedRemovalIsAnInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t, wholeTree, true)
	w.run("add", "-f", "out/made")
	w.run("-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-q", "-m", "second")
	w.run("rm", "-q", "--cached", "out/made")
	if w.passes(nil) != 1 || !w.holds() {
		t.Fatal("not reused")
	}
	if w.write("out/made", "2"); w.holds() {
		t.Error("reused")
	}
}

func TestRepositoryWithinCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, wholeTree, true)
	w.write("inner/file", "1")
	w.write("inner/.gitignore", "file\n")
	w.run("init", "-q", "inner")
	if w.passes(nil) != 1 || !w.holds() {
		t.Fatal("not reused")
	}
	if w.write("inner/file", "2"); w.holds() {
		t.Error("reused after a change in a repository within")
	}
}

func TestUnreadableFileIsADoubt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, wholeTree, false)
	w.passes(nil)
	b, g := w.open()
	for i := range b.snap.files { // root reads everything: mark it by hand
		b.snap.files[i].doubt = b.snap.files[i].path == "src/a.go"
	}
	b.doubt = true
	if _, ok := b.Lookup(g); ok {
		t.Error("reused")
	}
	if e := b.Explain(g); e.Reason != errDoubt.Error() || e.At.IsZero() {
		t.Errorf("%+v", e)
	}
	b.Keep(g, pass(t, g, w.now))
	if n, err := b.Close(t.Context()); n != 0 || err != nil {
		t.Errorf("wrote %d, %v", n, err)
	}
	f := file{path: "gone"}
	if b.tree.read(&f, nil); !f.doubt {
		t.Error("a file that is gone is no doubt")
	}
}

func TestExplainNamesFilesAndVariables(t *testing.T) {
	t.Parallel()
	w := newWorld(t, depends, true)
	w.passes(nil)
	w.write("src/a.go", "z")
	w.write("src/new.go", "")
	w.write("README.md", "z")
	w.env = []string{"PATH=/bin", "FOO=2", "BAR=", "HOME=/h"}
	b, g := w.open()
	e := b.Explain(g)
	if !slices.Equal(e.Files, []string{"src/a.go", "src/new.go"}) || !slices.Equal(e.Variables, []string{"BAR", "FOO"}) ||
		!slices.Equal(e.Changed, []string{Environment, Files}) || e.At.IsZero() {
		t.Errorf("%+v", e)
	}
	manifests, err := filepath.Glob(filepath.Join(w.dir, "*"+manifestSuffix))
	if err != nil || len(manifests) != 1 {
		t.Fatalf("%v, %v", manifests, err)
	}
	for _, data := range []string{"", "{}", `{"schema":"x","files":{}}`} {
		must(t, os.WriteFile(manifests[0], []byte(data), 0o600))
		if e := b.Explain(g); e.Files != nil || !slices.Contains(e.Changed, Files) {
			t.Errorf("%q: %+v", data, e)
		}
	}
	must(t, os.Remove(manifests[0]))
	if e := b.Explain(g); e.Files != nil {
		t.Errorf("%+v", e)
	}
	if b.readManifest("../../etc/passwd") != nil {
		t.Error("a manifest elsewhere was read")
	}
}

func TestFolderStaysBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, wholeTree, false)
	w.passes(nil)
	old := time.Now().Add(-time.Hour)
	for i := range MaxReceipts + 20 {
		path := filepath.Join(w.dir, fmt.Sprintf("%040x%s", i, suffix))
		must(t, os.WriteFile(path, nil, 0o600))
		must(t, os.Chtimes(path, old, old.Add(time.Duration(i)*time.Millisecond)))
	}
	for i := range MaxManifests + 5 {
		path := filepath.Join(w.dir, fmt.Sprintf("%040x%s", i, manifestSuffix))
		must(t, os.WriteFile(path, nil, 0o600))
		must(t, os.Chtimes(path, old, old))
	}
	must(t, os.WriteFile(filepath.Join(w.dir, "note.txt"), nil, 0o600))
	w.write("README.md", "z")
	w.passes(nil)
	for end, want := range map[string]int{suffix: MaxReceipts, manifestSuffix: MaxManifests, ".txt": 1} {
		found, err := filepath.Glob(filepath.Join(w.dir, "*"+end))
		if err != nil || len(found) != want {
			t.Errorf("%d files *%s, %v", len(found), end, err)
		}
	}
	if _, err := os.Stat(filepath.Join(w.dir, fmt.Sprintf("%040x%s", 0, suffix))); !errors.Is(err, os.ErrNotExist) {
		t.Error("the oldest is still there")
	}
	if !w.holds() {
		t.Error("the newest is gone")
	}
}

func TestHugeEnvironmentIsNotKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, wholeTree, false)
	for i := range 9000 {
		w.env = append(w.env, fmt.Sprintf("V%d=%d", i, i))
	}
	w.passes(nil)
	if w.holds() {
		t.Error("reused")
	}
}

func TestRunsDoNotDisturbEachOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t, wholeTree, false)
	books := make([]*Book, 8)
	for i := range books {
		b, g := w.open()
		b.Keep(g, pass(t, g, w.now))
		books[i] = b
	}
	var wg sync.WaitGroup
	for _, b := range books {
		wg.Go(func() {
			if n, err := b.Close(t.Context()); n != 1 || err != nil {
				t.Errorf("wrote %d, %v", n, err)
			}
		})
	}
	wg.Wait()
	if !w.holds() {
		t.Error("not reused")
	}
}

func TestInterruptedRunsKeepNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, wholeTree, true)
	b, g := w.open()
	b.Keep(g, pass(t, g, w.now))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := b.Close(ctx); n != 0 || err == nil {
		t.Errorf("wrote %d, %v", n, err)
	}
	if _, err := Open(ctx, w.dir, b.tree, w.set, time.Now); err == nil {
		t.Error("opened")
	}
	if w.holds() {
		t.Error("reused")
	}
}

func TestNormalForm(t *testing.T) {
	t.Parallel()
	plain := "# T\n\n- [ ] G1: a\n  CHECK: x\n  EXPECT: y\n- [ ] G2: [b](c)\n"
	for name, text := range map[string]string{
		"as it is":         plain,
		"ticked":           strings.ReplaceAll(plain, "- [ ]", "- [x]"),
		"capital":          strings.Replace(plain, "- [ ]", "- [X]", 1),
		"evidence":         strings.Replace(plain, "  EXPECT: y\n", "  EXPECT: y\n  EVIDENCE: seen\n", 1),
		"evidence between": strings.Replace(plain, "  EXPECT: y\n", "  EVIDENCE: seen\n  EXPECT: y\n", 1),
		"evidence at end":  plain + "  EVIDENCE: pending",
		"no line at end":   strings.TrimSuffix(plain, "\n"),
	} {
		doc := ledger.Parse("G.md", []byte(text))
		got, err := normalize(doc)
		if err != nil || string(got) != plain {
			t.Errorf("%s: %q, %v (%+v)", name, got, err, doc.Findings)
		}
	}
}

func FuzzParse(f *testing.F) {
	now := time.Date(2026, 10, 2, 0, 0, 0, 0, time.UTC)
	in := ingredients{Place: hash("/t", "GATES.md", "G1"), Files: hash("x")}
	r := record{Schema: schema, Top: "/t", Ledger: "GATES.md", Gate: "G1", At: "2026-10-01T00:00:00Z", Context: in.digest(), Evidence: "e", EvidenceSHA256: hash("e"), Ingredients: in, Variables: map[string]string{"A": "0000"}}
	good, err := r.bytes()
	if err != nil {
		f.Fatal(err)
	}
	if _, err := parse(good, now); err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parse(data, now)
		if err != nil {
			return
		}
		again, err := r.bytes()
		if err != nil || string(again) != string(data) || r.Context != r.Ingredients.digest() {
			t.Errorf("%q was taken and is written %q", data, again)
		}
	})
}
