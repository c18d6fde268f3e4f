package expect

import (
	"fmt"
	"strings"
	"testing"
)

func BenchmarkEngineStart(b *testing.B) {
	for b.Loop() {
		m, err := newMachine(Limit)
		if err != nil {
			b.Fatal(err)
		}
		m.close()
	}
}

func BenchmarkFirstMatch(b *testing.B) {
	for b.Loop() {
		if ok, err := Match("/^15$/m", "15\n"); !ok || err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	big := strings.Repeat("abcdefghij klmno\n", 1<<20/17)
	for _, c := range []struct{ name, value, output string }{
		{"line", "/^15$/m", "15\n"},
		{"1MiB", "/END$/", big + "END"},
		{"1MiB/wide", "/END$/", big + "中END"},
		{"1MiB/lines", "/^END$/m", big + "END"},
		{"1MiB/ignorecase", "/end$/i", big + "END"},
		{"1MiB/substring", "END", big + "END"},
	} {
		b.Run(c.name, func(b *testing.B) {
			e := New()
			defer e.Close()
			for b.Loop() {
				if ok, err := e.Match(c.value, c.output); !ok || err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkValidate80000 reads the patterns of a ledger of 8 MiB.
func BenchmarkValidate80000(b *testing.B) {
	for _, c := range []struct{ name, format string }{
		{"substring", "%d passed"}, {"plain", "/^%d passed$/m"}, {"engine", `/^%d \w+$/m`}, {"same", `/^1 \w+$/m%.0d`},
	} {
		values := make([]string, 80_000)
		for i := range values {
			values[i] = fmt.Sprintf(c.format, i)
		}
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				e := New()
				for _, v := range values {
					if err := e.Validate(v); err != nil {
						b.Fatal(err)
					}
				}
				e.Close()
			}
		})
	}
}

func BenchmarkExplain(b *testing.B) {
	big := strings.Repeat("abcdefghij klmno\n", 1<<20/17)
	e := New()
	defer e.Close()
	for b.Loop() {
		e.Explain("42 passed, 0 failed", big)
	}
}
