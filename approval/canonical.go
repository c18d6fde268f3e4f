package approval

import (
	"bytes"
	"strconv"
)

// writer writes canonical JSON. encoding/json cannot: it escapes U+2028 and
// U+2029 even without HTML escaping, and writes null for a nil list.
type writer struct{ bytes.Buffer }

func (w *writer) field(before, key string) *writer {
	w.WriteString(before)
	w.text(key)
	w.WriteByte(':')
	return w
}

func (w *writer) number(n int) { w.WriteString(strconv.Itoa(n)) }

const hexDigits = "0123456789abcdef"

// text writes a string as RFC 8785, section 3.2.2.2, does.
func (w *writer) text(s string) {
	w.WriteByte('"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		w.WriteString(s[start:i])
		start = i + 1
		switch c {
		case '"', '\\':
			w.Write([]byte{'\\', c})
		case '\b':
			w.WriteString(`\b`)
		case '\t':
			w.WriteString(`\t`)
		case '\n':
			w.WriteString(`\n`)
		case '\f':
			w.WriteString(`\f`)
		case '\r':
			w.WriteString(`\r`)
		default:
			w.Write([]byte{'\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15]})
		}
	}
	w.WriteString(s[start:])
	w.WriteByte('"')
}

func (w *writer) optional(s *string) {
	if s == nil {
		w.WriteString("null")
		return
	}
	w.text(*s)
}

func (w *writer) list(values []string) {
	w.WriteByte('[')
	for i, v := range values {
		if i > 0 {
			w.WriteByte(',')
		}
		w.text(v)
	}
	w.WriteByte(']')
}

func (w *writer) files(files []BoundFile) {
	if files == nil {
		w.WriteString("null")
		return
	}
	w.WriteByte('[')
	for i, f := range files {
		if i > 0 {
			w.WriteByte(',')
		}
		w.field("{", "path").text(f.Path)
		w.field(",", "mode").text(f.Mode)
		w.field(",", "sha256").text(f.SHA256)
		w.WriteByte('}')
	}
	w.WriteByte(']')
}
