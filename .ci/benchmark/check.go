package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// approved writes a ledger, has it approved and run once, and returns how to put
// the ledger back as it was.
func (b *bench) approved(dir, text string) (reset func() error, err error) {
	path := filepath.Join(dir, "GATES.md")
	if err := write(path, text); err != nil {
		return nil, err
	}
	if _, err := b.call(dir, "", 1, b.bin, "check", "--approve", "--jobs", "2"); err != nil {
		return nil, err
	}
	return func() error { return write(path, text) }, nil
}

// xargs compares 300 checks, evidence written, with the shell's own way to run them.
func (b *bench) xargs(dir string) error {
	const n = 300
	var lines strings.Builder
	for i := range n {
		lines.WriteString(command(i) + "\n")
	}
	reset, err := b.approved(dir, ledgerOf(n, trivial))
	if err != nil {
		return err
	}
	ours, err := b.timed(reset, func() (result, error) { return b.call(dir, "", 0, b.bin, "check", "--jobs", "2") })
	if err != nil {
		return err
	}
	theirs, err := b.timed(nil, func() (result, error) {
		return b.call(dir, lines.String(), 0, "xargs", "-P", "2", "-I{}", "sh", "-c", "{}")
	})
	if err != nil {
		return err
	}
	row("300 trivial gates, --jobs 2, beside xargs -P 2 sh -c", ratio(ours, theirs), fmt.Sprintf("≤ 1.25 ×   (%v; %v)", ours, theirs))
	return nil
}

// start compares check --status with a program that does nothing.
func (b *bench) start(dir string) error {
	empty := filepath.Join(dir, "empty")
	if err := write(filepath.Join(dir, "src", "main.go"), "package main\n\nfunc main() {}\n"); err != nil {
		return err
	}
	goTool := os.Getenv("GO")
	if goTool == "" {
		goTool = "go"
	}
	build := *b
	build.env = os.Environ()
	if _, err := build.call(filepath.Join(dir, "src"), "", 0, goTool, "build", "-o", empty, "main.go"); err != nil {
		return err
	}
	if _, err := b.approved(dir, ledgerOf(8, trivial)); err != nil {
		return err
	}
	more := *b
	more.rounds = 8 * b.rounds
	ours, err := more.timed(nil, func() (result, error) { return b.call(dir, "", 0, b.bin, "check", "--status") })
	if err != nil {
		return err
	}
	theirs, err := more.timed(nil, func() (result, error) { return b.call(dir, "", 0, empty) })
	if err != nil {
		return err
	}
	row("check --status on 8 gates, more than an empty Go program", "+"+millis(ours.wall-theirs.wall), fmt.Sprintf("≤ +10 ms   (%v; %v)", ours, theirs))
	return nil
}

// growth is the time at 8 times the gates.
func (b *bench) growth(dir string) error {
	check := func(n int) (took, error) {
		at := filepath.Join(dir, fmt.Sprint(n))
		reset, err := b.approved(at, ledgerOf(n, trivial))
		if err != nil {
			return took{}, err
		}
		return b.timed(reset, func() (result, error) { return b.call(at, "", 0, b.bin, "check", "--jobs", "2") })
	}
	small, err := check(200)
	if err != nil {
		return err
	}
	large, err := check(1600)
	if err != nil {
		return err
	}
	row("checking and writing 1600 gates beside 200", ratio(large, small), "≤ 9.5 ×")
	for _, what := range []string{"parse", "write"} {
		var all []took
		for _, n := range []int{2_000, 16_000} {
			path := filepath.Join(dir, fmt.Sprintf("%d.md", n))
			if err := write(path, ledgerOf(n, trivial)); err != nil {
				return err
			}
			d, _, err := b.children(what, path)
			if err != nil {
				return err
			}
			all = append(all, d)
		}
		name := map[string]string{"parse": "reading 16 000 gates beside 2 000", "write": "editing 16 000 gates beside 2 000"}[what]
		row(name, ratio(all[1], all[0]), "≤ 9.5 ×")
	}
	return nil
}

// flood is the memory of the checker while a check writes 1 GB.
func (b *bench) flood(dir string) error {
	text := "- [ ] G1: it writes a lot\n  CHECK: head -c 1073741824 /dev/zero\n  EXPECT: ok\n"
	if _, err := b.approved(dir, text); err != nil {
		return err
	}
	quiet := "- [ ] G1: it writes a lot\n  CHECK: echo ok\n  EXPECT: ok\n"
	if _, err := b.approved(filepath.Join(dir, "quiet"), quiet); err != nil {
		return err
	}
	r, err := b.call(dir, "", 1, b.bin, "check")
	if err != nil {
		return err
	}
	q, err := b.call(filepath.Join(dir, "quiet"), "", 1, b.bin, "check", "--reverify")
	if err != nil {
		return err
	}
	row("peak memory, a check that writes 1 GB", fmt.Sprintf("%.1f MiB", float64(r.peakKB)/1024),
		fmt.Sprintf("< 16 MiB more than a quiet check (%.1f MiB); stopped after %s", float64(q.peakKB)/1024, millis(r.wall)))
	return nil
}

// output is what an agent has to read.
func (b *bench) output(dir string) error {
	met := filepath.Join(dir, "met")
	reset, err := b.approved(met, ledgerOf(200, trivial))
	if err != nil {
		return err
	}
	if err := reset(); err != nil {
		return err
	}
	r, err := b.call(met, "", 0, b.bin, "check", "--jobs", "2")
	if err != nil {
		return err
	}
	row("output of a met run of 200 gates", fmt.Sprintf("%d bytes", len(r.out)), "≤ 8192 bytes")
	failed := filepath.Join(dir, "failed")
	text := "- [ ] G1: the parser refuses what the format does not allow, at its position\n" +
		"  CHECK: i=0; while [ $i -lt 500 ]; do echo \"=== RUN TestParser/case_$i\"; i=$((i+1)); done; echo '--- FAIL: TestParser (0.01s)'; echo '    parser_test.go:41: got 3 errors, want 4'; exit 1\n  EXPECT: PASS\n"
	if _, err := b.approved(failed, text); err != nil {
		return err
	}
	if r, err = b.call(failed, "", 1, b.bin, "check"); err != nil {
		return err
	}
	row("output of a run with one failed gate, verdict included", fmt.Sprintf("%d bytes", len(r.out)), "≤ 700 bytes for the block")
	return nil
}
