package ledgerfile_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/gatesworn/gatesworn/gates/ledgerfile"
	"github.com/gatesworn/gatesworn/internal/safefile"
)

// clock is a hand-driven clock: After fires when the test advances it.
type clock struct {
	mu     sync.Mutex
	now    time.Time
	timers []timer
}

type timer struct {
	at time.Time
	c  chan time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := timer{at: c.now.Add(d), c: make(chan time.Time, 1)}
	c.timers = append(c.timers, t)
	return t.c
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	for _, t := range c.timers {
		if !t.at.After(c.now) {
			select {
			case t.c <- c.now:
			default:
			}
		}
	}
}

// file is a ledger on disk with n runnable gates and its writer.
type file struct {
	path string
	doc  *ledger.Document
	cfg  ledgerfile.Config
	lock int // how often the lock was taken
}

func text(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "- [ ] G%d: outcome %d\n  CHECK: echo ok\n  EXPECT: ok\n", i+1, i+1)
	}
	return b.String()
}

func newFile(t *testing.T, content string, c *clock) *file {
	t.Helper()
	dir := t.TempDir()
	f := &file{path: filepath.Join(dir, "GATES.md"), doc: ledger.Parse("GATES.md", []byte(content))}
	if err := os.WriteFile(f.path, []byte(content), 0o640); err != nil {
		t.Fatal(err)
	}
	f.cfg = ledgerfile.Config{
		Root: dir, Path: "GATES.md", Doc: f.doc, Now: time.Now, After: time.After,
		Lock: func(ctx context.Context) (func() error, error) {
			f.lock++
			l, err := safefile.Acquire(ctx, filepath.Join(dir, "lock"))
			if err != nil {
				return nil, err
			}
			return l.Release, nil
		},
	}
	if c != nil {
		f.cfg.Now, f.cfg.After = c.Now, c.After
	}
	return f
}

func (f *file) read(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(f.path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// fate is what became of an entry.
type fate struct {
	recorded gates.Recorded
	err      error
}

func record(w *ledgerfile.Writer, g ledger.Gate, passed bool) <-chan fate {
	c := make(chan fate, 1)
	e := gates.Entry{Gate: g, Passed: passed}
	if passed {
		e.Evidence = "automatic-evidence=v1; " + g.ID
	}
	w.Record(e, func(r gates.Recorded, err error) { c <- fate{r, err} })
	return c
}

func TestResultsReachTheFile(t *testing.T) {
	t.Parallel()
	f := newFile(t, text(2), nil)
	w := ledgerfile.NewWriter(f.cfg)
	one := record(w, f.doc.Gates[0], true)
	if got := <-one; got.recorded != gates.RecordWritten || got.err != nil {
		t.Fatalf("fate %+v", got)
	}
	want := strings.Replace(text(2), "- [ ] G1: outcome 1\n  CHECK: echo ok\n  EXPECT: ok\n",
		"- [x] G1: outcome 1\n  CHECK: echo ok\n  EXPECT: ok\n  EVIDENCE: automatic-evidence=v1; G1\n", 1)
	if got := f.read(t); got != want {
		t.Errorf("file is\n%s", got)
	}
	info, err := os.Stat(f.path)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, err %v", info.Mode(), err)
	}
	two := record(w, f.doc.Gates[1], false)
	w.Close()
	if got := <-two; got.recorded != gates.RecordUnneeded {
		t.Errorf("a failure of an unticked gate needs no write: %+v", got)
	}
}

func TestFailureClearsATickedBox(t *testing.T) {
	t.Parallel()
	f := newFile(t, "- [x] G1: a\n  CHECK: echo ok\n  EXPECT: ok\n  EVIDENCE: old\n", nil)
	w := ledgerfile.NewWriter(f.cfg)
	got := record(w, f.doc.Gates[0], false)
	w.Close()
	if g := <-got; g.recorded != gates.RecordWritten {
		t.Fatalf("fate %+v", g)
	}
	if want := "- [ ] G1: a\n  CHECK: echo ok\n  EXPECT: ok\n  EVIDENCE: pending\n"; f.read(t) != want {
		t.Errorf("file is\n%s", f.read(t))
	}
}

func TestChangedDefinitionDiscardsTheResult(t *testing.T) {
	t.Parallel()
	base := "- [ ] G1: a\n  CHECK: echo ok\n  EXPECT: ok\n  TIMEOUT: 5\n- [ ] G2: b\n  CHECK: echo ok\n  EXPECT: ok\n"
	for name, tc := range map[string]struct {
		old, new string
		want     gates.Recorded
	}{
		"outcome":   {"G1: a", "G1: other", gates.RecordStale},
		"check":     {"CHECK: echo ok\n  EXPECT: ok\n  TIMEOUT", "CHECK: true; echo ok\n  EXPECT: ok\n  TIMEOUT", gates.RecordStale},
		"expect":    {"EXPECT: ok\n  TIMEOUT", "EXPECT: o\n  TIMEOUT", gates.RecordStale},
		"timeout":   {"TIMEOUT: 5", "TIMEOUT: 6", gates.RecordStale},
		"removed":   {"- [ ] G1: a\n  CHECK: echo ok\n  EXPECT: ok\n  TIMEOUT: 5\n", "", gates.RecordStale},
		"abandoned": {"- [ ] G2: b", "ABANDON: G1 why\n- [ ] G2: b", gates.RecordAbandoned},
		"prose":     {"- [ ] G1", "# heading\n\n- [ ] G1", gates.RecordWritten},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFile(t, base, nil)
			edited := strings.Replace(base, tc.old, tc.new, 1)
			if edited == base {
				t.Fatal("the case changes nothing")
			}
			if err := os.WriteFile(f.path, []byte(edited), 0o640); err != nil {
				t.Fatal(err)
			}
			w := ledgerfile.NewWriter(f.cfg)
			got := record(w, f.doc.Gates[0], true)
			w.Close()
			if g := <-got; g.recorded != tc.want {
				t.Fatalf("fate %+v, want %v", g, tc.want)
			}
			if tc.want != gates.RecordWritten && f.read(t) != edited {
				t.Errorf("file was touched:\n%s", f.read(t))
			}
			if tc.want == gates.RecordWritten && !strings.Contains(f.read(t), "# heading\n\n- [x] G1") {
				t.Errorf("file is\n%s", f.read(t))
			}
		})
	}
}

