package store

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/gatesworn/gatesworn/approval"
)

// differences names what a record that is there binds otherwise, in the order of
// how surprising it is.
func differences(was, is Binding) []string {
	var d []string
	add := func(name, a, b string) {
		if a != b {
			d = append(d, fmt.Sprintf("%s: was %s", name, a))
		}
	}
	add("ledger path", was.Ledger, is.Ledger)
	add("shell", was.Shell, is.Shell)
	add("directory", was.Dir, is.Dir)
	add("timeout", fmt.Sprintf("%ds", was.Timeout), fmt.Sprintf("%ds", is.Timeout))
	add("platform", was.Platform, is.Platform)
	if was.Path != is.Path {
		d = append(d, "PATH: "+pathDifference(was.Path, is.Path))
	}
	return d
}

// pathDifference counts entries; their values may name private folders.
func pathDifference(was, is string) string {
	gone, come := minus(was, is), minus(is, was)
	switch n := max(gone, come); {
	case n == 0:
		return "the same entries in another order"
	case n == 1:
		return "1 entry differs"
	default:
		return fmt.Sprintf("%d entries differ", n)
	}
}

// minus counts the entries of a that b lacks.
func minus(a, b string) int {
	have := map[string]int{}
	for _, e := range filepath.SplitList(b) {
		have[e]++
	}
	n := 0
	for _, e := range filepath.SplitList(a) {
		if have[e]--; have[e] < 0 {
			n++
		}
	}
	return n
}

// nearer says what differs between a record and what is asked for, and how far
// they are apart.
func nearer(was Binding, at time.Time, is Binding) (text string, distance int) {
	bound := differences(was, is)
	changed := approval.Diff(was.Oracle, is.Oracle)
	distance = len(bound) + 10*len(changed)
	if len(changed) > 0 {
		return approval.Sentence(changed, "what was approved here on "+at.UTC().Format(time.DateOnly)), distance
	}
	if len(bound) == 1 {
		return "approved before with another " + bound[0], distance
	}
	names := make([]string, len(bound))
	for i, b := range bound {
		names[i], _, _ = strings.Cut(b, ":")
	}
	if len(names) == 0 {
		return "", distance
	}
	last := len(names) - 1
	return fmt.Sprintf("approved before with another %s and %s", strings.Join(names[:last], ", "), names[last]), distance
}
