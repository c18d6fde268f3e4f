package scope

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestClaimAndRelease(t *testing.T) {
	t.Parallel()
	root := tree(t, ".unlazy/s/")
	tr := Tree{root, clock}
	ctx := t.Context()
	l, err := tr.Claim(ctx, "s", "leaf-a", []string{"src/a/**", "docs/<a>.md"})
	must(t, err)
	// sha256("s::leaf-a"), first 24 digits, by sha256sum.
	sameText(t, "file", l.File, ".unlazy/locks/ecf5be4d3f825689733986bc.lease")
	sameText(t, "record", read(t, root, l.File), fmt.Sprintf("{\n  \"scope\": \"s\",\n  \"leaf\": \"leaf-a\",\n  \"globs\": [\n    \"src/a/**\",\n    \"docs/<a>.md\"\n  ],\n  \"pid\": %d\n}\n", os.Getpid()))
	if info, err := os.Stat(filepath.Join(root, l.File)); err != nil || info.Mode().Perm()&0o77 != 0 && filepath.Separator == '/' {
		t.Error(info.Mode(), err)
	}
	_, err = tr.Claim(ctx, "s", "leaf-a", []string{"elsewhere"})
	refused(t, err, "CONFLICT s/leaf-a already holds a live lease; release it before claiming again")
	_, err = tr.Claim(ctx, "s", "leaf-b", []string{"src", "docs/b.md", "docs/*"})
	refused(t, err, "CONFLICT src overlaps src/a/** held by s/leaf-a", "CONFLICT docs/* overlaps docs/<a>.md held by s/leaf-a")
	_, err = tr.Claim(ctx, "s", "leaf-b", []string{"src/b"})
	must(t, err)
	got, err := tr.Leases()
	must(t, err)
	if len(got) != 2 || got[0].Leaf != "leaf-a" || got[1].Leaf != "leaf-b" || got[0].Gone || got[0].Invalid != "" || got[0].PID != os.Getpid() || got[0].Since.IsZero() {
		t.Errorf("%+v", got)
	}
	gone, err := tr.Release(ctx, "s", "leaf-a")
	if err != nil || len(gone) != 1 || gone[0].Leaf != "leaf-a" {
		t.Error(gone, err)
	}
	if gone, err = tr.Release(ctx, "s", ""); err != nil || len(gone) != 1 {
		t.Error(gone, err)
	}
	if left := names(t, filepath.Join(root, ".unlazy", "locks")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func refused(t *testing.T, err error, lines ...string) {
	t.Helper()
	c := new(ConflictError)
	if !errors.As(err, &c) {
		t.Fatalf("got %v", err)
	}
	var got []string
	for _, x := range c.Conflicts {
		got = append(got, x.String())
	}
	if d := cmp.Diff(lines, got); d != "" {
		t.Error(d)
	}
	sameText(t, "refusal", err.Error(), fmt.Sprintf("CLAIM REFUSED (%d conflict(s))", len(lines)))
}

func TestClaimArguments(t *testing.T) {
	t.Parallel()
	root := tree(t)
	tr := Tree{root, clock}
	for _, c := range []struct {
		scope, leaf string
		globs       []string
	}{
		{"..", "a", []string{"x"}},
		{"locks", "a", []string{"x"}},
		{"s", "a/b", []string{"x"}},
		{"s", "", []string{"x"}},
		{"s", "a", nil},
		{"s", "a", []string{""}},
		{"s", "a", []string{"/x"}},
		{"s", "a", []string{"a/../b"}},
		{"s", "a", []string{"C:/x"}},
		{"s", "a", []string{"x\x00"}},
		{"s", "a", []string{`a\b`}},
		{"s", "a", []string{"./a"}},
		{"s", "a", []string{" a"}},
	} {
		if _, err := tr.Claim(t.Context(), c.scope, c.leaf, c.globs); err == nil || errors.As(err, new(*ConflictError)) {
			t.Errorf("%v: %v", c, err)
		}
	}
	if _, err := tr.Release(t.Context(), "a b", ""); err == nil {
		t.Error("scope")
	}
	if _, err := tr.Release(t.Context(), "a", ".."); err == nil {
		t.Error("leaf")
	}
	if got := names(t, root); len(got) != 0 {
		t.Errorf("refused claims left %v", got)
	}
	if got, err := tr.Release(t.Context(), "s", ""); err != nil || got != nil {
		t.Error(got, err)
	}
	if got, err := tr.Leases(); err != nil || got != nil {
		t.Error(got, err)
	}
}

// A lease whose scope folder is gone is listed as such and can be released.
func TestReleaseWithoutScope(t *testing.T) {
	t.Parallel()
	root := tree(t, ".unlazy/s/")
	tr := Tree{root, clock}
	_, err := tr.Claim(t.Context(), "s", "a", []string{"x"})
	must(t, err)
	must(t, os.RemoveAll(filepath.Join(root, ".unlazy", "s")))
	if got, err := tr.Leases(); err != nil || len(got) != 1 || !got[0].Gone {
		t.Errorf("%+v %v", got, err)
	}
	if got, err := tr.Release(t.Context(), "s", ""); err != nil || len(got) != 1 {
		t.Error(got, err)
	}
}

func TestInvalidLeaseOwnsEverything(t *testing.T) {
	t.Parallel()
	good := `{"scope":"o","leaf":"l","globs":["zzz"],"pid":1}`
	tests := map[string]string{
		"not JSON":         "{",
		"no object":        "[]",
		"repeated":         `{"scope":"o","scope":"o","leaf":"l","globs":["zzz"],"pid":1}`,
		"case":             `{"Scope":"o","leaf":"l","globs":["zzz"],"pid":1}`,
		"no globs":         `{"scope":"o","leaf":"l","globs":[],"pid":1}`,
		"globs of numbers": `{"scope":"o","leaf":"l","globs":[1],"pid":1}`,
		"escaping":         `{"scope":"o","leaf":"l","globs":["../x"],"pid":1}`,
		"no pid":           `{"scope":"o","leaf":"l","globs":["zzz"]}`,
		"pid is text":      `{"scope":"o","leaf":"l","globs":["zzz"],"pid":"1"}`,
		"bad scope":        `{"scope":"../o","leaf":"l","globs":["zzz"],"pid":1}`,
		"misnamed":         `{"scope":"o","leaf":"other","globs":["zzz"],"pid":1}`,
		"huge":             good + strings.Repeat(" ", maxLease),
	}
	for name, record := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := tree(t, ".unlazy/o/")
			file := leaseName("o", "l")
			write(t, root, ".unlazy/locks/"+file, record)
			tr := Tree{root, clock}
			_, err := tr.Claim(t.Context(), "s", "a", []string{"src/x"})
			refused(t, err, "CONFLICT src/x overlaps ** held by (invalid)/"+file)
			if got, err := tr.Leases(); err != nil || len(got) != 1 || got[0].Invalid == "" {
				t.Errorf("%+v %v", got, err)
			}
			// Its own scope and leaf can release it: the name is theirs.
			if got, err := tr.Release(t.Context(), "o", "l"); err != nil || len(got) != 1 {
				t.Error(got, err)
			}
			_, err = tr.Claim(t.Context(), "s", "a", []string{"src/x"})
			must(t, err)
		})
	}
	t.Run("linked", func(t *testing.T) {
		t.Parallel()
		root := tree(t, ".unlazy/locks/", "real")
		write(t, root, "real", good)
		link(t, "../../real", filepath.Join(root, ".unlazy", "locks", leaseName("o", "l")))
		_, err := (Tree{root, clock}).Claim(t.Context(), "s", "a", []string{"x"})
		if !errors.As(err, new(*ConflictError)) {
			t.Error(err)
		}
	})
	t.Run("as unlazy writes it, with members of a newer one", func(t *testing.T) {
		t.Parallel()
		root := tree(t, ".unlazy/o/")
		write(t, root, ".unlazy/locks/"+leaseName("o", "l"), `{"scope":"o","leaf":"l","globs":["zzz"],"pid":1,"since":"x"}`)
		_, err := (Tree{root, clock}).Claim(t.Context(), "s", "a", []string{"x"})
		must(t, err)
	})
}

