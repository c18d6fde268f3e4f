package store

import (
	"bytes"
	"testing"
	"time"

	"github.com/gatesworn/gatesworn/approval"
)

func sample() Binding {
	check, expect := "make", "ok"
	return Binding{
		Oracle: approval.Oracle{
			V: 1, Ledger: "GATES.md", Gate: "G1", Outcome: "it <builds>\u2028", Check: &check, Expect: &expect, CWD: ".",
			InputPatterns: []string{"a"}, Inputs: []approval.BoundFile{},
		},
		Ledger: "/r/GATES.md", Shell: "/bin/sh", Dir: "/r", Timeout: 1, Platform: "linux", Path: "/bin",
	}
}

// FuzzRecord: whatever a record says, it is for what its name says, and an exact
// lookup accepts nothing but the bytes that Put writes.
func FuzzRecord(f *testing.F) {
	b := sample()
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	good, err := b.bytes(at)
	if err != nil {
		f.Fatal(err)
	}
	name := b.key().name()
	f.Add(good)
	f.Add(bytes.Replace(good, []byte(`"v": 1`), []byte(`"v": 1, "v": 1`), 1))
	f.Add(bytes.Replace(good, []byte("make"), []byte("evil"), 1))
	f.Add([]byte("{}"))
	if got, day, err := parse(name, good); err != nil || !day.Equal(at) || got.key() != b.key() {
		f.Fatal(got, day, err)
	}
	if day, ok := b.date(good); !ok || !day.Equal(at) {
		f.Fatal(day, ok)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if got, _, err := parse(name, data); err == nil && got.key() != b.key() {
			t.Fatalf("accepted %q for another binding", data)
		}
		if day, ok := b.date(data); ok {
			if want, err := b.bytes(day); err != nil || !bytes.Equal(want, data) {
				t.Fatalf("accepted %q", data)
			}
		}
	})
}
