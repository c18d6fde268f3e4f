package gitobj

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// differences renders a comparison of HEAD's tree with the work tree.
func differences(r repoAt, opts CompareOptions) []string {
	r.t.Helper()
	g, entries := r.headEntries()
	c, err := g.Compare(r.t.Context(), entries, opts)
	if err != nil {
		r.t.Fatal(err)
	}
	var out []string
	for _, d := range c.Differences {
		out = append(out, d.Path+": "+d.Kind.String())
	}
	return out
}

func onlyUnix(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links and modes")
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	onlyUnix(t)
	steps := []struct {
		name string
		do   func(r repoAt)
		want []string
	}{
		{"nothing", func(repoAt) {}, nil},
		{"edited", func(r repoAt) { r.write("a", "evil") }, []string{"a: modified"}},
		{"edited, the same size and time", func(r repoAt) {
			fi, _ := os.Stat(r.path("a"))
			r.write("a", "b\n")
			os.Chtimes(r.path("a"), fi.ModTime(), fi.ModTime())
		}, []string{"a: modified"}},
		{"removed", func(r repoAt) { os.Remove(r.path("d/e/f")) }, []string{"d/e/f: missing"}},
		{"folder removed", func(r repoAt) { os.RemoveAll(r.path("d")) }, []string{"d/e/f: missing", "d/g: missing"}},
		{"executable", func(r repoAt) { os.Chmod(r.path("a"), 0o755) }, []string{"a: mode changed"}},
		{"no longer executable", func(r repoAt) { os.Chmod(r.path("run"), 0o644) }, []string{"run: mode changed"}},
		{"executable, and git told not to look", func(r repoAt) {
			r.git("config", "core.fileMode", "false")
			os.Chmod(r.path("a"), 0o755)
		}, []string{"a: mode changed"}},
		{"replaced by a link", func(r repoAt) {
			os.Rename(r.path("a"), r.path("a2"))
			os.Symlink("a2", r.path("a"))
		}, []string{"a: replaced"}},
		{"link replaced by its content", func(r repoAt) {
			os.Remove(r.path("l"))
			r.write("l", "a")
		}, []string{"l: replaced"}},
		{"link to elsewhere", func(r repoAt) {
			os.Remove(r.path("l"))
			os.Symlink("run", r.path("l"))
		}, []string{"l: modified"}},
		{"folder replaced by a link to a copy", func(r repoAt) {
			os.Rename(r.path("d"), r.path("copy"))
			os.Symlink("copy", r.path("d"))
		}, []string{"d/e/f: replaced", "d/g: replaced"}},
		{"file replaced by a folder", func(r repoAt) {
			os.Remove(r.path("a"))
			os.Mkdir(r.path("a"), 0o755)
		}, []string{"a: replaced"}},
		{"file replaced by a FIFO", func(r repoAt) {
			os.Remove(r.path("a"))
			mkfifo(r.t, r.path("a"))
		}, []string{"a: replaced"}},
		{"folder replaced by a file", func(r repoAt) {
			os.RemoveAll(r.path("d/e"))
			r.write("d/e", "x")
		}, []string{"d/e/f: replaced"}},
		{"assume-unchanged hides nothing", func(r repoAt) {
			r.git("update-index", "--assume-unchanged", "a")
			r.write("a", "evil")
		}, []string{"a: modified"}},
		{"skip-worktree hides nothing", func(r repoAt) {
			r.git("update-index", "--skip-worktree", "a", "run")
			r.write("a", "evil")
			os.Remove(r.path("run"))
		}, []string{"a: modified", "run: missing"}},
		{"a staged change is a change", func(r repoAt) {
			r.write("a", "staged")
			r.git("add", "a")
		}, []string{"a: modified"}},
		{"a staged change that is undone in the work tree only", func(r repoAt) {
			r.write("a", "staged")
			r.git("add", "a")
			r.write("a", "a\n")
		}, nil},
		{"line ends", func(r repoAt) { r.write("a", "a\r\n") }, []string{"a: modified"}},
		{"a filter that would undo it", func(r repoAt) {
			r.git("config", "filter.x.clean", "echo a")
			r.write(".git/info/attributes", "a filter=x\n")
			r.write("a", "evil")
		}, []string{"a: modified"}},
	}
	for _, format := range []string{"sha1", "sha256"} {
		for _, s := range steps {
			t.Run(format+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				r := newRepo(t, format)
				r.write("a", "a\n")
				r.write("run", "#!/bin/sh\n")
				os.Chmod(r.path("run"), 0o755)
				r.write("d/e/f", "f\n")
				r.write("d/g", "g\n")
				os.Symlink("a", r.path("l"))
				r.commit("c")
				s.do(r)
				for _, stat := range []bool{false, true} {
					if d := cmp.Diff(s.want, differences(r, CompareOptions{StatCache: stat})); d != "" {
						t.Errorf("stat cache %v: %s", stat, d)
					}
				}
			})
		}
	}
}

