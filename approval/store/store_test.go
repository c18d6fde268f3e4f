package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/approval/store"
	"github.com/gatesworn/gatesworn/internal/safefile"
)

var day = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

func oracle(gate, check string) approval.Oracle {
	return approval.Oracle{
		V: 1, Ledger: "GATES.md", Gate: gate, Outcome: "it builds", Check: ptr(check), Expect: ptr("ok"), CWD: ".",
		Needs: []string{}, InputPatterns: []string{}, Reads: []string{}, Writes: []string{}, Env: []string{},
	}
}

func abs(p string) string {
	if runtime.GOOS == "windows" {
		return `C:` + filepath.FromSlash(p)
	}
	return p
}

func binding(gate, check string) store.Binding {
	return store.Binding{
		Oracle: oracle(gate, check), Ledger: abs("/home/a/r/GATES.md"), Shell: abs("/bin/sh"), Dir: abs("/home/a/r"),
		Timeout: 120, Platform: "linux", Path: strings.Join([]string{"/usr/bin", "/bin", "/home/a/bin"}, string(os.PathListSeparator)),
	}
}

// folder returns a path for a store that is not there yet.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "state", "approved")
}

func open(t *testing.T, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t *testing.T, dir string, b ...store.Binding) []string {
	t.Helper()
	ids, err := open(t, dir).Put(context.Background(), day, b...)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func lookup(t *testing.T, dir string, b store.Binding) approval.Local {
	t.Helper()
	l, err := open(t, dir).Lookup(b)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func records(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestPutLookup(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	b := binding("G1", "make")
	if l := lookup(t, dir, b); l != (approval.Local{}) {
		t.Fatalf("an empty store says %+v", l)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Fatal("looking created the folder")
	}
	ids := put(t, dir, b, binding("G2", "make"))
	l := lookup(t, dir, b)
	if !l.Approved || l.ID != ids[0] || !l.ApprovedAt.Equal(day) || !strings.HasPrefix(l.ID, "sha256:") {
		t.Fatalf("got %+v, ids %v", l, ids)
	}
	if again := put(t, dir, b); again[0] != ids[0] {
		t.Error("approved twice, two ids")
	}
	files := records(t, dir)
	if len(files) != 2 {
		t.Fatal(files)
	}
	if runtime.GOOS != "windows" {
		for path, want := range map[string]os.FileMode{dir: 0o700, files[0]: 0o600, filepath.Dir(dir): 0o700} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: %v %v", path, info.Mode(), err)
			}
		}
	}
	text, err := os.ReadFile(files[0])
	if err != nil || !strings.Contains(string(text), "\n  \"gate\": \"G") || !strings.Contains(string(text), "\"check\": \"make\"") {
		t.Errorf("not readable: %s", text)
	}
}

func TestPutSameStore(t *testing.T) {
	t.Parallel()
	s := open(t, folder(t))
	b := binding("G1", "make")
	if _, err := s.Put(context.Background(), day, b); err != nil {
		t.Fatal(err)
	}
	if l, err := s.Lookup(b); err != nil || !l.Approved {
		t.Error("a store does not see what it wrote", l, err)
	}
}

// edits change one thing that an approval binds.
func edits() map[string]func(*store.Binding) {
	return map[string]func(*store.Binding){
		"ledger path": func(b *store.Binding) { b.Ledger = abs("/home/a/r2/GATES.md") },
		"shell":       func(b *store.Binding) { b.Shell = abs("/bin/bash") },
		"directory":   func(b *store.Binding) { b.Dir = abs("/home/a/r/sub") },
		"timeout":     func(b *store.Binding) { b.Timeout = 121 },
		"platform":    func(b *store.Binding) { b.Platform = "darwin" },
		"PATH":        func(b *store.Binding) { b.Path += string(os.PathListSeparator) },
		"gate":        func(b *store.Binding) { b.Oracle.Gate = "G2" },
		"CHECK":       func(b *store.Binding) { b.Oracle.Check = ptr("make ") },
		"EXPECT":      func(b *store.Binding) { b.Oracle.Expect = ptr("OK") },
		"outcome":     func(b *store.Binding) { b.Oracle.Outcome = "it built" },
		"project":     func(b *store.Binding) { b.Oracle.Project = "7b1c9f0e4a5d4e6f" },
		"ledger":      func(b *store.Binding) { b.Oracle.Ledger = "x/GATES.md" },
		"CWD":         func(b *store.Binding) { b.Oracle.CWD = "sub" },
	}
}

func TestEveryThingBinds(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	put(t, dir, binding("G1", "make"))
	for name, edit := range edits() {
		b := binding("G1", "make")
		edit(&b)
		if l := lookup(t, dir, b); l.Approved {
			t.Errorf("another %s is approved", name)
		}
	}
}

func TestNear(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	put(t, dir, binding("G1", "make"))
	sep := string(os.PathListSeparator)
	tests := []struct {
		name string
		edit func(*store.Binding)
		want string
	}{
		{"two entries", func(b *store.Binding) { b.Path = "/usr/bin" + sep + "/x" + sep + "/y" }, "approved before with another PATH: 2 entries differ"},
		{"one entry more", func(b *store.Binding) { b.Path += sep + "/x" }, "approved before with another PATH: 1 entry differs"},
		{"another order", func(b *store.Binding) { b.Path = "/bin" + sep + "/usr/bin" + sep + "/home/a/bin" }, "approved before with another PATH: the same entries in another order"},
		{"shell", func(b *store.Binding) { b.Shell = abs("/bin/bash") }, "approved before with another shell: was " + abs("/bin/sh")},
		{"timeout", func(b *store.Binding) { b.Timeout = 5 }, "approved before with another timeout: was 120s"},
		{"ledger path", func(b *store.Binding) { b.Ledger = abs("/x/GATES.md") }, "approved before with another ledger path: was " + abs("/home/a/r/GATES.md")},
		{"a moved clone", func(b *store.Binding) { b.Ledger, b.Dir = abs("/x/GATES.md"), abs("/x") }, "approved before with another ledger path and directory"},
		{"three", func(b *store.Binding) { b.Shell, b.Timeout, b.Platform = abs("/z"), 1, "x" }, "approved before with another shell, timeout and platform"},
		{"CHECK", func(b *store.Binding) { b.Oracle.Check = ptr("make all") }, "CHECK differs from what was approved here on 2026-11-30 (was make, is make all)"},
		{"another gate", func(b *store.Binding) { b.Oracle.Gate = "G9" }, ""},
	}
	for _, test := range tests {
		b := binding("G1", "make")
		test.edit(&b)
		if l := lookup(t, dir, b); l.Near != test.want || l.Approved {
			t.Errorf("%s: %q, want %q", test.name, l.Near, test.want)
		}
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	far := binding("G1", "make everything")
	far.Shell, far.Oracle.Outcome = abs("/bin/zsh"), "other"
	near := binding("G1", "make")
	near.Timeout = 7
	put(t, dir, far, near)
	if l := lookup(t, dir, binding("G1", "make")); l.Near != "approved before with another timeout: was 7s" {
		t.Error(l.Near)
	}
}

func TestDoubtfulRecords(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("links and modes")
	}
	tests := map[string]func(path string) error{
		"a link": func(p string) error {
			return errors.Join(os.Rename(p, p+".x"), os.Symlink(p+".x", p))
		},
		"a second name":  func(p string) error { return os.Link(p, p+".x") },
		"group readable": func(p string) error { return os.Chmod(p, 0o640) },
		"world readable": func(p string) error { return os.Chmod(p, 0o604) },
		"a folder":       func(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o700)) },
		"empty":          func(p string) error { return os.WriteFile(p, nil, 0o600) },
		"half":           func(p string) error { return os.Truncate(p, 100) },
		"huge":           func(p string) error { return os.Truncate(p, store.MaxRecord+1) },
		"another check":  func(p string) error { return swap(p, `"check": "make"`, `"check": "evil"`) },
		"another PATH":   func(p string) error { return swap(p, "/usr/bin", "/usr/sbin") },
		"another shell":  func(p string) error { return swap(p, `"shell": "/bin/sh"`, `"shell": "/bin/xx"`) },
		"another version": func(p string) error {
			return swap(p, "{\n  \"v\": 1", "{\n  \"v\": 2")
		},
		"unknown key":         func(p string) error { return swap(p, `"gate":`, `"trusted": true, "gate":`) },
		"no date":             func(p string) error { return swap(p, `2026-11-30T12:00:00Z`, `0001-01-01T00:00:00Z`) },
		"owned by somebody":   func(p string) error { return chown(p) },
		"a copy of another's": nil,
	}
	for name, do := range tests {
		dir := folder(t)
		b := binding("G1", "make")
		put(t, dir, b)
		file := records(t, dir)[0]
		if do == nil {
			put(t, dir, binding("G2", "make"))
			for _, f := range records(t, dir) {
				if f != file {
					data, _ := os.ReadFile(f)
					do = func(p string) error { return os.WriteFile(p, data, 0o600) }
				}
			}
		}
		if err := do(file); errors.Is(err, errSkip) {
			continue
		} else if err != nil {
			t.Fatal(name, err)
		}
		l, err := open(t, dir).Lookup(b)
		if l.Approved || err != nil || !strings.Contains(l.Near, "does not count") {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
		if _, err := open(t, dir).Put(context.Background(), day, b); err == nil {
			t.Errorf("%s: repaired silently", name)
		}
	}
}

