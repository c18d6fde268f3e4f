package approval_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gatesworn/gatesworn/approval"
)

// tree is a hand-written Tree: path to content, a mode before "|" where it is
// not 100644, and an error a blob.
type tree map[string]string

var errBlob = errors.New("object is damaged")

func (t tree) Entries() []approval.Entry {
	entries := make([]approval.Entry, 0, len(t))
	for path, content := range t {
		mode, data := approval.ModeFile, content
		if m, d, ok := strings.Cut(content, "|"); ok && len(m) == 6 {
			mode, data = m, d
		}
		entries = append(entries, approval.Entry{Path: path, Mode: mode, OID: strings.TrimPrefix(approval.Digest([]byte(data)), "sha256:")})
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].Path < entries[j].Path })
	return entries
}

func (t tree) Blob(e approval.Entry) ([]byte, error) {
	content := t[e.Path]
	if content == "ERROR" {
		return nil, errBlob
	}
	if m, d, ok := strings.Cut(content, "|"); ok && len(m) == 6 {
		content = d
	}
	return []byte(content), nil
}

func (t tree) with(changes tree) tree {
	all := tree{}
	for p, c := range t {
		all[p] = c
	}
	for p, c := range changes {
		if c == "-" {
			delete(all, p)
		} else {
			all[p] = c
		}
	}
	return all
}

func TestBind(t *testing.T) {
	t.Parallel()
	files := tree{
		"run.sh": "100755|#!/bin/sh\n", "scripts/a.sh": "a", "scripts/b.sh": "b", "scripts/.hidden.sh": "h", "scripts/sub/c.sh": "c",
		"Scripts/a.sh": "A", "link": "120000|scripts", "vendor/lib": "160000|x", "caf\u00e9": "nfc", "cafe\u0301": "nfd",
		"docs/[x].md": "x", "bad/\xff.sh": "x", "odd/fifo": "010000|x", "broken/x": "ERROR",
	}
	tests := []struct {
		patterns string
		want     string // paths, or part of the error
	}{
		{"", ""},
		{"run.sh", "run.sh"},
		{"./run.sh", "error: \".\" or \"..\""},
		{"scripts/*.sh", "scripts/.hidden.sh scripts/a.sh scripts/b.sh"},
		{"scripts/**", "scripts/.hidden.sh scripts/a.sh scripts/b.sh scripts/sub/c.sh"},
		{"scripts/**/*.sh", "scripts/.hidden.sh scripts/a.sh scripts/b.sh scripts/sub/c.sh"},
		{"scripts/[ab].sh", "scripts/a.sh scripts/b.sh"},
		{"scripts/b.sh,run.sh,scripts/*.sh", "run.sh scripts/.hidden.sh scripts/a.sh scripts/b.sh"},
		{"Scripts/*", "Scripts/a.sh"},
		{"SCRIPTS/a.sh", "error: matches no file"},
		{"scripts", "error: matches no file"},
		{"run.sh/**", "error: matches no file"},
		{"link/**", "error: goes through the symbolic link"},
		{"run.sh,missing", "error: INPUTS \"missing\" matches no file"},
		{"[sS]cripts/a.sh", "error: which are one file on some machines"},
		{"caf*", "error: which are one file on some machines"},
		{"caf\u00e9", "caf\u00e9"},
		{"link", "error: matches the symbolic link \"link\""},
		{"link/a.sh", "error: goes through the symbolic link \"link\""},
		{"l*/a.sh", "error: goes through the symbolic link \"link\""},
		{"**/a.sh", "error: reaches into the submodule \"vendor/lib\""},
		{"vendor/**", "error: reaches into the submodule"},
		{"vendor/lib/x.go", "error: INPUTS: vendor/lib binds its commit"},
		{"vendor/lib", "vendor/lib"},
		{"vendor/l*", "vendor/lib"},
		{"bad/*", "error: not UTF-8"},
		{"odd/*", "error: no regular file"},
		{"broken/x", "error: object is damaged"},
		{`docs/\[x\].md`, "docs/[x].md"},
		{"docs/[x.md", "error: not a valid glob"},
		{"{run,go}.sh", "error: braces"},
		{"/run.sh", "error: not relative"},
		{"../x", "error: \"..\" part"},
		{"scripts/", "error: write scripts/**"},
		{"scripts//a.sh", "error: has an empty"},
		{"a\xff", "error: not valid UTF-8"},
		{",", "error: empty pattern"},
	}
	for _, test := range tests {
		var patterns []string
		if test.patterns != "" {
			patterns = strings.Split(test.patterns, ",")
		}
		got, err := approval.Bind(files, patterns)
		if want, bad := strings.CutPrefix(test.want, "error: "); bad {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: got %v, %v; want error %q", test.patterns, got, err, want)
			}
			continue
		}
		var paths []string
		for _, f := range got {
			paths = append(paths, f.Path)
		}
		if err != nil || strings.Join(paths, " ") != test.want {
			t.Errorf("%q: got %v, %v; want %s", test.patterns, paths, err, test.want)
		}
	}
	got, err := approval.Bind(files, []string{"run.sh", "scripts/a.sh"})
	want := []approval.BoundFile{bound("run.sh", approval.ModeExecutable, "#!/bin/sh\n"), bound("scripts/a.sh", approval.ModeFile, "a")}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestBindLimits(t *testing.T) {
	t.Parallel()
	many := tree{}
	for i := range approval.MaxBoundFiles + 1 {
		many[fmt.Sprintf("f%d", i)] = ""
	}
	if _, err := approval.Bind(many, []string{"*"}); err == nil {
		t.Error("too many files are bound")
	}
}

