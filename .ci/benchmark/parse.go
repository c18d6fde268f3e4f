package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"github.com/gatesworn/gatesworn/gates/evidence"
	"github.com/gatesworn/gatesworn/gates/ledger"
)

// parse compares reading 80 000 gates with goldmark alone on the same bytes.
func (b *bench) parse(dir string) error {
	path := filepath.Join(dir, "GATES.md")
	if err := write(path, ledgerOf(80_000, trivial)); err != nil {
		return err
	}
	ours, peak, err := b.children("parse", path)
	if err != nil {
		return err
	}
	theirs, base, err := b.children("goldmark", path)
	if err != nil {
		return err
	}
	row("reading 80 000 gates, beside goldmark alone", ratio(ours, theirs), fmt.Sprintf("≤ 2 ×   (%v; %v)", ours, theirs))
	row("peak memory of reading them", fmt.Sprintf("%d MiB", peak>>10), fmt.Sprintf("< 250 MiB   (goldmark alone %d MiB)", base>>10))
	return nil
}

// children runs one step in processes of its own: the median time, the highest peak in KiB.
func (b *bench) children(what, path string) (took, int, error) {
	self, err := os.Executable()
	if err != nil {
		return took{}, 0, err
	}
	var walls, cpus []time.Duration
	peak := 0
	for range b.rounds {
		r, err := b.call(b.work, "", 0, self, "child", what, path)
		if err != nil {
			return took{}, 0, err
		}
		var ns int64
		var kb int
		if _, err := fmt.Sscan(r.out, &ns, &kb); err != nil {
			return took{}, 0, err
		}
		walls, cpus = append(walls, time.Duration(ns)), append(cpus, r.cpu)
		peak = max(peak, kb)
	}
	return took{median(walls), median(cpus)}, peak, nil
}

// child is one such process.
func child(what, path string) {
	data, err := os.ReadFile(path)
	if err != nil {
		fail(err)
	}
	began := time.Now()
	switch what {
	case "parse":
		if d := ledger.Parse(path, data); !d.OK() {
			fail(errors.New("the ledger is malformed"))
		}
	case "goldmark":
		md := goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote))
		md.Parser().Parse(text.NewReader(data))
	case "write":
		d := ledger.Parse(path, data)
		edits := make([]ledger.Edit, len(d.Gates))
		for i, g := range d.Gates {
			line, err := evidence.Format(g, evidence.Run{Output: "ok", Shell: "/bin/sh", Dir: "/work", Path: "/bin"})
			if err != nil {
				fail(err)
			}
			edits[i] = ledger.Edit{ID: g.ID, Ticked: true, Evidence: line}
		}
		began = time.Now()
		if _, err := d.Apply(edits); err != nil {
			fail(err)
		}
	}
	fmt.Println(time.Since(began).Nanoseconds(), highWater())
}

// highWater is VmHWM in KiB, 0 where there is no /proc.
func highWater() int {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				return 0
			}
			return n
		}
	}
	return 0
}
