package ledger

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// maxShown bounds a line of a ledger in FormatFindings, in code points.
const maxShown = 160

// FormatFindings writes findings as people, editors and problem matchers read
// them, the source line and the corrected lines below each:
//
//	GATES.md:12:7: error: this gate has no id; an id is one word and a colon
//	  12 | - [ ] G1 — user can log in
//	 fix | - [ ] G1: user can log in
//
// Errors come first when there are more than limit, and the rest is counted;
// a limit of 0 or less shows everything. What cannot be seen is written as its
// code point. The error is the writer's.
func FormatFindings(w io.Writer, path string, findings []Finding, limit int) error {
	show := findings
	if limit > 0 && len(findings) > limit {
		show = mostImportant(findings, limit)
	}
	var b strings.Builder
	for _, f := range show {
		formatFinding(&b, path, f)
	}
	if n := len(findings) - len(show); n > 0 {
		fmt.Fprintf(&b, "and %d more: gatesworn lint\n", n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// mostImportant picks limit findings, errors before warnings, in line order.
func mostImportant(findings []Finding, limit int) []Finding {
	errs := 0
	for _, f := range findings {
		if f.Level != Warning {
			errs++
		}
	}
	warnings := max(0, limit-errs)
	var out []Finding
	for _, f := range findings {
		if len(out) == limit {
			break
		}
		if f.Level == Warning {
			if warnings == 0 {
				continue
			}
			warnings--
		}
		out = append(out, f)
	}
	return out
}

func formatFinding(b *strings.Builder, path string, f Finding) {
	b.WriteString(visible(path))
	if f.Line > 0 {
		fmt.Fprintf(b, ":%d:%d", f.Line, max(f.Column, 1))
	}
	fmt.Fprintf(b, ": %s: %s\n", f.Level, visible(f.Message))
	if f.Source != "" {
		fmt.Fprintf(b, "%4d | %s\n", f.Line, excerpt(f.Source, f.Column))
	}
	label := " fix"
	for _, l := range f.Fix {
		fmt.Fprintf(b, "%s | %s\n", label, cutRunes(visible(l), maxShown))
		label = "    "
	}
}

// excerpt is a source line, shortened around the column it is about.
func excerpt(line string, column int) string {
	line = visible(line)
	n := utf8.RuneCountInString(line)
	if n <= maxShown || column <= maxShown/2 {
		return cutRunes(line, maxShown)
	}
	from := min(column-maxShown/2, n-maxShown)
	if from <= 0 {
		return cutRunes(line, maxShown)
	}
	skipped := 0
	for i := range line {
		if skipped == from {
			return "…" + cutRunes(line[i:], maxShown)
		}
		skipped++
	}
	return line
}

// visible writes what cannot be seen or is not text as its code point or byte.
func visible(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && s[i] != 0xEF:
			fmt.Fprintf(&b, "<%02X>", s[i])
		case unseen(r):
			fmt.Fprintf(&b, "<%U>", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
