package evidence

import (
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
)

// Canonical joins the streams as the expectation sees them. ok is false beyond MaxOutput.
//
// Each stream is decoded by itself, then, if both are non-empty, one newline
// goes between them. The limit holds for the bytes of both streams and for the
// bytes of the result: what is no UTF-8 grows to three bytes.
func Canonical(stdout, stderr []byte) (text string, ok bool) {
	if len(stdout)+len(stderr) > MaxOutput {
		return "", false
	}
	text = decode(stdout)
	if len(stdout) > 0 && len(stderr) > 0 {
		text += "\n"
	}
	text += decode(stderr)
	if len(text) > MaxOutput {
		return "", false
	}
	return text, true
}

// decode replaces what is no UTF-8 by U+FFFD, one for each maximal sub-part
// (WHATWG Encoding, as Node does). strings.ToValidUTF8 counts differently. A
// byte order mark stays.
func decode(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	out, err := unicode.UTF8.NewDecoder().Bytes(b)
	if err != nil {
		// The decoder replaces and has no errors; were there one, the text
		// must not pass for what was printed.
		return "\ufffd"
	}
	return string(out)
}
