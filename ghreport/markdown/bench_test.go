package markdown

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatesworn/gatesworn/gates"
)

// many is a report of n gates, one in three met, the others with output.
func many(n int, tail string, exit *int) *gates.Report {
	zero := 0
	r := &gates.Report{
		Tool: gates.Tool{Name: "gatesworn", Version: "1"}, Verdict: gates.VerdictUnmet, Conclusion: gates.Failure, Trust: gates.Trust{Mode: "allowlist", Ref: "main", Governed: true},
		Subject: gates.Subject{Repository: "octo/widgets", HeadSHA: strings.Repeat("a", 40), PullRequest: 1}, Ledgers: []gates.Ledger{{Path: "GATES.md"}},
	}
	for i := range n {
		g := gates.Gate{
			ID: fmt.Sprint("G", i), Name: fmt.Sprint("GATES:G", i), Title: "the outcome number " + fmt.Sprint(i), Line: i + 1, State: gates.Failed, Check: "make test", Expect: "/^/", Reason: "exit 1",
			Run: &gates.Run{Exit: exit, DurationMS: 100, Tail: tail, OutputBytes: len(tail), StartedMS: int64(i)},
		}
		if i%3 == 0 {
			g.State, g.Claimed, g.Run = gates.Met, gates.ClaimedMet, &gates.Run{Exit: &zero, Matched: true, DurationMS: 5}
		}
		r.Ledgers[0].Gates = append(r.Ledgers[0].Gates, g)
	}
	return r
}

// BenchmarkRender500 renders all surfaces of 500 gates with 1 MiB of output each:
// the target is 100 ms and less than 64 MiB.
func BenchmarkRender500(b *testing.B) {
	one := 1
	r := many(500, strings.Repeat("some output with a | and a ` in it\n", 1<<20/36), &one)
	b.ReportAllocs()
	for b.Loop() {
		Check(r, place)
		Comment(r, place, MaxComment)
		JobSummary(r, place, MaxSummary)
	}
}
