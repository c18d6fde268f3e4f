package expect

import (
	"strings"
	"unicode/utf8"
)

// Bounds of the search for the closest line, in bytes.
const (
	maxNeedle = 200
	maxPiece  = 400 // a longer line is looked at in pieces
)

// closest returns the line of output that shares most with text, trimmed, or
// "" if none shares at least two fifths of its pairs of letters. Among equals
// the shortest wins, then the last. Cost is linear in the output.
func closest(text, output string) string {
	want := newBigrams(text[:min(len(text), maxNeedle)])
	if want.total == 0 {
		return ""
	}
	best, bestScore := "", (want.total*2+4)/5
	for line := range strings.Lines(output) {
		for start, end := 0, 0; end < len(line); {
			end = start + boundary(line[start:], maxPiece)
			piece := strings.TrimSpace(line[start:end])
			score := want.shared(piece)
			if score > bestScore || score == bestScore && (best == "" || len(piece) <= len(best)) {
				best, bestScore = piece, score
			}
			start += boundary(line[start:], maxPiece/2) // the next piece begins inside this one
		}
	}
	return best
}

// boundary returns the start of a character in s at or before n, and not 0.
func boundary(s string, n int) int {
	if n >= len(s) {
		return len(s)
	}
	for i := n; i > 0; i-- {
		if utf8.RuneStart(s[i]) {
			return i
		}
	}
	return n
}

// bigrams counts the distinct pairs of neighbouring bytes in a text, letters in
// lower case.
type bigrams struct {
	wanted [1 << 16]bool
	seen   [1 << 16]uint32 // the round in which a pair was last counted
	round  uint32
	total  int
}

func newBigrams(text string) *bigrams {
	p := new(bigrams)
	for i := 1; i < len(text); i++ {
		if k := key(text[i-1], text[i]); !p.wanted[k] {
			p.wanted[k] = true
			p.total++
		}
	}
	return p
}

// shared returns how many of the pairs line has.
func (p *bigrams) shared(line string) int {
	p.round++
	n := 0
	for i := 1; i < len(line); i++ {
		k := key(line[i-1], line[i])
		if p.wanted[k] && p.seen[k] != p.round {
			p.seen[k] = p.round
			n++
		}
	}
	return n
}

func key(a, b byte) uint16 { return uint16(lower(a))<<8 | uint16(lower(b)) }

func lower(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}
