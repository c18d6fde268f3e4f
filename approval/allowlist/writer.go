package allowlist

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// writer writes compact JSON in the one spelling that RFC 8785, section 3.2.2.2,
// gives strings; encoding/json escapes more than that.
type writer struct{ bytes.Buffer }

func (w *writer) key(before, key string) {
	w.WriteString(before)
	w.text(key)
	w.WriteByte(':')
}

func (w *writer) text(s string) {
	w.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			w.WriteByte('\\')
			w.WriteByte(c)
		case c >= 0x20:
			w.WriteByte(c)
		case strings.IndexByte("\b\t\n\f\r", c) >= 0:
			w.WriteByte('\\')
			w.WriteByte("btn_fr"[c-'\b'])
		default:
			fmt.Fprintf(w, `\u%04x`, c)
		}
	}
	w.WriteByte('"')
}

// optional writes "" as null.
func (w *writer) optional(s string) {
	if s == "" {
		w.WriteString("null")
		return
	}
	w.text(s)
}

func (w *writer) number(n int) { w.WriteString(strconv.Itoa(n)) }

// array writes n elements with fn.
func (w *writer) array(n int, fn func(i int)) {
	w.WriteByte('[')
	for i := range n {
		if i > 0 {
			w.WriteByte(',')
		}
		fn(i)
	}
	w.WriteByte(']')
}

// indented is the compact JSON written so far with two blanks a level and a
// final newline.
func (w *writer) indented() []byte {
	var out bytes.Buffer
	if err := json.Indent(&out, w.Bytes(), "", "  "); err != nil {
		return nil // writer writes JSON only; nil equals no file's bytes
	}
	out.WriteByte('\n')
	return out.Bytes()
}

// quoted is the canonical JSON string of s.
func quoted(s string) string {
	var w writer
	w.text(s)
	return w.String()
}

// plain refuses text that a decoder may have changed, and control characters
// other than tab and newline.
func plain(s string) error {
	if !utf8.ValidString(s) || strings.ContainsRune(s, utf8.RuneError) {
		return fmt.Errorf("%q holds U+FFFD or invalid UTF-8", s)
	}
	for _, r := range s {
		if r < 0x20 && r != '\n' && r != '\t' || r == 0x7f {
			return fmt.Errorf("%q holds a control character", s)
		}
	}
	return nil
}