var errSkip = errors.New("needs root")

func chown(p string) error {
	if os.Geteuid() != 0 {
		return errSkip
	}
	return os.Chown(p, 65534, 65534)
}

func swap(path, old, new string) error {
	data, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(data), old) {
		return errors.Join(err, fmt.Errorf("no %q to swap", old))
	}
	return os.WriteFile(path, []byte(strings.Replace(string(data), old, new, 1)), 0o600)
}

func TestInvalidBindings(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	for name, edit := range map[string]func(*store.Binding){
		"relative ledger": func(b *store.Binding) { b.Ledger = "GATES.md" },
		"no shell":        func(b *store.Binding) { b.Shell = "" },
		"relative shell":  func(b *store.Binding) { b.Shell = "sh" },
		"no timeout":      func(b *store.Binding) { b.Timeout = 0 },
		"no platform":     func(b *store.Binding) { b.Platform = "" },
		"no oracle":       func(b *store.Binding) { b.Oracle = approval.Oracle{} },
		"NUL":             func(b *store.Binding) { b.Dir += "\x00" },
		"bytes":           func(b *store.Binding) { b.Path = "\xff" },
	} {
		b := binding("G1", "make")
		edit(&b)
		if _, err := open(t, dir).Put(context.Background(), day, b); err == nil {
			t.Errorf("%s: recorded", name)
		}
		if _, err := open(t, dir).Lookup(b); err == nil {
			t.Errorf("%s: looked up", name)
		}
	}
}

