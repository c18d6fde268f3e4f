package gitobj

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// history makes files that grow from commit to commit, so that gc makes deltas.
func history(r repoAt, commits int) {
	rnd := rand.New(rand.NewPCG(1, 2))
	lines := make([]string, 400)
	for i := range lines {
		lines[i] = fmt.Sprintf("line %d of a file %d", i, rnd.Int())
	}
	for i := range commits {
		for range 5 {
			lines[rnd.IntN(len(lines))] = fmt.Sprintf("changed %d %d", i, rnd.Int())
		}
		r.write("big.txt", strings.Join(lines, "\n"))
		r.write(fmt.Sprintf("dir/sub%d/f.txt", i), fmt.Sprint(i))
		r.commit(fmt.Sprintf("commit %d", i))
	}
}

// checkAll compares every object and the listing of every commit with git's answers.
func checkAll(t *testing.T, r repoAt) {
	t.Helper()
	g := r.open()
	n := 0
	for line := range strings.SplitSeq(strings.TrimSpace(r.git("cat-file", "--batch-all-objects", "--batch-check")), "\n") {
		f := strings.Fields(line)
		oid, err := ParseOID(f[0])
		if err != nil {
			t.Fatal(err)
		}
		kind, data, err := g.object(oid, MaxMeta)
		if err != nil {
			t.Fatal(err)
		}
		if kind != f[1] || fmt.Sprint(len(data)) != f[2] {
			t.Fatalf("%s: got %s of %d bytes", line, kind, len(data))
		}
		n++
		if kind != "commit" {
			continue
		}
		c, err := g.Commit(oid)
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		if err := g.Walk(context.Background(), c.Tree, func(e Entry) error {
			typ := "blob"
			if e.Mode == ModeSubmodule {
				typ = "commit"
			}
			_, err := fmt.Fprintf(&got, "%s %s %s\t%s\n", e.Mode, typ, e.OID, e.Path)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(r.git("ls-tree", "-r", oid.String()), got.String()); d != "" {
			t.Fatal(d)
		}
	}
	if n == 0 {
		t.Fatal("no objects")
	}
}

func TestObjects(t *testing.T) {
	t.Parallel()
	eachFormat(t, func(t *testing.T, format string) {
		r := newRepo(t, format)
		history(r, 12)
		r.git("tag", "-a", "-m", "a tag", "v1")
		checkAll(t, r) // loose
		r.git("-c", "pack.depth=50", "gc", "-q", "--aggressive", "--prune=now")
		if out := r.git("count-objects", "-v"); !strings.Contains(out, "count: 0\n") {
			t.Fatal(out)
		}
		checkAll(t, r) // one pack with deltas by offset
		history(r, 3)
		r.git("-c", "repack.useDeltaBaseOffset=false", "repack", "-q", "-d")
		history(r, 1)
		checkAll(t, r) // two packs and loose objects
		r.git("-c", "repack.useDeltaBaseOffset=false", "repack", "-q", "-a", "-d", "-f", "--depth=50")
		r.git("multi-pack-index", "write")
		checkAll(t, r) // deltas by name, a multi-pack index beside
		if g := r.open(); g.Format().String() != format {
			t.Fatal(g.Format())
		}
	})
}

func TestLargeOffsetsInIndex(t *testing.T) {
	t.Parallel()
	eachFormat(t, func(t *testing.T, format string) {
		r := newRepo(t, format)
		history(r, 3)
		r.git("repack", "-q", "-a", "-d")
		packs, _ := filepath.Glob(r.path(".git/objects/pack/*.pack"))
		if len(packs) != 1 {
			t.Fatal(packs)
		}
		idx := strings.TrimSuffix(packs[0], ".pack") + ".idx"
		if err := os.Remove(idx); err != nil {
			t.Fatal(err)
		}
		r.git("index-pack", "--index-version=2,0x20", "-o", idx, packs[0])
		checkAll(t, r)
		if err := os.Remove(idx); err != nil {
			t.Fatal(err)
		}
		r.git("index-pack", "--index-version=1", "-o", idx, packs[0])
		g := r.open()
		if _, err := g.Commit(r.oid("HEAD")); !errors.Is(err, ErrUnsupported) {
			t.Fatalf("index version 1: %v", err)
		}
	})
}

func TestCommit(t *testing.T) {
	t.Parallel()
	eachFormat(t, func(t *testing.T, format string) {
		r := newRepo(t, format)
		r.write("a", "1")
		first := r.commit("first")
		r.git("checkout", "-q", "-b", "side")
		r.write("b", "1")
		side := r.commit("side")
		r.git("checkout", "-q", "main")
		r.write("c", "1")
		main := r.commit("main")
		r.git("merge", "-q", "--no-ff", "-m", "merged\n\nbody", "side")
		r.git("tag", "-a", "-m", "x", "v1")
		r.git("tag", "-a", "-m", "x", "v2", "v1")
		g := r.open()
		head, err := g.Head()
		if err != nil {
			t.Fatal(err)
		}
		c, err := g.Commit(head.OID)
		if err != nil {
			t.Fatal(err)
		}
		if head.Name != "refs/heads/main" || c.Tree != r.oid("HEAD^{tree}") || c.Message != "merged\n\nbody\n" {
			t.Fatalf("%+v %+v", head, c)
		}
		if len(c.Parents) != 2 || c.Parents[0] != main || c.Parents[1] != side {
			t.Fatal(c.Parents)
		}
		if c.Author.Name != "Ada" || c.Author.Email != "ada@example.org" || c.Committer.Name != "Bob" ||
			c.Author.When.Format(time.RFC3339) != "2023-11-14T23:43:20+01:30" {
			t.Fatalf("%+v", c)
		}
		tag, err := g.ResolveRef("refs/tags/v2")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.Commit(tag.OID); !errors.Is(err, ErrNotFound) {
			t.Fatalf("a tag is no commit: %v", err)
		}
		if p, err := g.Peel(tag.OID); err != nil || p.OID != head.OID {
			t.Fatal(p, err)
		}
		if c, err := g.Commit(first); err != nil || len(c.Parents) != 0 {
			t.Fatal(c, err)
		}
	})
}

func TestLookupAndBlob(t *testing.T) {
	t.Parallel()
	r := newRepo(t, "sha256")
	r.write("d/e/f.txt", "hello")
	r.write("d.txt", "x")
	r.commit("c")
	g := r.open()
	tree := r.oid("HEAD^{tree}")
	e, err := g.Lookup(tree, "d/e/f.txt")
	if err != nil || e.Path != "d/e/f.txt" || e.Mode.String() != "100644" {
		t.Fatal(e, err)
	}
	data, err := g.Blob(e.OID, 5)
	if err != nil || string(data) != "hello" || g.HashBlob(data) != e.OID {
		t.Fatal(data, err)
	}
	if _, err := g.Blob(e.OID, 4); !errors.Is(err, ErrLimit) {
		t.Fatal(err)
	}
	if _, err := g.Blob(tree, 400); !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
	for _, p := range []string{"d/x", "d/e/f.txt/g", "", "d/", "/d", "d/../d.txt", "nope"} {
		if _, err := g.Lookup(tree, p); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %v", p, err)
		}
	}
	if e, err := g.Lookup(tree, "d/e"); err != nil || e.Mode != ModeTree {
		t.Fatal(e, err)
	}
	other := SHA1.HashBlob(nil)
	if _, err := g.Blob(other, 10); !errors.Is(err, ErrName) {
		t.Fatal(err)
	}
}

func TestWorktreesSubmodulesBare(t *testing.T) {
	t.Parallel()
	eachFormat(t, func(t *testing.T, format string) {
		r := newRepo(t, format)
		r.write("a", "1")
		r.commit("c")
		sub := newRepo(t, format)
		sub.write("in/sub", "s")
		sub.commit("s")
		r.git("submodule", "add", "-q", sub.dir, "mod")
		head := r.commit("with a submodule")

		linked := filepath.Join(filepath.Dir(r.dir), "linked")
		r.git("worktree", "add", "-q", "-b", "work", linked)
		repoAt{t, linked}.write("b", "2")
		second := repoAt{t, linked}.commit("in the linked tree")
		w, err := Open(linked)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if h, err := w.Head(); err != nil || h.OID != second || h.Name != "refs/heads/work" || w.Top() != linked {
			t.Fatal(h, err)
		}
		if h, err := r.open().Head(); err != nil || h.OID != head {
			t.Fatal(h, err)
		}
		if m, err := Open(r.path("mod")); err != nil {
			t.Fatal(err)
		} else if h, err := m.Head(); err != nil || h.OID != sub.oid("HEAD") {
			t.Fatal(h, err)
		}
		checkAll(t, repoAt{t, r.path("mod")})

		bare := filepath.Join(filepath.Dir(r.dir), "bare.git")
		r.git("clone", "-q", "--bare", r.dir, bare)
		b, err := Open(bare)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		if h, err := b.Head(); err != nil || h.OID != head || b.Top() != "" {
			t.Fatal(h, err)
		}
		if _, err := b.Compare(context.Background(), nil, CompareOptions{}); !errors.Is(err, ErrUnsupported) {
			t.Fatal(err)
		}
	})
}

func TestFindAndOpenErrors(t *testing.T) {
	t.Parallel()
	r := newRepo(t, "sha1")
	r.write("a/b/c", "1")
	if top, err := Find(r.path("a/b")); err != nil || top != r.dir {
		t.Fatal(top, err)
	}
	if _, err := Find("relative"); !errors.Is(err, ErrName) {
		t.Fatal(err)
	}
	if _, err := Open("relative"); !errors.Is(err, ErrName) {
		t.Fatal(err)
	}
	if _, err := Open(r.path("a")); !errors.Is(err, ErrNoRepo) {
		t.Fatal(err)
	}
	if _, err := r.open().Head(); !errors.Is(err, ErrNotFound) {
		t.Fatalf("unborn: %v", err)
	}
	for name, config := range map[string]string{
		"unknown extension": "[core]\nrepositoryformatversion = 1\n[extensions]\nfrobnicate = true\n",
		"version 2":         "[core]\nrepositoryformatversion = 2\n",
		"format in v0":      "[core]\nrepositoryformatversion = 0\n[extensions]\nobjectformat = sha256\n",
		"unknown hash":      "[core]\nrepositoryformatversion = 1\n[extensions]\nobjectformat = md5\n",
		"reftable":          "[core]\nrepositoryformatversion = 1\n[extensions]\nrefstorage = reftable\n",
	} {
		r.write(".git/config", config)
		if _, err := Open(r.dir); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	r.write(".git/config", "[core\n")
	if _, err := Open(r.dir); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
	for _, bad := range []string{"", "gitdir:x", "gitdir: \n", "gitdir: a\nb", "nonsense", strings.Repeat("x", 5000)} {
		dir := tempDir(t)
		if err := os.WriteFile(filepath.Join(dir, ".git"), []byte(bad), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir); !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrLimit) {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
	dir := tempDir(t)
	if err := os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: ../nowhere\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); !errors.Is(err, ErrNoRepo) {
		t.Error(err)
	}
}

func TestReplaceGraftsAlternates(t *testing.T) {
	t.Parallel()
	eachFormat(t, func(t *testing.T, format string) {
		r := newRepo(t, format)
		r.write("a", "good\n")
		one := r.commit("one")
		r.write("a", "evil\n")
		two := r.commit("two")
		good, evil := r.oid(one.String()+":a"), r.oid(two.String()+":a")
		r.git("replace", good.String(), evil.String())
		r.git("replace", two.String(), one.String())
		r.write(".git/info/grafts", two.String()+"\n")
		g := r.open()
		if data, err := g.Blob(good, 100); err != nil || string(data) != "good\n" {
			t.Fatalf("replaced blob: %q %v", data, err)
		}
		c, err := g.Commit(two)
		if err != nil || c.Message != "two\n" || len(c.Parents) != 1 {
			t.Fatalf("replaced or grafted commit: %+v %v", c, err)
		}
		borrower := filepath.Join(filepath.Dir(r.dir), "borrower")
		r.git("clone", "-q", "--shared", r.dir, borrower)
		b := repoAt{t, borrower}.open()
		_, err = b.Commit(two)
		var missing *MissingError
		if !errors.As(err, &missing) || !missing.Alternates || !errors.Is(err, ErrNotFound) {
			t.Fatalf("borrowed object: %v", err)
		}
		if !strings.Contains(err.Error(), "git repack -ad") {
			t.Fatal(err)
		}
		repoAt{t, borrower}.git("repack", "-q", "-a", "-d")
		if _, err := b.Commit(two); err != nil {
			t.Fatalf("after repacking, which the open repository must notice: %v", err)
		}
	})
}

func TestShallow(t *testing.T) {
	t.Parallel()
	r := newRepo(t, "sha1")
	first := r.commit("one")
	r.commit("two")
	r.git("clone", "-q", "--depth=1", "file://"+filepath.ToSlash(r.dir), "../shallow")
	s := repoAt{t, filepath.Join(filepath.Dir(r.dir), "shallow")}
	_, err := s.open().Commit(first)
	var missing *MissingError
	if !errors.As(err, &missing) || !missing.Shallow || !strings.Contains(err.Error(), "--unshallow") {
		t.Fatal(err)
	}
}

// An object stored under another object's name, or damaged in any byte, is refused.
func TestTamperedLoose(t *testing.T) {
	t.Parallel()
	eachFormat(t, func(t *testing.T, format string) {
		r := newRepo(t, format)
		r.write("a", "good\n")
		r.write("b", "evil\n")
		r.commit("c")
		file := func(o OID) string {
			return r.path(".git/objects/" + o.String()[:2] + "/" + o.String()[2:])
		}
		good, evil := r.oid("HEAD:a"), r.oid("HEAD:b")
		original, err := os.ReadFile(file(good))
		if err != nil {
			t.Fatal(err)
		}
		swap := func(data []byte) error {
			os.Remove(file(good))
			if err := os.WriteFile(file(good), data, 0o444); err != nil {
				t.Fatal(err)
			}
			_, err := r.open().Blob(good, 1<<20)
			return err
		}
		other, _ := os.ReadFile(file(evil))
		if err := swap(other); !errors.Is(err, ErrCorrupt) {
			t.Errorf("another object's bytes: %v", err)
		}
		for i := range original {
			bad := bytes.Clone(original)
			bad[i] ^= 0x40
			if err := swap(bad); err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrLimit) {
				t.Errorf("byte %d flipped: %v", i, err)
			}
			if err := swap(original[:i]); !errors.Is(err, ErrCorrupt) {
				t.Errorf("cut to %d bytes: %v", i, err)
			}
		}
		if err := swap(original); err != nil {
			t.Fatal(err)
		}
	})
}