func TestCompareSubmodule(t *testing.T) {
	t.Parallel()
	onlyUnix(t)
	sub := newRepo(t, "sha1")
	sub.write("in/x", "1\n")
	one := sub.commit("one")
	r := newRepo(t, "sha1")
	r.git("submodule", "add", "-q", sub.dir, "mod")
	r.commit("c")
	m := repoAt{t, r.path("mod")}
	want := func(what string, w ...string) {
		t.Helper()
		if d := cmp.Diff(w, differences(r, CompareOptions{})); d != "" {
			t.Errorf("%s: %s", what, d)
		}
	}
	want("clean")
	m.write("in/x", "2\n")
	want("dirty inside", "mod/in/x: modified")
	m.commit("two")
	want("another commit", "mod: at another commit")
	m.git("checkout", "-q", one.String())
	want("back")
	os.RemoveAll(r.path("mod"))
	want("gone", "mod: missing")
	os.Mkdir(r.path("mod"), 0o755)
	want("not checked out")
	r.write("mod/x", "x")
	want("something else", "mod: replaced")
	r.write("mod/.git", "gitdir: ../nowhere\n")
	want("broken", "mod: unreadable")
	os.RemoveAll(r.path("mod"))
	os.Symlink(sub.dir, r.path("mod"))
	want("link", "mod: replaced")
}