// TestBindSorted: whatever the order of patterns, the files are the same.
func TestBindSorted(t *testing.T) {
	t.Parallel()
	files := tree{"a": "1", "b/a": "2", "b.c": "3", "b/c": "4"}
	rapid.Check(t, func(t *rapid.T) {
		patterns := rapid.Permutation([]string{"a", "b/*", "b.c", "*"}).Draw(t, "patterns")
		got, err := approval.Bind(files, patterns)
		if err != nil || len(got) != 4 {
			t.Fatal(got, err)
		}
		o := baseOracle()
		o.InputPatterns, o.Inputs = patterns, got
		if o.Validate() != nil {
			t.Fatal(o.Validate())
		}
	})
}

func TestResolveCWD(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ ledger, cwd, want string }{
		{"GATES.md", "", "."},
		{"GATES.md", "sub", "sub"},
		{"GATES.md", "./sub/", "sub"},
		{"GATES.md", "..", "error"},
		{"gates/a.md", "", "."},
		{"gates/x/a.md", "sub", "sub"},
		{".unlazy/s/GATES.md", "sub", "sub"},
		{"pkg/GATES.md", "", "pkg"},
		{"pkg/GATES.md", "sub", "pkg/sub"},
		{"pkg/GATES.md", "..", "."},
		{"pkg/GATES.md", "../..", "error"},
		{"pkg/gates/a.md", "", "pkg/gates"},
		{"gates.md", "", "."},
		{"GATES.md", "/etc", "error"},
		{"pkg/GATES.md", "../../pkg", "error"},
	} {
		got, err := approval.ResolveCWD(test.ledger, test.cwd)
		if (err != nil) != (test.want == "error") || err == nil && got != test.want {
			t.Errorf("%s %s: got %q, %v", test.ledger, test.cwd, got, err)
		}
	}
}

func TestCheckPath(t *testing.T) {
	t.Parallel()
	files := tree{"a/b/c": "x", "l": "120000|a", "a/l": "120000|b", "m": "160000|x", "le/f": "x"}
	for path, want := range map[string]string{
		"a/b": "", "a/b/c": "", "a/new": "", "l": "link \"l\"", "l/b": "link \"l\"", "a/l/c": "link \"a/l\"", "le": "", "m/x": "submodule \"m\"",
		"l/../a": "link \"l\"", "a/../l": "link \"l\"", "..": "leaves", "a/../../x": "leaves", "/a": "not relative", ".": "", "": "",
	} {
		err := approval.CheckPath(files, "CWD", path)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", path, err, want)
		}
	}
}

