package scope

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gatesworn/gatesworn/internal/safefile"
	"github.com/google/go-cmp/cmp"
)

// tree makes files (a trailing slash makes a folder) with some content in a fresh folder.
func tree(t testing.TB, names ...string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		write(t, root, n, "- [ ] G1: x\n")
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

func paths(ls []Ledger) []string {
	var out []string
	for _, l := range ls {
		p := l.Path
		if l.Standing {
			p = "standing:" + p
		}
		out = append(out, p)
	}
	return out
}

func TestDiscoverOrder(t *testing.T) {
	t.Parallel()
	two := []string{"GATES.md", ".unlazy/a/GATES.md", ".unlazy/a/gates/z.md", ".unlazy/a/gates/b.md", ".unlazy/a/gates/n.txt", ".unlazy/b/gates/leaf-1.md", ".unlazy/locks/"}
	tests := []struct {
		name  string
		files []string
		o     Options
		how   How
		scope string
		want  []string
		err   string
	}{
		{"nothing", nil, Options{}, 0, "", nil, "no ledger found"},
		{"conventional", []string{"GATES.md", "gates/b.md", "gates/a.md", "gates/a.go", "gates/sub/c.md"}, Options{}, Conventional, "", []string{"GATES.md", "gates/a.md", "gates/b.md"}, ""},
		{"a folder with a ledger's name is listed", []string{"gates/x.md/"}, Options{}, Conventional, "", []string{"gates/x.md"}, ""},
		{"only locks is no scope", []string{"GATES.md", ".unlazy/locks/", ".unlazy/-bad/", ".unlazy/file"}, Options{}, Conventional, "", []string{"GATES.md"}, ""},
		{"sole scope wins over GATES.md", []string{"GATES.md", ".unlazy/a/GATES.md"}, Options{}, Sole, "a", []string{".unlazy/a/GATES.md"}, ""},
		{"never guessed", two, Options{}, 0, "", nil, "2 scopes are present (a, b); name one with --scope"},
		{"named", two, Options{Scope: "a", Env: "b"}, Named, "a", []string{".unlazy/a/GATES.md", ".unlazy/a/gates/b.md", ".unlazy/a/gates/z.md"}, ""},
		{"environment", two, Options{Env: "b"}, Environment, "b", []string{".unlazy/b/gates/leaf-1.md"}, ""},
		{"explicit wins", two, Options{Files: []string{"GATES.md", "./GATES.md", "other.md"}, Scope: "a"}, Explicit, "", []string{"GATES.md", "other.md"}, ""},
		{"unknown", two, Options{Scope: "c"}, 0, "", nil, `no scope "c" under .unlazy (have: a, b)`},
		{"unknown, none there", nil, Options{Scope: "c"}, 0, "", nil, `no scope "c" under .unlazy (have: none)`},
		{"traversal", two, Options{Scope: ".."}, 0, "", nil, "not a valid name"},
		{"locks", two, Options{Env: "locks"}, 0, "", nil, "folder of locks"},
		{"empty scope", []string{".unlazy/a/"}, Options{}, Sole, "a", nil, "no ledger found: looked for .unlazy/a/GATES.md"},
		{"outside", two, Options{Files: []string{"../x.md"}}, 0, "", nil, "lies outside"},
		{"the root itself", two, Options{Files: []string{"."}}, 0, "", nil, "is a folder"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Discover(tree(t, tt.files...), tt.o)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, want %q", err, tt.err)
				}
				return
			}
			must(t, err)
			if got.How != tt.how || got.Scope != tt.scope {
				t.Errorf("how %d scope %q, want %d %q", got.How, got.Scope, tt.how, tt.scope)
			}
			if d := cmp.Diff(tt.want, paths(got.Ledgers)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestDiscoverErrorsHaveTypes(t *testing.T) {
	t.Parallel()
	root := tree(t, ".unlazy/a/GATES.md", ".unlazy/b/GATES.md")
	_, err := Discover(root, Options{})
	if e := new(AmbiguousError); !errors.As(err, &e) || cmp.Diff([]string{"a", "b"}, e.Scopes) != "" {
		t.Errorf("got %v", err)
	}
	_, err = Discover(root, Options{Scope: "x"})
	if e := new(UnknownError); !errors.As(err, &e) {
		t.Errorf("got %v", err)
	}
	_, err = Discover(root, Options{Scope: "a/b"})
	if e := new(IDError); !errors.As(err, &e) {
		t.Errorf("got %v", err)
	}
	_, err = Discover(root, Options{Files: []string{filepath.Join(root, "..", "x")}})
	if !errors.Is(err, safefile.ErrOutside) {
		t.Errorf("got %v", err)
	}
	got, err := Discover(tree(t, ".unlazy/a/"), Options{})
	if !errors.Is(err, ErrNone) || got.Scope != "a" {
		t.Errorf("got %v %v", got, err)
	}
}

func TestDiscoverRefusesLinks(t *testing.T) {
	t.Parallel()
	other := tree(t, "s/GATES.md", "gates/a.md", "a.md")
	tests := []struct {
		name  string
		files []string
		link  string // name of the link
		to    string
		o     Options
	}{
		{".unlazy", nil, ".unlazy", ".", Options{}},
		{"named scope", []string{".unlazy/a/GATES.md"}, ".unlazy/b", "s", Options{Scope: "b"}},
		{"gates of a scope", []string{".unlazy/a/GATES.md"}, ".unlazy/a/gates", "gates", Options{}},
		{"gates", nil, "gates", "gates", Options{}},
		{"policy folder", nil, "gates", "gates", Options{Policy: &Policy{Tasks: []string{"gates/*.md"}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root := tree(t, tt.files...)
			link(t, filepath.Join(other, tt.to), filepath.Join(root, filepath.FromSlash(tt.link)))
			_, err := Discover(root, tt.o)
			if e := new(UnsafeError); !errors.As(err, &e) {
				t.Fatalf("got %v", err)
			}
		})
	}
	t.Run("a linked scope is not listed, a linked ledger is", func(t *testing.T) {
		t.Parallel()
		root := tree(t, ".unlazy/a/gates/", "x")
		link(t, filepath.Join(other, "s"), filepath.Join(root, ".unlazy", "b"))
		link(t, filepath.Join(other, "a.md"), filepath.Join(root, ".unlazy", "a", "gates", "l.md"))
		link(t, "nowhere", filepath.Join(root, ".unlazy", "a", "GATES.md"))
		got, err := Discover(root, Options{})
		must(t, err)
		if d := cmp.Diff([]string{".unlazy/a/GATES.md", ".unlazy/a/gates/l.md"}, paths(got.Ledgers)); d != "" {
			t.Error(d)
		}
	})
}

func TestDiscoverByPolicy(t *testing.T) {
	t.Parallel()
	root := tree(t, "GATES.md", "docs/a/GATES.md", "docs/b/x/GATES.md", "tasks/one.md", "tasks/two.txt", "tasks/dir.md/", "tasks/sub/deep.md", ".git/GATES.md", "sub/")
	tests := []struct {
		name    string
		p       Policy
		want    []string
		missing []string
		err     bool
	}{
		{"standing and tasks", Policy{Ledgers: []string{"GATES.md"}, Tasks: []string{"tasks/*.md"}}, []string{"standing:GATES.md", "tasks/dir.md", "tasks/one.md"}, nil, false},
		{"deep", Policy{Ledgers: []string{"**/GATES.md"}}, []string{"standing:GATES.md", "standing:docs/a/GATES.md", "standing:docs/b/x/GATES.md"}, nil, false},
		{"one level", Policy{Ledgers: []string{"docs/*/GATES.md"}}, []string{"standing:docs/a/GATES.md"}, nil, false},
		{"both kinds is standing", Policy{Ledgers: []string{"tasks/one.md"}, Tasks: []string{"tasks/o*"}}, []string{"standing:tasks/one.md"}, nil, false},
		{"missing standing ledger", Policy{Ledgers: []string{"GONE.md", "none/*.md"}, Tasks: []string{"gone/x.md"}}, nil, []string{"GONE.md"}, false},
		{"braces", Policy{Ledgers: []string{"{a,b}.md"}}, nil, nil, true},
		{"absolute", Policy{Ledgers: []string{"/GATES.md"}}, nil, nil, true},
		{"upwards", Policy{Tasks: []string{"../GATES.md"}}, nil, nil, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Discover(root, Options{Policy: &tt.p})
			if (err != nil) != tt.err {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, paths(got.Ledgers)); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(tt.missing, got.Missing); d != "" {
				t.Error(d)
			}
		})
	}
	t.Run("empty policy", func(t *testing.T) {
		t.Parallel()
		if _, err := Discover(root, Options{Policy: &Policy{}}); !errors.Is(err, ErrNone) {
			t.Fatal(err)
		}
	})
	t.Run("explicit ledgers keep their kind; paths are relative to the top", func(t *testing.T) {
		t.Parallel()
		got, err := Discover(filepath.Join(root, "sub"), Options{Top: root, Files: []string{"../GATES.md", filepath.Join(root, "tasks", "one.md")}, Policy: &Policy{Ledgers: []string{"GATES.md"}}})
		must(t, err)
		if d := cmp.Diff([]string{"standing:GATES.md", "tasks/one.md"}, paths(got.Ledgers)); d != "" {
			t.Error(d)
		}
	})
}

func TestDiscoverBelowTop(t *testing.T) {
	t.Parallel()
	root := tree(t, "sub/.unlazy/a/GATES.md", "sub/.unlazy/a/gates/x.md")
	got, err := Discover(filepath.Join(root, "sub"), Options{Top: root})
	must(t, err)
	if d := cmp.Diff([]string{"sub/.unlazy/a/GATES.md", "sub/.unlazy/a/gates/x.md"}, paths(got.Ledgers)); d != "" {
		t.Error(d)
	}
	if _, err := Discover(root, Options{Top: filepath.Join(root, "sub")}); !errors.Is(err, safefile.ErrOutside) {
		t.Errorf("a root above the top: %v", err)
	}
}

func TestDiscoverThroughAnAlias(t *testing.T) {
	t.Parallel()
	root := tree(t, "GATES.md")
	alias := filepath.Join(tree(t), "alias")
	link(t, root, alias)
	got, err := Discover(alias, Options{Top: root, Files: []string{"GATES.md"}})
	must(t, err)
	if d := cmp.Diff([]string{"GATES.md"}, paths(got.Ledgers)); d != "" {
		t.Error(d)
	}
}

func TestStem(t *testing.T) {
	t.Parallel()
	if got := (Ledger{Path: ".unlazy/a/gates/leaf-x.md"}).Stem(); got != "leaf-x" {
		t.Error(got)
	}
}

func TestUnreadableFolders(t *testing.T) {
	t.Parallel()
	root := tree(t, ".unlazy/a/gates")
	if _, err := Discover(root, Options{}); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("gates as a file: %v", err)
	}
}