// A record half written by a killed process is no lease, and the next claim removes it.
func TestTemporaryRecordsAreSwept(t *testing.T) {
	t.Parallel()
	root := tree(t, ".unlazy/locks/."+leaseName("o", "l")+".0123456789abcdef.tmp", ".unlazy/locks/.other.tmp")
	_, err := (Tree{root, clock}).Claim(t.Context(), "s", "a", []string{"x"})
	must(t, err)
	if d := cmp.Diff([]string{".other.tmp", leaseName("s", "a")}, names(t, filepath.Join(root, ".unlazy", "locks"))); d != "" {
		t.Error(d)
	}
}

func TestOverlap(t *testing.T) {
	t.Parallel()
	tests := []struct {
		a, b string
		want bool
	}{
		{"src/a", "src/b", false},
		{"src/a", "src/a", true},
		{"src", "src/a/b", true},
		{"src/a", "src/ab", false},
		{"src/*", "src/a", true},
		{"src/a*", "src/b*", true},
		{"**", "x/y", true},
		{"**/*.go", "docs/x.md", true},
		{"src/a/**", "src/b/**", false},
		{"src/[ab]/x", "src/c/y", true},
		{"src/{a,b}", "src/c", true},
		{"src/?", "lib/?", false},
		{"SRC/a", "src/A", true},
		{"@types/node/**", "**", true},
		{"@types/a", "@types/b", false},
		{"@types", "@types/a", true},
	}
	for _, tt := range tests {
		if Overlap(tt.a, tt.b) != tt.want || Overlap(tt.b, tt.a) != tt.want {
			t.Errorf("%s and %s: want %v", tt.a, tt.b, tt.want)
		}
	}
}

