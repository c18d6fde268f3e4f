package ledger_test

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// sizes are numbers of gates: 80 000 fill 8 MiB.
var sizes = [...]int{8, 10_000, 80_000}

// generated is a ledger of n ordinary gates; extra goes into every command.
func generated(n int, extra string) []byte {
	var b strings.Builder
	b.Grow(n * (92 + len(extra)))
	b.WriteString("# Gates\n\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "- [ ] G%d: outcome %d\n  CHECK: node c.mjs %d%s\n  EXPECT: all fine\n  EVIDENCE: pending\n\n", i, i, i, extra)
	}
	return []byte(b.String())
}

func BenchmarkParse(b *testing.B) {
	for _, extra := range []string{"", " [ a ]"} {
		for _, n := range sizes {
			data := generated(n, extra)
			b.Run(fmt.Sprintf("gates=%d/inline=%v", n, extra != ""), func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				for b.Loop() {
					if d := (ledger.Parser{}).Parse(b.Context(), "GATES.md", data); len(d.Gates) != n || !d.OK() {
						b.Fatal(d.Findings)
					}
				}
				reportPeak(b)
			})
		}
	}
}

// BenchmarkGoldmark is the yardstick of BenchmarkParse: GFM and footnotes, on
// the same bytes.
func BenchmarkGoldmark(b *testing.B) {
	md := goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote))
	for _, extra := range []string{"", " [ a ]"} {
		for _, n := range sizes {
			data := generated(n, extra)
			b.Run(fmt.Sprintf("gates=%d/inline=%v", n, extra != ""), func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				for b.Loop() {
					md.Parser().Parse(text.NewReader(data))
				}
				reportPeak(b)
			})
		}
	}
}

func BenchmarkApply(b *testing.B) {
	for _, n := range sizes {
		d := ledger.Parse("GATES.md", generated(n, ""))
		edits := make([]ledger.Edit, n)
		for i := range edits {
			edits[i] = ledger.Edit{ID: "G" + strconv.Itoa(i+1), Ticked: true, Evidence: "seen"}
		}
		b.Run(fmt.Sprintf("gates=%d", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := d.Apply(edits); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// reportPeak adds the process's peak memory, where the system tells it. Only the
// first sub-benchmark of a process that runs one says something about it.
func reportPeak(b *testing.B) {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmHWM:" {
			if kb, err := strconv.Atoi(f[1]); err == nil {
				b.ReportMetric(float64(kb)/1024, "peak-MiB")
			}
		}
	}
}

// BenchmarkGrowth reports how much longer eight times the gates take, the best
// of five each.
func BenchmarkGrowth(b *testing.B) {
	best := func(n int) time.Duration {
		data := generated(n, "")
		least := time.Duration(math.MaxInt64)
		for range 5 {
			start := time.Now()
			if d := (ledger.Parser{}).Parse(b.Context(), "GATES.md", data); !d.OK() {
				b.Fatal(d.Findings)
			}
			least = min(least, time.Since(start))
		}
		return least
	}
	for b.Loop() {
		small := best(10_000)
		b.ReportMetric(float64(best(80_000))/float64(small), "x-for-8x")
	}
}
