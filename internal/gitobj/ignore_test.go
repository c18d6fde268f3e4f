package gitobj

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// untracked lists what is neither tracked (by the index) nor ignored.
func untracked(r repoAt, opts WorkOptions) []string {
	r.t.Helper()
	g := r.open()
	tracked, err := g.Tracked()
	if err != nil {
		r.t.Fatal(err)
	}
	files, err := g.WorkFiles(r.t.Context(), NewPathSet(tracked), opts)
	if err != nil {
		r.t.Fatal(err)
	}
	var out []string
	for _, f := range files {
		p := f.Path
		if f.Mode == ModeSubmodule && !f.Tracked {
			p += "/"
		}
		out = append(out, p)
	}
	slices.Sort(out)
	return out
}

func lines(s string) []string {
	out := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' })
	slices.Sort(out)
	return slices.Compact(out)
}

func TestWorkFiles(t *testing.T) {
	t.Parallel()
	onlyUnix(t)
	r := newRepo(t, "sha1")
	r.write(".gitignore", "*.log\n!keep.log\n/build/\nnode_modules/\ndoc/*.tmp\n**/cache/**\n!/cache/x\n# c\n\\#hash\n\\!bang\nspace\\ \ntrail   \n[ab].q\n\r\ncr\r\n")
	r.write("sub/.gitignore", "!*.log\n/only-here\n")
	for _, f := range []string{
		"a.log", "keep.log", "build/x", "sub/build/x", "node_modules/a/b", "sub/node_modules/c", "doc/a.tmp", "doc/in/a.tmp",
		"cache/x", "cache/y", "sub/cache/z", "#hash", "!bang", "space ", "trail", "a.q", "c.q", "sub/a.log", "sub/only-here",
		"only-here", "cr", "plain", "sub/deep/x.log", "tracked.log", "build2/x", "ign/f", "ü/ñ",
	} {
		r.write(f, f)
	}
	r.write(".git/info/exclude", "ign\n")
	r.git("add", "-f", ".gitignore", "tracked.log", "build/x")
	r.git("commit", "-q", "-m", "c")
	os.Symlink("plain", r.path("link"))
	os.Symlink("doc", r.path("linkdir"))
	mkfifo(t, r.path("fifo"))
	inner := repoAt{t, r.path("inner")}
	os.Mkdir(inner.dir, 0o755)
	inner.git("init", "-q")
	inner.write("f", "f")
	inner.commit("c")

	if d := cmp.Diff(lines(r.git("ls-files", "-o", "--exclude-standard")), untracked(r, WorkOptions{})); d != "" {
		t.Error(d)
	}
	want := lines(r.git("ls-files", "-o") + r.git("ls-files"))
	if d := cmp.Diff(want, untracked(r, WorkOptions{Tracked: true, Ignored: true})); d != "" {
		t.Error(d)
	}
	want = lines(r.git("ls-files", "-c", "-o", "--exclude-standard"))
	if d := cmp.Diff(want, untracked(r, WorkOptions{Tracked: true})); d != "" {
		t.Error(d)
	}
	r.write("global", "plain\n*.tmp\n")
	r.git("config", "core.excludesFile", r.path("global"))
	want = lines(r.git("ls-files", "-o", "--exclude-standard"))
	if d := cmp.Diff(want, untracked(r, WorkOptions{Excludes: []byte("plain\n*.tmp\n")})); d != "" {
		t.Error(d)
	}
	// An ignore file that is a link is not read.
	os.Rename(r.path(".gitignore"), r.path("ignores"))
	os.Symlink("ignores", r.path(".gitignore"))
	want = lines(r.git("ls-files", "-o", "--exclude-standard"))
	if d := cmp.Diff(want, untracked(r, WorkOptions{Excludes: []byte("plain\n*.tmp\n")})); d != "" {
		t.Error(d)
	}
}

// randomPattern makes patterns out of pieces that collide with randomPath's.
func randomPattern(rnd *rand.Rand) string {
	pieces := []string{
		"a", "b", "ab", "c", "*", "**", "?", "/", "/", "[ab]", "[!a]", "[^b]", "[a-c]", "[]a]", "[[:alpha:]]", "\\a", "\\*",
		"a*", "*b", "**/", "/**", "/**/", ".", "***", "[a", "[", "]", "[a-]", "[\\]]", "-",
	}
	var b strings.Builder
	for range 1 + rnd.IntN(5) {
		b.WriteString(pieces[rnd.IntN(len(pieces))])
	}
	return b.String()
}

func randomPath(rnd *rand.Rand) string {
	names := []string{"a", "b", "c", "ab", "ba", "abc", "a.b", "aa", "-", "]", "[a"}
	parts := make([]string, 1+rnd.IntN(4))
	for i := range parts {
		parts[i] = names[rnd.IntN(len(names))]
	}
	return strings.Join(parts, "/")
}

