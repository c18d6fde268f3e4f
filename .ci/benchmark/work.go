package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// repository makes dir a git repository with one commit of what is in it.
func (b *bench) repository(dir string) error {
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"commit", "-q", "-m", "first"}} {
		if _, err := b.call(dir, "", 0, "git", args...); err != nil {
			return err
		}
	}
	return nil
}

// receipts compares a second run, with nothing changed, with hashing the tree.
func (b *bench) receipts(dir string) error {
	const files, size = 4000, 16 << 10
	block := strings.Repeat("0123456789abcde\n", size/16)
	for i := range files {
		if err := write(filepath.Join(dir, fmt.Sprintf("src/%d/f%d.txt", i/100, i)), fmt.Sprintf("%d\n%s", i, block)); err != nil {
			return err
		}
	}
	text := ledgerOf(200, func(i int) string {
		s := trivial(i)
		if i%2 == 0 {
			s += fmt.Sprintf("  DEPENDS: src/%d/**\n", i/2%40)
		}
		return s
	})
	if err := write(filepath.Join(dir, "GATES.md"), text); err != nil {
		return err
	}
	if err := b.repository(dir); err != nil {
		return err
	}
	first, err := b.call(dir, "", 0, b.bin, "check", "--approve", "--receipts", "--jobs", "2")
	if err != nil {
		return err
	}
	plain, err := b.timed(nil, func() (result, error) { return b.call(dir, "", 0, b.bin, "check", "--reverify", "--jobs", "2") })
	if err != nil {
		return err
	}
	if _, err := b.call(dir, "", 0, b.bin, "check", "--reverify", "--receipts", "--jobs", "2"); err != nil {
		return err
	}
	ours, err := b.timed(nil, func() (result, error) {
		r, err := b.call(dir, "", 0, b.bin, "check", "--receipts")
		if n := strings.Count(r.out, "reused, from"); err == nil && n != 200 {
			return r, fmt.Errorf("%d of 200 gates were reused", n)
		}
		return r, err
	})
	if err != nil {
		return err
	}
	theirs, err := b.timed(nil, func() (result, error) {
		return b.call(dir, "", 0, "sh", "-c", "find src GATES.md -type f -print0 | xargs -0 sha256sum")
	})
	if err != nil {
		return err
	}
	row("200 reusable gates over 64 MB, beside sha256sum", ratio(ours, theirs),
		fmt.Sprintf("≤ 3 ×   (%v; %v; measuring them %v; first run %v)", ours, theirs, plain, first.took))
	return nil
}

// plan chooses from 5000 tasks.
func (b *bench) plan(dir string) error {
	const n = 5000
	var table strings.Builder
	table.WriteString("# Plan\n\nContract revision: 1.\n\n| Leaf | Owns | Needs | Tier | Planned wave | State |\n|---|---|---|---|---|---|\n")
	leaves := map[string]any{}
	for i := range n {
		id, needs := fmt.Sprintf("t%04d", i), "-"
		if i >= 50 {
			needs = fmt.Sprintf("t%04d", i-50)
		}
		fmt.Fprintf(&table, "| %s | src/%s | %s | mechanical | %d | WAITING |\n", id, id, needs, i/50+1)
		leaves[id] = map[string]any{"complete": true, "reads": []string{}, "resourceReads": []string{}, "resourceWrites": []string{}}
		text := fmt.Sprintf("OWNS: src/%s\n\n- [ ] G1: a\n  CHECK: true\n  EXPECT: /^/\n", id)
		if err := write(filepath.Join(dir, ".unlazy/s/gates/leaf-"+id+".md"), text); err != nil {
			return err
		}
	}
	access, err := json.Marshal(map[string]any{"schema": 1, "contractRevision": 1, "leaves": leaves})
	if err != nil {
		return err
	}
	if err := write(filepath.Join(dir, ".unlazy/s/PLAN.md"), table.String()); err != nil {
		return err
	}
	if err := write(filepath.Join(dir, ".unlazy/s/ACCESS.json"), string(access)); err != nil {
		return err
	}
	bytes, code := 0, 0
	took, err := b.timed(nil, func() (result, error) {
		r, err := b.call(dir, "", 1, b.bin, "plan", "next", "--scope", "s", "--slots", "8")
		bytes, code = len(r.out), r.code
		return r, err
	})
	if err != nil {
		return err
	}
	row("plan next over 5000 tasks", millis(took.wall), fmt.Sprintf("≤ 200 ms   (%v)", took))
	row("its answer", fmt.Sprintf("%d bytes", bytes), fmt.Sprintf("< 1024 bytes   (status %d)", code))
	return nil
}

