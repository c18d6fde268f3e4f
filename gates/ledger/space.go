package ledger

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// isBlank is JavaScript's white space, which decides where a value starts and
// ends (ECMA-262, WhiteSpace and LineTerminator): unlazy trims with it.
func isBlank(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', ' ', 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF:
		return true
	}
	return r >= 0x2000 && r <= 0x200A
}

func trim(s string) string      { return strings.TrimFunc(s, isBlank) }
func trimLeft(s string) string  { return strings.TrimLeftFunc(s, isBlank) }
func trimRight(s string) string { return strings.TrimRightFunc(s, isBlank) }

// cutWord splits s at its first blank: `(\S*)\s*(.*)`.
func cutWord(s string) (word, rest string) {
	i := strings.IndexFunc(s, isBlank)
	if i < 0 {
		return s, ""
	}
	return s[:i], trimLeft(s[i:])
}

// blankPrefix is the number of bytes of leading white space.
func blankPrefix(s string) int { return len(s) - len(trimLeft(s)) }

// unseen reports whether a character leaves no mark on a page: controls, the
// format characters, line separators, fillers and tags that 10-fine-print
// lists, and the other default-ignorable characters (Unicode 15.1, chapter 23:
// variation selectors, joiners, vowel fillers) with the blank Braille cell.
func unseen(r rune) bool {
	switch {
	case r == '\t':
		return false
	case r < 0x20, r >= 0x7F && r < 0xA0:
		return true
	case r < 0xAD:
		return false
	case r >= 0xE0000 && r <= 0xE0FFF, r >= 0xFE00 && r <= 0xFE0F, r >= 0x180B && r <= 0x180F:
		return true
	}
	switch r {
	case 0x2028, 0x2029, 0x115F, 0x1160, 0x3164, 0xFFA0, 0x034F, 0x17B4, 0x17B5, 0x2800, 0xFFFC:
		return true
	}
	return unicode.Is(unicode.Cf, r)
}

// joiner reports the two unseen characters that emoji and several scripts need;
// outcomes and evidence may hold them.
func joiner(r rune) bool { return r == 0x200D || r == 0xFE0F }

// plain reports whether s is printable ASCII and tabs only: the common case,
// which needs no further look.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= 0x7F || c < 0x20 && c != '\t' {
			return false
		}
	}
	return true
}

// stripUnseen drops what cannot be seen, for a fix line.
func stripUnseen(s string, keep func(rune) bool) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unseen(r) && !keep(r) {
			return -1
		}
		return r
	}, s)
}

func never(rune) bool { return false }
