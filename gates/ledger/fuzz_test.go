package ledger_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatesworn/gatesworn/gates/ledger"
)

// FuzzParse: whatever the bytes, no panic and an answer; what is accepted is
// accepted by the peer with the same meaning; edits change nothing else and are
// the same the second time.
func FuzzParse(f *testing.F) {
	seeds := 0
	for _, dir := range []string{"ok", "err", "mistakes"} {
		files, err := filepath.Glob(filepath.Join("testdata", dir, "*.md"))
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
			seeds++
		}
	}
	if seeds < 60 {
		f.Fatalf("only %d seeds", seeds)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		kept := bytes.Clone(data)
		d := ledger.Parser{}.Parse(t.Context(), "GATES.md", data)
		if !bytes.Equal(d.Bytes(), kept) {
			t.Fatal("Bytes differ from the input")
		}
		checkFindings(t, d)
		if !d.OK() {
			return
		}
		comparePeer(t, d)
		edits := make([]ledger.Edit, 0, len(d.Gates))
		for i, g := range d.Gates {
			edits = append(edits, ledger.Edit{ID: g.ID, Ticked: i%2 == 0, Evidence: "seen; by=someone"})
		}
		once, err := d.Apply(edits)
		if err != nil {
			t.Fatalf("Apply: %v\n%q", err, data)
		}
		comparePeer(t, once)
		if got, want := stripped(t, once), stripped(t, d); got != want {
			t.Fatalf("edits changed something else:\n%q\n%q", want, got)
		}
		twice, err := once.Apply(edits)
		if err != nil || !bytes.Equal(twice.Bytes(), once.Bytes()) {
			t.Fatalf("a second Apply: %v\n%q\n%q", err, once.Bytes(), twice.Bytes())
		}
	})
}

// checkFindings: positions lie within the file, messages are one line.
func checkFindings(t *testing.T, d *ledger.Document) {
	t.Helper()
	lines := bytes.Count(d.Bytes(), []byte("\n")) + 1
	last := 0
	for _, f := range d.Findings {
		if f.Line < 0 || f.Line > lines || f.Line > 0 && f.Column < 1 || f.Rule == "" || f.Message == "" || strings.ContainsAny(f.Message, "\n") {
			t.Fatalf("finding %+v in a file of %d lines", f, lines)
		}
		if f.Line < last {
			t.Fatalf("findings are not in line order: %d after %d", f.Line, last)
		}
		last = f.Line
	}
}

// comparePeer: the peer accepts what we accept, and reads the same.
func comparePeer(t *testing.T, d *ledger.Document) {
	t.Helper()
	p := readAsPeer(string(d.Bytes()))
	if len(p.errors) > 0 {
		t.Fatalf("accepted, but the peer says %q\n%q", p.errors, d.Bytes())
	}
	if len(p.gates) != len(d.Gates) {
		t.Fatalf("%d gates, the peer reads %d\n%q", len(d.Gates), len(p.gates), d.Bytes())
	}
	for i, g := range d.Gates {
		q := p.gates[i]
		_, hasCWD := q.attrs["CWD"]
		if g.ID != q.id || g.Outcome != q.title || g.Ticked != q.ticked || g.Check != q.attrs["CHECK"] || g.Expect != q.attrs["EXPECT"] ||
			g.CWD != q.attrs["CWD"] || g.Has(ledger.CWD) != hasCWD || g.Evidence != q.attrs["EVIDENCE"] || g.Abandoned != q.abandoned {
			t.Fatalf("gate %+v\nthe peer reads %+v\n%q", g, q, d.Bytes())
		}
	}
}

// stripped is a ledger without boxes and evidence lines.
func stripped(t *testing.T, d *ledger.Document) string {
	t.Helper()
	lines := strings.SplitAfter(string(d.Bytes()), "\n")
	skip := map[int]bool{}
	gate := map[int]bool{}
	for _, g := range d.Gates {
		gate[g.Line] = true
		for _, a := range g.Attributes {
			if a.Key == ledger.Evidence {
				skip[a.Line] = true
			}
		}
	}
	var b strings.Builder
	for i, l := range lines {
		switch {
		case skip[i+1]:
		case gate[i+1]:
			at := strings.Index(l, "[")
			b.WriteString(strings.TrimRight(l[:at+1]+" "+l[at+2:], "\r\n"))
			b.WriteByte('\n')
		default:
			b.WriteString(strings.TrimRight(l, "\r\n"))
			b.WriteByte('\n')
		}
	}
	return strings.TrimRight(b.String(), "\n")
}