// stop answers an agent about a scope of 20 ledgers.
func (b *bench) stop(dir string) error {
	for i := range 20 {
		text := fmt.Sprintf("OWNS: src/%d\n\n%s", i, ledgerOf(10, trivial))
		if err := write(filepath.Join(dir, fmt.Sprintf(".unlazy/s/gates/leaf-l%d.md", i)), text); err != nil {
			return err
		}
	}
	input := fmt.Sprintf(`{"session_id":"bench","cwd":%q,"stop_hook_active":false}`, dir)
	took, err := b.timed(nil, func() (result, error) { return b.call(dir, input, 0, b.bin, "hook", "stop", "--scope", "s") })
	if err != nil {
		return err
	}
	row("hook stop, a scope of 20 ledgers", millis(took.wall), fmt.Sprintf("≤ 20 ms   (%v)", took))
	return nil
}

// lease claims and releases one leaf beside 200 live leases.
func (b *bench) lease(dir string) error {
	for i := range 201 {
		text := fmt.Sprintf("OWNS: src/%d/**\n\n- [ ] G1: a\n  CHECK: true\n  EXPECT: /^/\n", i)
		if err := write(filepath.Join(dir, fmt.Sprintf(".unlazy/s/gates/leaf-l%d.md", i)), text); err != nil {
			return err
		}
	}
	for i := range 200 {
		if _, err := b.call(dir, "", 0, b.bin, "scope", "claim", "--scope", "s", "--leaf", fmt.Sprintf("leaf-l%d", i)); err != nil {
			return err
		}
	}
	const name = "leaf-l200"
	release := func() (result, error) {
		return b.call(dir, "", 0, b.bin, "scope", "release", "--scope", "s", "--leaf", name)
	}
	claim := func() (result, error) {
		return b.call(dir, "", 0, b.bin, "scope", "claim", "--scope", "s", "--leaf", name)
	}
	claimed, err := b.timed(func() error { _, _ = release(); return nil }, claim)
	if err != nil {
		return err
	}
	released, err := b.timed(func() error { _, _ = claim(); return nil }, release)
	if err != nil {
		return err
	}
	row("scope claim beside 200 leases", millis(claimed.wall), fmt.Sprintf("≤ 20 ms   (%v)", claimed))
	row("scope release beside 200 leases", millis(released.wall), fmt.Sprintf("≤ 20 ms   (%v)", released))
	return nil
}

// push looks at a commit as the pre-push hook does by default.
func (b *bench) push(dir string) error {
	for i := range 500 {
		if err := write(filepath.Join(dir, fmt.Sprintf("src/f%d.txt", i)), strings.Repeat("x\n", 500)); err != nil {
			return err
		}
	}
	if err := write(filepath.Join(dir, "GATES.md"), ledgerOf(8, trivial)); err != nil {
		return err
	}
	if err := b.repository(dir); err != nil {
		return err
	}
	r, err := b.call(dir, "", 0, "git", "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	zero := strings.Repeat("0", 40)
	input := fmt.Sprintf("refs/heads/main %s refs/heads/main %s\n", strings.TrimSpace(r.out), zero)
	took, err := b.timed(nil, func() (result, error) {
		return b.call(dir, input, 1, b.bin, "hook", "pre-push", "origin", "https://example.org/x")
	})
	if err != nil {
		return err
	}
	row("the default pre-push hook", millis(took.wall), fmt.Sprintf("≤ 60 ms   (%v)", took))
	return os.RemoveAll(dir)
}