func TestLockIsNotStolen(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	put(t, dir, binding("G1", "make"))
	lock, err := safefile.Acquire(context.Background(), filepath.Join(dir, ".lock"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := open(t, dir).Put(ctx, day, binding("G2", "make")); !errors.Is(err, safefile.ErrHeld) {
		t.Error(err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	put(t, dir, binding("G2", "make"))
}

func TestPruneVersions(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	for i := range store.MaxVersions {
		put(t, dir, binding("G1", fmt.Sprintf("make %d", i)))
		file := newest(t, dir)
		at := day.Add(time.Duration(i) * time.Minute)
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	put(t, dir, binding("G2", "make"), binding("G1", "make last"))
	if n := len(records(t, dir)); n != store.MaxVersions+1 {
		t.Errorf("%d records", n)
	}
	for check, want := range map[string]bool{"make 0": false, "make 1": true, "make last": true} {
		if l := lookup(t, dir, binding("G1", check)); l.Approved != want {
			t.Errorf("%s: %+v", check, l)
		}
	}
}

// newest returns the record that was written last.
func newest(t *testing.T, dir string) string {
	t.Helper()
	files := records(t, dir)
	sort.Slice(files, func(i, j int) bool {
		a, errA := os.Stat(files[i])
		b, errB := os.Stat(files[j])
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		return a.ModTime().After(b.ModTime())
	})
	return files[0]
}

// TestIDs: any edit of what is bound gives another record, any text survives.
func TestIDs(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s := open(t, dir)
	text := rapid.StringMatching(`[a-z<>&"\\é𝄞\x{2028} /:]{0,8}`)
	seen := map[string]string{}
	rapid.Check(t, func(t *rapid.T) {
		b := binding("G1", "x"+text.Draw(t, "check"))
		b.Path, b.Timeout = text.Draw(t, "path"), rapid.IntRange(1, 9).Draw(t, "timeout")
		b.Ledger += text.Draw(t, "ledger")
		ids, err := s.Put(context.Background(), day, b)
		if err != nil {
			t.Fatal(err)
		}
		key := fmt.Sprintf("%q %q %d %q", *b.Oracle.Check, b.Path, b.Timeout, b.Ledger)
		if other, ok := seen[ids[0]]; ok && other != key {
			t.Fatalf("%s and %s share a record", other, key)
		}
		seen[ids[0]] = key
		if l, err := s.Lookup(b); err != nil || !l.Approved {
			t.Fatalf("%s: %+v %v", key, l, err)
		}
	})
}