// Patterns mean what git says they mean: git check-ignore and check-attr are asked.
func TestPatternsAgreeWithGit(t *testing.T) {
	t.Parallel()
	onlyUnix(t)
	r := newRepo(t, "sha1")
	rnd := rand.New(rand.NewPCG(7, 7))
	asked, hits := 0, 0
	for range 25 {
		var ignore, attrs strings.Builder
		for i := range 8 {
			p := randomPattern(rnd)
			if rnd.IntN(4) == 0 {
				ignore.WriteString("!")
			}
			ignore.WriteString(p + "\n")
			fmt.Fprintf(&attrs, "%s %s\n", strings.ReplaceAll(p, `\`, ``), []string{"text", "-text", "!text", "filter=f", "eol=crlf", "binary", "m", "-m"}[i])
		}
		attrs.WriteString("[attr]m ident filter=z\n")
		var paths []string
		for range 40 {
			paths = append(paths, randomPath(rnd))
		}
		h := checkIgnore(t, r, rnd, ignore.String(), paths)
		checkAttr(t, r, attrs.String(), paths)
		asked, hits = asked+len(paths), hits+h
	}
	if hits < asked/10 || hits > asked*9/10 {
		t.Errorf("%d of %d ignored: the test says little", hits, asked)
	}
}

// checkIgnore compares with `git ls-files -o`, on real files, since the folders a
// file lies in decide too.
func checkIgnore(t *testing.T, r repoAt, rnd *rand.Rand, text string, paths []string) (hits int) {
	t.Helper()
	work := repoAt{t, filepath.Join(filepath.Dir(r.dir), fmt.Sprint("w", rnd.Uint32()))}
	os.Mkdir(work.dir, 0o755)
	work.git("init", "-q")
	work.write(".gitignore", text)
	n := 0
	for _, p := range paths {
		full := work.path(p)
		if os.MkdirAll(filepath.Dir(full), 0o755) == nil && os.WriteFile(full, nil, 0o644) == nil {
			n++
		}
	}
	got := untracked(work, WorkOptions{})
	if want := lines(work.git("ls-files", "-o", "--exclude-standard")); !slices.Equal(want, got) {
		t.Fatalf("%s%s", text, cmp.Diff(want, got))
	}
	return n - len(got)
}

func checkAttr(t *testing.T, r repoAt, text string, paths []string) {
	t.Helper()
	r.write(".gitattributes", text)
	out := r.gitIn(strings.Join(paths, "\n")+"\n", "check-attr", "--stdin", "text", "eol", "filter", "ident")
	a := NewAttributes()
	a.Add("", []byte(text))
	for line := range strings.SplitSeq(strings.TrimSpace(out), "\n") {
		f := strings.Split(line, ": ")
		c := a.Conversion(f[0])
		if c.Doubt != "" {
			continue
		}
		got := map[string]string{"text": c.Text, "eol": c.EOL, "filter": c.Filter, "ident": c.Ident}[f[1]]
		if got == "" {
			got = "unspecified"
		}
		if got != f[2] {
			t.Fatalf("%s\n%s: got %s", text, line, got)
		}
	}
}

func TestAttributes(t *testing.T) {
	t.Parallel()
	onlyUnix(t)
	r := newRepo(t, "sha1")
	r.write(".gitattributes", "* text=auto\n*.bin binary\n*.sh text eol=lf\n*.bat eol=crlf\n*.enc working-tree-encoding=UTF-16\n"+
		"*.id ident\n\"sp ace.f\" filter=f\n*.crlf crlf\n/deep/** filter=deep\n*.no !text\n*.last text\n*.last -text\n")
	r.write("sub/.gitattributes", "*.bin filter=lfs\n/deep/x -filter\n")
	r.write("odd/.gitattributes", "*.x text=\xff?bad -\n")
	r.write("long/.gitattributes", strings.Repeat("x", 3000)+" -text\n")
	r.write("neg/.gitattributes", "!*.x text\n")
	r.write("mac/.gitattributes", "[attr]m text\n")
	os.MkdirAll(r.path("lnk"), 0o755)
	os.Symlink("../.gitattributes", r.path("lnk/.gitattributes"))
	r.commit("c")
	g, entries := r.headEntries()
	a, err := g.Attributes(t.Context(), entries)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]struct{ applies, changes string }{
		"plain":      {"text", ""},
		"x.bin":      {"", ""},
		"sub/x.bin":  {"filter", "filter"},
		"x.sh":       {"text eol", ""},
		"x.bat":      {"text eol", "eol"},
		"x.enc":      {"text working-tree-encoding", "working-tree-encoding"},
		"x.id":       {"text ident", "ident"},
		"sp ace.f":   {"text filter", "filter"},
		"deep/a/b":   {"text filter", "filter"},
		"sub/deep/x": {"text", ""},
		"x.no":       {"", ""},
		"x.last":     {"", ""},
		"odd/y":      {"text odd/.gitattributes line 1 (attribute name)", "odd/.gitattributes line 1 (attribute name)"},
		"long/y":     {"text long/.gitattributes line 1 (too long)", "long/.gitattributes line 1 (too long)"},
		"neg/y/z":    {"text neg/.gitattributes line 1 (pattern)", "neg/.gitattributes line 1 (pattern)"},
		"mac/y":      {"text mac/.gitattributes line 1 (macro)", "mac/.gitattributes line 1 (macro)"},
		"lnk/y":      {"text lnk/.gitattributes is no regular file", "lnk/.gitattributes is no regular file"},
	} {
		c := a.Conversion(path)
		if got := strings.Join(c.Applies(), " "); got != want.applies || c.Changes() != want.changes {
			t.Errorf("%s: applies %q, changes %q", path, got, c.Changes())
		}
	}
	b := NewAttributes()
	b.Add("", []byte("*"+strings.Repeat("a*", 200)+"b text\n"))
	if c := b.Conversion(strings.Repeat("a", 400)); c.Doubt == "" {
		t.Error("an expensive pattern is a doubt")
	}
}
