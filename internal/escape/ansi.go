package escape

import (
	"strings"
	"unicode/utf8"
)

const (
	bell = 0x07
	bs   = 0x08
	can  = 0x18
	sub  = 0x1A
	esc  = 0x1B
)

// StripANSI gives what a terminal would show of s in the end: escape and control
// sequences (CSI, OSC with hyperlinks, DCS, APC, PM, SOS; with ESC or as 8-bit C1,
// raw or as U+0080 to U+009F) are removed, a carriage return or backspace lets
// what follows overwrite, and a line that is erased is gone. Moves to other lines
// are ignored. A control string without an end (at the end of the line or of the
// text) loses its introducer only, so that it hides nothing. CR LF becomes LF;
// other control characters stay for Line and Block.
//
// charmbracelet/x/ansi is not used for it: it ends a control string at the byte
// 0x9C inside "✜", swallows the rest after a string without an end, and keeps
// carriage returns and backspaces.
func StripANSI(s string) string {
	if !hasSequence(s) {
		return s
	}
	var out strings.Builder
	out.Grow(len(s))
	var row row
	for len(s) > 0 {
		line, rest, ended := strings.Cut(s, "\n")
		if hasSequence(line) {
			row.show(strings.TrimSuffix(line, "\r"))
			row.writeTo(&out)
		} else {
			out.WriteString(line)
		}
		if ended {
			out.WriteByte('\n')
		}
		s = rest
	}
	return out.String()
}

func hasSequence(s string) bool {
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c == esc || c == '\r' || c == bs {
				return true
			}
			i++
			continue
		}
		r, n := decode(s[i:])
		if isC1(r) {
			return true
		}
		i += n
	}
	return false
}

// decode gives an invalid byte as itself: raw 8-bit C1, or what UTF8 will replace.
func decode(s string) (rune, int) {
	r, n := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && n == 1 {
		return rune(s[0]), 1
	}
	return r, n
}

func isC1(r rune) bool { return 0x80 <= r && r <= 0x9F }

// row is one line of a terminal, one character a cell.
type row struct {
	cells  []string
	cursor int
	// What is known to lack an end on this line; without it a row of
	// introducers would be searched to the end for each of them.
	endless, endlessOSC bool
}

func (w *row) show(line string) {
	*w = row{cells: w.cells[:0]}
	for len(line) > 0 {
		r, n := decode(line)
		switch {
		case r == esc && len(line) > 1 && '@' <= line[1] && line[1] <= '_':
			line = w.sequence(rune(line[1])+0x40, line[2:])
		case r == esc:
			line = afterEscape(line[1:])
		case isC1(r):
			line = w.sequence(r, line[n:])
		case r == '\r':
			w.cursor = 0
			line = line[n:]
		case r == bs:
			w.cursor = max(0, w.cursor-1)
			line = line[n:]
		default:
			w.put(line[:n])
			line = line[n:]
		}
	}
}

func (w *row) put(cell string) {
	if w.cursor < len(w.cells) {
		w.cells[w.cursor] = cell
	} else {
		w.cells = append(w.cells, cell)
	}
	w.cursor++
}

func (w *row) writeTo(out *strings.Builder) {
	for _, cell := range w.cells {
		out.WriteString(cell)
	}
}

// sequence skips what the C1 control introduces and gives what follows it.
func (w *row) sequence(control rune, rest string) string {
	switch control {
	case 0x9B: // CSI
		return w.controlSequence(rest)
	case 0x90, 0x98, 0x9D, 0x9E, 0x9F: // DCS, SOS, OSC, PM, APC
		return w.controlString(rest, control == 0x9D)
	}
	return rest
}

// controlString skips to the end of a control string, or nothing if it has none.
func (w *row) controlString(s string, osc bool) string {
	if w.endlessOSC || w.endless && !osc {
		return s
	}
	rest, ended := afterString(s, osc)
	switch {
	case ended:
		return rest
	case osc: // has all the ends the others have
		w.endlessOSC = true
	default:
		w.endless = true
	}
	return s
}

// controlSequence skips parameters, intermediates and the final byte (ECMA-48
// 5.4). What breaks the form ends it and stays.
func (w *row) controlSequence(s string) string {
	i := 0
	for i < len(s) && 0x30 <= s[i] && s[i] <= 0x3F {
		i++
	}
	parameters := s[:i]
	for i < len(s) && 0x20 <= s[i] && s[i] <= 0x2F {
		i++
	}
	if i == len(s) || s[i] < 0x40 || s[i] > 0x7E {
		return s[i:]
	}
	if s[i] == 'K' {
		w.erase(parameters)
	}
	return s[i+1:]
}

// erase follows EL: 0 or nothing erases from the cursor to the end, 2 the whole
// row. A terminal leaves the cursor where it is then; programs move it to the
// start themselves, and blanks in front of what they write tell nobody anything.
func (w *row) erase(parameters string) {
	switch parameters {
	case "2":
		w.cells, w.cursor = w.cells[:0], 0
	case "", "0":
		w.cells = w.cells[:w.cursor]
	}
}

// afterString looks for the end of a control string: ST, for OSC also BEL; CAN,
// SUB and any other escape cancel it.
func afterString(s string, osc bool) (rest string, ended bool) {
	for i := 0; i < len(s); {
		r, n := decode(s[i:])
		switch {
		case r == bell && osc, r == 0x9C, r == can, r == sub:
			return s[i+n:], true
		case r == esc && strings.HasPrefix(s[i+1:], `\`):
			return s[i+2:], true
		case r == esc:
			return s[i:], true
		}
		i += n
	}
	return s, false
}

// afterEscape skips intermediates and one final byte after an ESC that
// introduces nothing longer, such as a choice of character set.
func afterEscape(s string) string {
	i := 0
	for i < len(s) && 0x20 <= s[i] && s[i] <= 0x2F {
		i++
	}
	if i < len(s) && 0x30 <= s[i] && s[i] <= 0x7E {
		i++
	}
	return s[i:]
}