func write(t *testing.T, root, path, data string) {
	t.Helper()
	full := filepath.Join(root, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestWorkTree(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, "scripts/a.sh", "a")
	write(t, root, ".git/config", "x")
	write(t, root, "sub/.git", "gitdir: elsewhere")
	write(t, root, "sub/x", "x")
	if err := os.Symlink("scripts", filepath.Join(root, "link")); err != nil {
		t.Skip(err)
	}
	paths, err := approval.ListFolder(root)
	if err != nil {
		t.Fatal(err)
	}
	sort.Strings(paths)
	if diff := cmp.Diff([]string{"link", "scripts/a.sh", "sub/x"}, paths); diff != "" {
		t.Fatal(diff)
	}
	w, err := approval.NewWorkTree(root, append(paths, "gone", "sub"))
	if err != nil {
		t.Fatal(err)
	}
	if e := w.Entries(); len(e) != 4 || e[0].Mode != approval.ModeLink || e[1].Mode != approval.ModeFile || e[2].Mode != approval.ModeSubmodule {
		t.Fatalf("%+v", e)
	}
	got, err := approval.Bind(w, []string{"scripts/*"})
	if err != nil || len(got) != 1 || got[0] != bound("scripts/a.sh", approval.ModeFile, "a") {
		t.Fatal(got, err)
	}
	if _, err := approval.Bind(w, []string{"link/a.sh"}); err == nil {
		t.Error("a link on the way is followed")
	}
	if _, err := approval.ListFolder(filepath.Join(root, "nowhere")); err == nil {
		t.Error("a folder that is not there is listed")
	}
}

func TestUnchanged(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no executable bit and no links without rights")
	}
	head := strings.Repeat("ab", 20)
	inputs := []approval.BoundFile{
		bound("a.sh", approval.ModeFile, "a"), bound("dir/b.sh", approval.ModeExecutable, "b"),
		{Path: "m", Mode: approval.ModeSubmodule, SHA256: strings.TrimPrefix(approval.Digest([]byte(head)), "sha256:")},
	}
	steps := []struct {
		name string
		do   func(root string) error
		want string
	}{
		{"as it was", func(string) error { return nil }, ""},
		{"edited", func(r string) error { return os.WriteFile(r+"/a.sh", []byte("A"), 0o644) }, "a.sh differs"},
		{"gone", func(r string) error { return os.Remove(r + "/a.sh") }, "a.sh"},
		{"executable", func(r string) error { return os.Chmod(r+"/a.sh", 0o755) }, "a.sh has mode 100755"},
		{"not executable", func(r string) error { return os.Chmod(r+"/dir/b.sh", 0o644) }, "dir/b.sh has mode 100644"},
		{"a link", func(r string) error {
			return errors.Join(os.Rename(r+"/a.sh", r+"/real"), os.Symlink("real", r+"/a.sh"))
		}, "a.sh, which INPUTS binds"},
		{"a linked folder", func(r string) error {
			return errors.Join(os.Rename(r+"/dir", r+"/real"), os.Symlink("real", r+"/dir"))
		}, "dir/b.sh, which INPUTS binds"},
		{"a hard link", func(r string) error { return os.Link(r+"/a.sh", r+"/second") }, "a.sh, which INPUTS binds"},
		{"a folder", func(r string) error { return errors.Join(os.Remove(r+"/a.sh"), os.Mkdir(r+"/a.sh", 0o755)) }, "a.sh, which"},
		{"another commit", func(r string) error {
			return os.WriteFile(r+"/m/.git/refs/heads/x", []byte(strings.Repeat("cd", 20)+"\n"), 0o644)
		}, "submodule m is at another commit"},
		{"no HEAD", func(r string) error { return os.Remove(r + "/m/.git/HEAD") }, "submodule m"},
		{"not checked out", func(r string) error { return os.RemoveAll(r + "/m/.git") }, "not checked out"},
		{"a bare repository in its place", func(r string) error {
			return errors.Join(os.Rename(r+"/m/.git", r+"/n"), os.RemoveAll(r+"/m"), os.Rename(r+"/n", r+"/m"))
		}, "not checked out"},
		{"a .git file that says nothing", func(r string) error {
			return errors.Join(os.RemoveAll(r+"/m/.git"), os.WriteFile(r+"/m/.git", []byte("x"), 0o644))
		}, "submodule m"},
		{"a .git link", func(r string) error {
			return errors.Join(os.Rename(r+"/m/.git", r+"/n"), os.Symlink("../n", r+"/m/.git"))
		}, "submodule m"},
	}
	for _, s := range steps {
		root := t.TempDir()
		write(t, root, "a.sh", "a")
		write(t, root, "dir/b.sh", "b")
		write(t, root, "m/.git/HEAD", "ref: refs/heads/x\n")
		write(t, root, "m/.git/refs/heads/x", head+"\n")
		write(t, root, "m/.git/config", "[core]\n\trepositoryformatversion = 0\n")
		write(t, root, "m/.git/objects/info/x", "")
		if err := os.Chmod(filepath.Join(root, "dir/b.sh"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := s.do(root); err != nil {
			t.Fatal(s.name, err)
		}
		err := approval.Unchanged(root, inputs)
		if (err == nil) != (s.want == "") || err != nil && !strings.Contains(err.Error(), s.want) {
			t.Errorf("%s: got %v, want %q", s.name, err, s.want)
		}
	}
	if err := approval.Unchanged(t.TempDir(), nil); err != nil {
		t.Error(err)
	}
}
