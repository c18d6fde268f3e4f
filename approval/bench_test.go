package approval_test

import (
	"fmt"
	"sort"
	"testing"
	"time"

	"github.com/gatesworn/gatesworn/approval"
)

// listing is a tree with its entries made once.
type listing struct {
	tree
	entries []approval.Entry
}

func (l listing) Entries() []approval.Entry { return l.entries }

func BenchmarkBind20000(b *testing.B) {
	l := listing{tree: tree{}}
	for i := range 20_000 {
		p := fmt.Sprintf("src/d%d/f%d.go", i%100, i)
		l.tree[p] = "x"
		l.entries = append(l.entries, approval.Entry{Path: p, Mode: approval.ModeFile, OID: "x"})
	}
	sort.Slice(l.entries, func(i, j int) bool { return l.entries[i].Path < l.entries[j].Path })
	for b.Loop() {
		if files, err := approval.Bind(l, []string{"src/d7/*.go", "src/d8/f8.go"}); err != nil || len(files) != 201 {
			b.Fatal(len(files), err)
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{1, 16, 1000} {
		b.Run(fmt.Sprintf("%d statements", n), func(b *testing.B) {
			r := approval.Request{Mode: approval.ModeAllowlist, Now: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC), Oracle: baseOracle(), Root: validRoot()}
			for i := range n {
				o := baseOracle()
				if i > 0 {
					o.Expect = ptr(fmt.Sprint(i))
				}
				r.Statements = append(r.Statements, approval.Statement{
					ID: fmt.Sprint(i), Project: o.Project, IssuedAt: r.Now.Add(-time.Hour), Approve: []approval.Oracle{o},
					Signatures: []approval.Signature{{Principal: "alice@example.org"}},
				})
			}
			for b.Loop() {
				if d := approval.Decide(r); !d.Allowed {
					b.Fatal(d.Text)
				}
			}
		})
	}
}
