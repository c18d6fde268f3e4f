package escape

import (
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
)

// UTF8 decodes bytes as a browser or Node does (WHATWG Encoding): every maximal
// part of an invalid sequence becomes one U+FFFD. A byte order mark stays.
// bytes.ToValidUTF8 differs: it joins neighbours into one.
func UTF8(b []byte) string { return validUTF8(string(b)) }

func validUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	// The decoder replaces and never fails; should it, nothing unchecked gets through.
	decoded, err := unicode.UTF8.NewDecoder().String(s)
	if err != nil {
		return "\uFFFD"
	}
	return decoded
}