// Conservative: if some path matches both globs, they overlap.
func TestOverlapNeverMissesACommonPath(t *testing.T) {
	t.Parallel()
	segment := rapid.SampledFrom([]string{"a", "b", "A", "@c", "*", "a*", "?", "[ab]", "**"})
	rapid.Check(t, func(t *rapid.T) {
		a := strings.Join(rapid.SliceOfN(segment, 1, 4).Draw(t, "a"), "/")
		b := strings.Join(rapid.SliceOfN(segment, 1, 4).Draw(t, "b"), "/")
		p := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab", "@c"}), 1, 4).Draw(t, "path"), "/")
		if owns(a, p) && owns(b, p) && !Overlap(a, b) {
			t.Fatalf("%s and %s both own %s", a, b, p)
		}
	})
}

// owns is an independent reading of a glob: it owns what it matches and what lies in it.
func owns(glob, p string) bool {
	var re strings.Builder
	re.WriteString("(?i)^")
	for i, s := range strings.Split(glob, "/") {
		if i > 0 {
			re.WriteString("/")
		}
		if s == "**" {
			re.WriteString("(?:.*)")
			continue
		}
		for _, r := range s {
			switch r {
			case '*':
				re.WriteString("[^/]*")
			case '?':
				re.WriteString("[^/]")
			case '[', ']':
				re.WriteRune(r)
			default:
				re.WriteString(regexp.QuoteMeta(string(r)))
			}
		}
	}
	re.WriteString("(?:/.*)?$")
	return regexp.MustCompile(re.String()).MatchString(p)
}

func TestOwned(t *testing.T) {
	t.Parallel()
	root := tree(t)
	tr := Tree{root, clock}
	write(t, root, ".unlazy/s/gates/leaf-a.md", "OWNS: src/a/**, ./docs\n\n- [ ] G1: x\n")
	write(t, root, ".unlazy/s/gates/none.md", "- [ ] G1: x\n")
	write(t, root, ".unlazy/s/gates/bad.md", "OWNS: ../x\n- [ ] G1: x\n")
	write(t, root, ".unlazy/one/GATES.md", "OWNS: a\n- [ ] G1: x\n")
	for _, c := range []struct{ scope, leaf, name, globs, err string }{
		{"s", "leaf-a", "leaf-a", "src/a/**,docs", ""},
		{"s", "a", "leaf-a", "src/a/**,docs", ""},
		{"one", "", "GATES", "a", ""},
		{"s", "", "", "", "several ledgers; name one with --leaf (have: bad, leaf-a, none)"},
		{"s", "zz", "", "", `unknown leaf "zz" (have: bad, leaf-a, none)`},
		{"s", "none", "", "", "declares no OWNS paths"},
		{"s", "bad", "", "", "finding(s), the first: line 1"},
		{"gone", "", "", "", "no scope"},
	} {
		name, globs, err := tr.Owned(c.scope, c.leaf)
		if c.err != "" {
			wantError(t, err, c.err)
			continue
		}
		must(t, err)
		sameText(t, "name", name, c.name)
		sameText(t, "globs", strings.Join(globs, ","), c.globs)
	}
}