func TestTroubleLeavesTheFileAlone(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		prepare func(t *testing.T, f *file)
		is      error
	}{
		"no longer valid": {func(t *testing.T, f *file) { write(t, f.path, "- [ ] G1\n") }, ledgerfile.ErrInvalid},
		"gone":            {func(t *testing.T, f *file) { remove(t, f.path) }, os.ErrNotExist},
		"a link": {func(t *testing.T, f *file) {
			write(t, f.path+".real", text(1))
			remove(t, f.path)
			if err := os.Symlink(f.path+".real", f.path); err != nil {
				t.Fatal(err)
			}
		}, safefile.ErrLink},
		"lock": {func(_ *testing.T, f *file) {
			f.cfg.Lock = func(context.Context) (func() error, error) { return nil, safefile.ErrHeld }
		}, safefile.ErrHeld},
		"too large": {func(t *testing.T, f *file) {
			write(t, f.path, full(text(1)))
		}, ledger.ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFile(t, text(1), nil)
			tc.prepare(t, f)
			before, _ := os.ReadFile(f.path)
			w := ledgerfile.NewWriter(f.cfg)
			got := record(w, f.doc.Gates[0], true)
			w.Close()
			g := <-got
			if g.recorded != gates.RecordFailed || !errors.Is(g.err, tc.is) && !strings.Contains(fmt.Sprint(g.err), tc.is.Error()) {
				t.Errorf("fate %v, err %v, want %v", g.recorded, g.err, tc.is)
			}
			after, _ := os.ReadFile(f.path)
			if string(before) != string(after) {
				t.Error("the file was touched")
			}
		})
	}
}

// full pads a ledger with prose until not one more evidence line fits.
func full(s string) string {
	line := "\n" + strings.Repeat("prose ", 170)
	s += strings.Repeat(line, (ledger.MaxSize-len(s))/len(line))
	return s + "\n" + strings.Repeat("p", ledger.MaxSize-len(s)-10)
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o640); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// TestWritesArePaced shows that results wait for the pause, and that Flush ends it.
func TestWritesArePaced(t *testing.T) {
	t.Parallel()
	c := &clock{now: time.Unix(1, 0)}
	f := newFile(t, text(30), c)
	w := ledgerfile.NewWriter(f.cfg)
	if got := <-record(w, f.doc.Gates[0], true); got.recorded != gates.RecordWritten {
		t.Fatal("the first result is written at once")
	}
	var waiting []<-chan fate
	for _, g := range f.doc.Gates[1:20] {
		waiting = append(waiting, record(w, g, true))
	}
	select {
	case <-waiting[0]:
		t.Fatal("written before the pause was over")
	case <-time.After(50 * time.Millisecond):
	}
	c.advance(100 * time.Millisecond)
	for _, f := range waiting {
		<-f
	}
	if f.lock != 2 {
		t.Errorf("20 results took %d writes", f.lock)
	}
	last := record(w, f.doc.Gates[20], true)
	w.Flush()
	if got := <-last; got.recorded != gates.RecordWritten {
		t.Errorf("fate %+v", got)
	}
	w.Close()
	if got := <-record(w, f.doc.Gates[21], true); got.recorded != gates.RecordFailed || got.err == nil {
		t.Errorf("a closed writer refuses: %+v", got)
	}
}

// TestTwoWritersLoseNothing has two writers with their own view of one ledger.
func TestTwoWritersLoseNothing(t *testing.T) {
	t.Parallel()
	f := newFile(t, text(60), nil)
	cfg := f.cfg
	cfg.Lock = func(ctx context.Context) (func() error, error) {
		l, err := safefile.Acquire(ctx, filepath.Join(cfg.Root, "lock"))
		if err != nil {
			return nil, err
		}
		return l.Release, nil
	}
	a, b := ledgerfile.NewWriter(cfg), ledgerfile.NewWriter(cfg)
	var fates []<-chan fate
	for i, g := range f.doc.Gates {
		w := a
		if i%2 == 1 {
			w = b
		}
		fates = append(fates, record(w, g, true))
		if i%20 == 0 {
			w.Flush()
		}
	}
	a.Close()
	b.Close()
	for i, c := range fates {
		if got := <-c; got.recorded != gates.RecordWritten {
			t.Errorf("G%d: %+v", i+1, got)
		}
	}
	if n := strings.Count(f.read(t), "- [x] "); n != 60 {
		t.Errorf("%d of 60 results are in the file", n)
	}
}
