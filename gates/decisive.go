package gates

import (
	"strings"

	"github.com/gatesworn/gatesworn/internal/lazyregexp"
)

// telling marks lines that usually say why a check failed.
var telling = lazyregexp.New(`(?i)\b(fail(ed|ure|s)?|error|panic|assert\w*|expected|got|not ok|undefined|cannot|exception|fatal|mismatch|missing|denied|refused)\b|✗|✘|×`)

// Decisive picks the lines of a failed check's output that a person needs: those
// that look like a failure and what follows the first one, else the last lines.
// At most limit characters are chosen (all lines with whole); more is how many
// non-blank lines were left out.
func Decisive(output string, limit int, whole bool) (lines []string, more int) {
	var all []string
	for l := range strings.SplitSeq(output, "\n") {
		if l = strings.TrimRight(l, " \t\r"); strings.TrimSpace(l) != "" {
			all = append(all, l)
		}
	}
	if whole {
		return all, 0
	}
	first := len(all) - 1
	for i, l := range all {
		if telling.MatchString(l) {
			first = i
			break
		}
	}
	if first < 0 {
		return nil, 0
	}
	if !telling.MatchString(all[first]) {
		first = max(0, len(all)-4)
	}
	lines = fill(all[first:], limit)
	return lines, len(all) - len(lines)
}

// fill takes lines from the front while they fit, cutting the one that does not.
func fill(all []string, limit int) []string {
	var out []string
	for _, l := range all {
		r := []rune(l)
		if len(r) > limit {
			if len(out) == 0 || limit > 40 {
				out = append(out, string(r[:max(0, limit-1)])+"…")
			}
			return out
		}
		out = append(out, l)
		if limit -= len(r); len(out) == 8 {
			return out
		}
	}
	return out
}