// 200 processes, started together, race for overlapping paths: one wins, and
// nothing but its lease is left.
func TestRace(t *testing.T) {
	t.Parallel()
	const processes = 200
	root := tree(t, ".unlazy/s/")
	gate, open, err := os.Pipe()
	must(t, err)
	outs := make([]strings.Builder, processes)
	waits := make([]func() error, processes)
	for i := range processes {
		glob := []string{"src/**", "src/a/b", "src", "**/x"}[i%4]
		cmd := self(t, "claim", root, "s", fmt.Sprintf("l%d", i), glob)
		cmd.Stdin, cmd.Stdout = gate, &outs[i]
		must(t, cmd.Start())
		waits[i] = cmd.Wait
	}
	must(t, open.Close()) // now
	won := 0
	for i := range processes {
		err := waits[i]()
		switch outs[i].String() {
		case "claimed\n":
			won++
			must(t, err)
		case "refused\n":
		default:
			t.Errorf("process %d: %s%v", i, outs[i].String(), err)
		}
	}
	_ = gate.Close()
	if won != 1 {
		t.Errorf("%d winners", won)
	}
	if left := names(t, filepath.Join(root, ".unlazy", "locks")); len(left) != 1 || !strings.HasSuffix(left[0], ".lease") {
		t.Errorf("left: %v", left)
	}
}

// kill -9 at any moment leaves nothing but whole leases, a lock whose owner can be
// named, and what the next claim sweeps.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short")
	}
	locked := 0
	for round := range 12 {
		root := tree(t, ".unlazy/s/")
		cmd := self(t, "claims", root, "s")
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		if line, _ := bufio.NewReader(out).ReadString('\n'); line != "going\n" {
			t.Fatalf("got %q", line)
		}
		time.Sleep(time.Duration(round*137%997) * 10 * time.Microsecond) // a moment, any moment
		must(t, cmd.Process.Kill())
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
		tr := Tree{root, time.Now}
		leases, err := tr.Leases()
		must(t, err)
		for _, l := range leases {
			if l.Invalid != "" || l.PID != cmd.Process.Pid {
				t.Errorf("half a lease: %+v", l)
			}
		}
		locks := filepath.Join(root, ".unlazy", "locks")
		i := slices.IndexFunc(names(t, locks), func(n string) bool { return strings.HasSuffix(n, ".filelock") })
		if i >= 0 {
			locked++
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			_, err := fileLock(ctx, root, filepath.Join(root, filepath.FromSlash(registry)), time.Now, time.Millisecond)
			cancel()
			held := new(HeldError)
			if !errors.As(err, &held) || held.PID != cmd.Process.Pid && held.PID != 0 {
				t.Errorf("the lock is not explained: %v", err)
			}
			must(t, os.Remove(filepath.Join(locks, names(t, locks)[i]))) // what the message says
		}
		_, err = tr.Release(t.Context(), "s", "")
		must(t, err)
		if left := names(t, locks); len(left) != 0 {
			t.Errorf("left: %v", left)
		}
	}
	t.Logf("%d of 12 were killed while they held the lock", locked)
}

func FuzzLease(f *testing.F) {
	f.Add([]byte(`{"scope":"o","leaf":"l","globs":["zzz"],"pid":1}`))
	f.Add([]byte(`{"scope":"o","leaf":"l","globs":["a/../b","*"],"pid":-1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		name := leaseName("o", "l")
		must(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
		l, err := readLease(dir, name)
		if err != nil {
			return
		}
		var plain struct {
			Scope, Leaf string
			Globs       []string
			PID         int
		}
		if json.Unmarshal(data, &plain) != nil || l.Scope != "o" || l.Leaf != "l" || len(l.Globs) == 0 || l.PID < 1 {
			t.Fatalf("%q was read as %+v", data, l)
		}
	})
}

func BenchmarkClaimRelease200(b *testing.B) {
	root := tree(b, ".unlazy/s/")
	tr := Tree{root, time.Now}
	for i := range 200 {
		_, err := tr.Claim(b.Context(), "s", fmt.Sprintf("l%d", i), []string{fmt.Sprintf("p%d/**", i), fmt.Sprintf("q%d/**", i)})
		must(b, err)
	}
	for b.Loop() {
		_, err := tr.Claim(b.Context(), "s", "mine", []string{"mine/**", "more/**"})
		must(b, err)
		_, err = tr.Release(b.Context(), "s", "mine")
		must(b, err)
	}
}