// Nothing that git's configuration names is run by anything this package does.
func TestNothingRuns(t *testing.T) {
	t.Parallel()
	onlyUnix(t)
	r := newRepo(t, "sha1")
	r.write(".gitattributes", "* filter=evil diff=evil merge=evil\n")
	r.write("a", "a\n")
	r.commit("c")
	trap := r.path(".git/trap")
	witness := filepath.Join(filepath.Dir(r.dir), "witness")
	r.write(".git/trap", "#!/bin/sh\ntouch "+witness+"\ncat\n")
	os.Chmod(trap, 0o755)
	for _, key := range []string{
		"core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "core.gitProxy", "core.hooksPath",
		"filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.evil.textconv", "diff.evil.command",
		"diff.external", "gpg.program", "gpg.ssh.program", "uploadpack.packObjectsHook", "remote.origin.uploadpack",
		"credential.helper", "alias.status", "core.alternateRefsCommand",
	} {
		r.git("config", key, trap)
	}
	r.git("config", "filter.evil.required", "true")
	for _, hook := range []string{"post-checkout", "post-index-change", "fsmonitor-watchman", "reference-transaction"} {
		r.write(".git/hooks/"+hook, "#!/bin/sh\ntouch "+witness+"\n")
		os.Chmod(r.path(".git/hooks/"+hook), 0o755)
	}
	os.Remove(witness)
	r.write("a", "changed\n")
	if d := differences(r, CompareOptions{StatCache: true}); len(d) != 1 {
		t.Error(d)
	}
	g, entries := r.headEntries()
	if _, err := g.WorkFiles(t.Context(), NewPathSet(entries), WorkOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := g.Attributes(t.Context(), entries); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(witness); err == nil {
		t.Fatal("something was executed")
	}
}

func TestStatCacheReadsNothing(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("stat data")
	}
	r := newRepo(t, "sha256")
	for i := range 20 {
		r.write(fmt.Sprintf("d/%d", i), "x")
	}
	r.commit("c")
	// An index written later than the files is not racy.
	later, _ := os.Stat(r.path(".git/index"))
	os.Chtimes(r.path(".git/index"), later.ModTime().Add(5e9), later.ModTime().Add(5e9))
	g, entries := r.headEntries()
	c, err := g.Compare(t.Context(), entries, CompareOptions{StatCache: true})
	if err != nil || c.Hashed != 0 || c.Files != 20 || len(c.Differences) != 0 {
		t.Fatal(c, err)
	}
	c, err = g.Compare(t.Context(), entries, CompareOptions{Only: func(p string) bool { return p == "d/7" }})
	if err != nil || c.Hashed != 1 || c.Files != 1 {
		t.Fatal(c, err)
	}
	for _, v := range []string{"3", "4"} {
		r.git("update-index", "--index-version="+v)
		r.git("update-index", "--skip-worktree", "d/3") // needs extended flags
		list, err := r.open().Tracked()
		if err != nil || len(list) != 20 || list[19].Path != "d/9" {
			t.Fatal(list, err)
		}
		if d := cmp.Diff(pathsOf(entries), pathsOf(list)); d != "" {
			t.Fatal(d)
		}
	}
	r.git("update-index", "--split-index")
	if _, err := r.open().Tracked(); !errors.Is(err, ErrUnsupported) {
		t.Fatal(err)
	}
	if d := differences(r, CompareOptions{StatCache: true}); d != nil {
		t.Fatal(d)
	}
}

func pathsOf(list []Entry) []string {
	var out []string
	for _, e := range list {
		out = append(out, e.Path)
	}
	return out
}

func TestLinksInsideGitDir(t *testing.T) {
	t.Parallel()
	onlyUnix(t)
	for _, rel := range []string{
		"objects", "objects/pack", "HEAD", "config", "refs", "refs/heads", "refs/heads/main", "packed-refs",
		"objects/PACK", "objects/IDX", "info/exclude",
	} {
		t.Run(rel, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, "sha1")
			r.write("a", "1")
			r.commit("c")
			r.git("gc", "-q", "--prune=now")
			r.git("update-ref", "refs/heads/main", r.oid("HEAD").String())
			path := r.path(".git/" + rel)
			if ext, ok := strings.CutPrefix(rel, "objects/"); ok && ext == strings.ToUpper(ext) {
				m, _ := filepath.Glob(r.path(".git/objects/pack/*." + strings.ToLower(ext)))
				path = m[0]
			}
			if rel == "refs/heads/main" {
				r.write(".git/refs/heads/main", r.oid("HEAD").String()+"\n")
			}
			if _, err := os.Lstat(path); err != nil {
				t.Fatal(err)
			}
			os.Rename(path, path+".away")
			os.Symlink(path+".away", path)
			if err := useAll(r.dir); !errors.Is(err, ErrLink) {
				t.Fatalf("link: %v", err)
			}
			os.Remove(path)
			mkfifo(t, path)
			if err := useAll(r.dir); !errors.Is(err, ErrLink) {
				t.Fatalf("FIFO: %v", err)
			}
		})
	}
}

// useAll does with a repository what the product does and returns the first error.
func useAll(dir string) error {
	g, err := Open(dir)
	if err != nil {
		return err
	}
	defer g.Close()
	head, err := g.Head()
	if err != nil {
		return err
	}
	if _, err := g.ResolveRef("refs/heads/other"); err != nil && !isNotFound(err) {
		return err
	}
	c, err := g.Commit(head.OID)
	if err != nil {
		return err
	}
	if _, err := g.tree(c.Tree); err != nil {
		return err
	}
	_, err = g.baseIgnores(nil)
	return err
}
