package escape

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	zeroWidthJoiner = '\u200D'
	emojiSelector   = '\uFE0F'
	keycap          = '\u20E3'
)

// IsInvisible reports whether a character can hide in text or reorder it: Cc
// except tab, Cf, Zl, Zp, the Hangul fillers and U+E0000 to U+E0FFF. A ledger
// allows two of them in some places (U+200D; U+FE0F is not in the list); that is
// the caller's rule.
func IsInvisible(r rune) bool {
	switch {
	case r == '\t' || ' ' <= r && r <= '~':
		return false
	case r == 0x115F || r == 0x1160 || r == 0x3164 || r == 0xFFA0:
		return true
	case 0xE0000 <= r && r <= 0xE0FFF:
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// ignorable adds what a page shows as nothing though IsInvisible leaves it to
// ledgers: variation selectors, joiners among the marks, reserved code points
// (Unicode's Default_Ignorable_Code_Point), and the noncharacters, which XML
// forbids in part.
func ignorable(r rune) bool {
	switch {
	case r == 0x034F || r == 0x17B4 || r == 0x17B5 || r == 0x2065:
		return true
	case 0x180B <= r && r <= 0x180F, 0xFE00 <= r && r <= 0xFE0F, 0xFFF0 <= r && r <= 0xFFF8:
		return true
	case r&0xFFFE == 0xFFFE, 0xFDD0 <= r && r <= 0xFDEF:
		return true
	}
	return IsInvisible(r)
}

// Line makes s one line of text: a tab becomes a blank, line ends, control, bidi
// and invisible characters become visible escapes such as \n, \x1b and \u202e,
// invalid UTF-8 becomes U+FFFD. Nothing is removed. Joiners stay inside emoji and
// after a virama. It does not allocate when there is nothing to do.
func Line(s string) string { return visible(s, false) }

// Block is for text of several lines, such as output: escape sequences and
// overwritten text are removed as StripANSI does, tab and newline stay, and the
// rest is made visible as in Line.
func Block(s string) string { return visible(StripANSI(s), true) }

func visible(s string, block bool) string {
	i := firstToChange(s, block)
	if i == len(s) {
		return s
	}
	s = validUTF8(s)
	var b strings.Builder
	b.Grow(len(s) + 16)
	b.WriteString(s[:i])
	prev, _ := utf8.DecodeLastRuneInString(s[:i])
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\t' && !block:
			b.WriteByte(' ')
		case r == '\t' || r == '\n' && block:
			b.WriteRune(r)
		case ignorable(r) && !belongs(r, prev, s[i+n:]):
			writeVisible(&b, r)
		default:
			b.WriteString(s[i : i+n])
		}
		prev = r
		i += n
	}
	return b.String()
}

// firstToChange gives the length of the part of s that stays as it is.
func firstToChange(s string, block bool) int {
	var prev rune
	for i := 0; i < len(s); {
		c := s[i]
		if ' ' <= c && c <= '~' || block && (c == '\t' || c == '\n') {
			prev = rune(c)
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == '\t' || r == utf8.RuneError && n == 1 || ignorable(r) && !belongs(r, prev, s[i+n:]) {
			return i
		}
		prev = r
		i += n
	}
	return len(s)
}

// belongs tells the joiners and selectors that emoji and Indic scripts are
// written with from those that hide in other text.
func belongs(r, prev rune, rest string) bool {
	next, _ := utf8.DecodeRuneInString(rest)
	switch r {
	case emojiSelector:
		return next == keycap || prev > unicode.MaxASCII && !ignorable(prev)
	case zeroWidthJoiner:
		emoji := prev == emojiSelector || unicode.In(prev, unicode.So, unicode.Sk)
		if emoji {
			return unicode.In(next, unicode.So, unicode.Sm)
		}
		return unicode.Is(unicode.M, prev) && !ignorable(prev) && unicode.IsLetter(next)
	}
	return false
}

func writeVisible(b *strings.Builder, r rune) {
	switch {
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\r':
		b.WriteString(`\r`)
	case r < 0x80:
		fmt.Fprintf(b, `\x%02x`, r)
	case r <= 0xFFFF:
		fmt.Fprintf(b, `\u%04x`, r)
	default:
		fmt.Fprintf(b, `\u{%x}`, r)
	}
}
