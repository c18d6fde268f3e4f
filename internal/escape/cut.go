package escape

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// ellipsis is 3 bytes, 1 character.
const ellipsis = "…"

// Cut gives s, or its beginning up to a character boundary and a mark that says
// how many bytes were left out: never more than maxBytes bytes. Where the mark
// does not fit it is "…", or nothing.
func Cut(s string, maxBytes int) string {
	if len(s) <= maxBytes {
		return s
	}
	if maxBytes < len(ellipsis) {
		return ""
	}
	// The number's width depends on the cut: reserve for the largest.
	room := maxBytes - len(mark(len(s)))
	if room < 0 {
		return boundary(s, maxBytes-len(ellipsis)) + ellipsis
	}
	kept := boundary(s, room)
	return kept + mark(len(s)-len(kept))
}

func mark(left int) string { return fmt.Sprintf("%s (%d bytes left out)", ellipsis, left) }

// boundary gives at most n bytes of s and does not end inside a character.
func boundary(s string, n int) string {
	if n >= len(s) {
		return s
	}
	for i := n; i >= 0 && i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			return s[:i]
		}
	}
	return s[:max(n, 0)] // no UTF-8: any place is as good
}

// Short gives s, or its beginning and "…": never more than maxChars characters
// (code points). It is for titles and commands inside a line.
func Short(s string, maxChars int) string {
	if len(s) <= maxChars || utf8.RuneCountInString(s) <= maxChars {
		return s
	}
	if maxChars < 1 {
		return ""
	}
	seen := 0
	for i := range s {
		if seen == maxChars-1 {
			return strings.TrimRight(s[:i], " ") + ellipsis
		}
		seen++
	}
	return s
}

// CutUTF16 gives the beginning of s that is at most maxUnits UTF-16 units long,
// without a mark and never half of a surrogate pair (evidence lines, whose
// length unlazy counts that way). An invalid byte counts as one unit.
func CutUTF16(s string, maxUnits int) string {
	if len(s) <= maxUnits {
		return s
	}
	units := 0
	for i, r := range s {
		units++
		if r > 0xFFFF {
			units++
		}
		if units > maxUnits {
			return s[:i]
		}
	}
	return s
}

// BMP replaces every character above U+FFFF by U+FFFD, for fields of annotations
// that take none (8-github-facts, row 4).
func BMP(s string) string {
	return strings.Map(func(r rune) rune {
		if r > 0xFFFF {
			return utf8.RuneError
		}
		return r
	}, s)
}
