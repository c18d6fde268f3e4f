package gitobj

import (
	"errors"
	"strings"
	"testing"
)

func TestRefs(t *testing.T) {
	t.Parallel()
	eachFormat(t, func(t *testing.T, format string) {
		r := newRepo(t, format)
		one := r.commit("one")
		two := r.commit("two")
		r.git("branch", "old", one.String())
		r.git("branch", "a/b", one.String())
		r.git("update-ref", "refs/remotes/origin/main", one.String())
		r.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
		r.git("update-ref", "refs/tags/main", one.String())            // a tag called like the branch
		r.git("update-ref", "refs/tags/refs/heads/main", one.String()) // and one like its full name
		r.git("update-ref", "refs/heads/origin/main", one.String())    // and a branch like the remote's
		for _, packed := range []bool{false, true} {
			if packed {
				r.git("pack-refs", "--all")
			}
			g := r.open()
			for name, want := range map[string]OID{
				"refs/heads/main": two, "refs/heads/old": one, "refs/heads/a/b": one, "refs/tags/main": one,
				"refs/remotes/origin/HEAD": one, "HEAD": two, "refs/tags/refs/heads/main": one,
			} {
				if ref, err := g.ResolveRef(name); err != nil || ref.OID != want {
					t.Errorf("packed %v: %s: %v %v", packed, name, ref, err)
				}
			}
			for _, name := range []string{"refs/heads/a", "refs/heads/mai", "refs/heads/nope", "refs/heads/main/x", "refs/heads"} {
				if _, err := g.ResolveRef(name); !errors.Is(err, ErrNotFound) {
					t.Errorf("packed %v: %s: %v", packed, name, err)
				}
			}
			if ref, err := g.Default(); err != nil || ref.Name != "refs/remotes/origin/main" || ref.OID != one {
				t.Error(ref, err)
			}
		}
		// A loose ref hides the packed one.
		r.git("update-ref", "refs/heads/old", two.String())
		if ref, err := r.open().ResolveRef("refs/heads/old"); err != nil || ref.OID != two {
			t.Error(ref, err)
		}
	})
}

func TestResolveName(t *testing.T) {
	t.Parallel()
	r := newRepo(t, "sha1")
	one := r.commit("one")
	two := r.commit("two")
	r.git("update-ref", "refs/tags/main", one.String())
	r.git("update-ref", "refs/tags/v1", one.String())
	r.git("update-ref", "refs/remotes/origin/main", one.String())
	r.git("update-ref", "refs/remotes/origin/same", one.String())
	r.git("update-ref", "refs/heads/origin/same", one.String())
	r.git("update-ref", "refs/remotes/origin/twice", one.String())
	r.git("update-ref", "refs/heads/origin/twice", two.String())
	g := r.open()
	for name, want := range map[string]OID{
		"main": two, "origin/main": one, "refs/tags/v1": one, "HEAD": two, one.String(): one, "origin/same": one,
	} {
		if ref, err := g.ResolveName(name); err != nil || ref.OID != want {
			t.Errorf("%s: %v %v", name, ref, err)
		}
	}
	for name, want := range map[string]error{
		"v1": ErrNotFound, "origin/twice": ErrAmbiguous, one.String()[:10]: ErrNotFound, "main~1": ErrName,
		"": ErrName, "../main": ErrName, "refs/../x": ErrName, "@{-1}": ErrName, "a b": ErrName, "-": ErrNotFound,
	} {
		if ref, err := g.ResolveName(name); !errors.Is(err, want) {
			t.Errorf("%q: %v %v, want %v", name, ref, err, want)
		}
	}
}

func TestHostileRefs(t *testing.T) {
	t.Parallel()
	r := newRepo(t, "sha1")
	id := r.commit("c").String()
	r.write(".git/refs/heads/loop", "ref: refs/heads/loop\n")
	r.write(".git/refs/heads/out", "ref: ../../etc/passwd\n")
	r.write(".git/refs/heads/dots", "ref: refs/heads/../../config\n")
	r.write(".git/refs/heads/short", id[:39]+"\n")
	r.write(".git/refs/heads/two", id+"\n"+id+"\n")
	r.write(".git/refs/heads/long", strings.Repeat(id, 200))
	r.write(".git/refs/heads/other", id+strings.Repeat("0", 24)+"\n")
	r.write(".git/refs/heads/empty", "")
	r.write(".git/packed-refs", "# pack-refs with: peeled\n"+id+" refs/heads/p\n^"+id+"\n"+
		strings.Repeat("z", 40)+" refs/heads/q\n# x refs/heads/comment\n")
	g := r.open()
	for name, want := range map[string]error{
		"loop": ErrLimit, "out": ErrCorrupt, "dots": ErrName, "short": ErrCorrupt, "two": ErrCorrupt, "long": ErrLimit,
		"other": ErrCorrupt, "empty": ErrCorrupt, "q": ErrCorrupt, "comment": ErrNotFound,
	} {
		if ref, err := g.ResolveRef("refs/heads/" + name); !errors.Is(err, want) {
			t.Errorf("%s: %v %v, want %v", name, ref, err, want)
		}
	}
	if ref, err := g.ResolveRef("refs/heads/p"); err != nil || ref.OID.String() != id {
		t.Error(ref, err)
	}
	for _, name := range []string{
		"main", "heads/main", "refs/heads/", "refs//heads", "refs/heads/a..b", "refs/heads/.a", "refs/heads/a.lock",
		"refs/heads/a b", "refs/heads/a\x00", "refs/heads/a~1", "refs/heads/a:b", `refs/heads/a\b`, "refs/heads/a.",
		"refs/heads/@{u}", "head", "FETCH_HEAD", "/refs/heads/main",
	} {
		if _, err := g.ResolveRef(name); !errors.Is(err, ErrName) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	r := newRepo(t, "sha1")
	text := "# c\n[core]\n\trepositoryformatversion = 0\n[remote \"origin\"] url = \"a b\" ; c\n" +
		"[Remote \"Origin\"]\n URL=second # x\n[a.B]\n k = v\\\n w\n esc = \"x\\t\\\"y\\\\ # z\"  \n bare\n[e \"q\\\"q\"]\nx=1\r\n" +
		"[user]\n\tsigningkey = ~/.ssh/id  \n empty =\n"
	c, err := ParseConfig([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	r.write(".git/config", text)
	for _, key := range []string{"remote.origin.url", "remote.Origin.url", "a.b.k", "a.b.esc", `e.q"q.x`, "user.signingkey", "user.empty"} {
		want := strings.TrimSuffix(r.git("config", "--get", key), "\n")
		if got, ok := c.Get(key); !ok || got != want {
			t.Errorf("%s: %q %v, git says %q", key, got, ok, want)
		}
	}
	if v, ok := c.Get("a.b.bare"); !ok || v != "true" {
		t.Error(v, ok)
	}
	for _, key := range []string{"a.b.nope", "core", "", "remote.x.url"} {
		if v, ok := c.Get(key); ok {
			t.Errorf("%s: %q", key, v)
		}
	}
	for _, bad := range []string{"x = 1", "[a\n", "[a \"b\n\"]", "[a \"b\" c]", "[a]\n k = \"x\n", "[a]\nk = \\q", "[a]\nk v", "[a b]", "[a!]"} {
		if _, err := ParseConfig([]byte(bad)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := ParseConfig(make([]byte, maxConfig+1)); !errors.Is(err, ErrLimit) {
		t.Error(err)
	}
}
