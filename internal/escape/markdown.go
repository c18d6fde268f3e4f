package escape

import "strings"

// apart is put where GitHub would see a mention, a reference, a link or an emoji:
// those are found in the rendered page, where a backslash or an entity is gone. A
// zero width space parts the text there. Line leaves none in foreign text, so
// every one in the result is ours.
const apart = "&#8203;"

// longestLoose is how many hexadecimal digits in a row GitHub never takes for a commit: it links from 7.
const longestLoose = 6

// Inline is Line for running Markdown text: it renders as the text it is. No
// markup, HTML, mention (@name), reference (#1, GH-1, owner/repo#1, KEY-1),
// commit, bare address, emoji shortcode or formula comes of it, and it can stand
// at the start of a line. Blanks at both ends are dropped.
func Inline(s string) string { return markdown(strings.Trim(Line(s), " "), true) }

// Cell is Inline for a cell of a table: no character ends the cell or the row.
func Cell(s string) string { return Inline(s) }

// markdown writes text that parses to itself; guarded puts the breaks in.
func markdown(s string, guarded bool) string {
	var b strings.Builder
	b.Grow(len(s) + len(s)/4)
	w := writer{b: &b, s: s, guarded: guarded}
	for w.i < len(s) {
		w.next()
	}
	return b.String()
}

type writer struct {
	b       *strings.Builder
	s       string
	i       int
	guarded bool
}

func (w *writer) next() {
	if n := hexRun(w.s[w.i:]); n > 0 {
		w.digits(n)
		return
	}
	c := w.s[w.i]
	w.b.WriteString(w.encode(c))
	if w.guarded && w.splits(c) {
		w.b.WriteString(apart)
	}
	w.i++
}

// digits writes n hexadecimal digits and parts a long row of them.
func (w *writer) digits(n int) {
	run := w.s[w.i : w.i+n]
	w.i += n
	for w.guarded && n > longestLoose && len(run) > longestLoose {
		w.b.WriteString(run[:longestLoose] + apart)
		run = run[longestLoose:]
	}
	w.b.WriteString(run)
}

// encode gives one byte of text as Markdown. Only ASCII has meaning there.
func (w *writer) encode(c byte) string {
	switch c {
	case '&':
		return "&amp;"
	case '<':
		return "&lt;"
	case '>':
		return "&gt;"
	case '"':
		return "&quot;"
	case '|':
		return "&#124;"
	case '\\':
		return "&#92;"
	case '*', '_', '~', '`', '[', ']', '#', '^', '!':
		return `\` + string(c)
	case '$':
		// GitHub's own advice against a formula; a backslash does not always help.
		return "<span>$</span>"
	}
	if w.i <= longestNumber && w.opens(c) {
		return `\` + string(c)
	}
	if !w.guarded {
		return w.encodeInCode(c)
	}
	return w.s[w.i : w.i+1]
}

// longestNumber is how many digits the number of a list item can have.
const longestNumber = 9

// opens reports whether c would make the line a list item or an underline.
func (w *writer) opens(c byte) bool {
	switch c {
	case '-', '+', '=':
		return w.i == 0
	case '.', ')':
		return w.i > 0 && strings.Trim(w.s[:w.i], "0123456789") == ""
	}
	return false
}

// encodeInCode keeps addresses from becoming links where nothing may be
// inserted, because the text is there to be copied.
func (w *writer) encodeInCode(c byte) string {
	switch c {
	case ':':
		return "&#58;"
	case '.':
		return "&#46;"
	case '@':
		return "<span>@</span>"
	}
	return w.s[w.i : w.i+1]
}

// splits reports whether the text must be parted after the byte at i.
func (w *writer) splits(c byte) bool {
	before, after := w.s[:w.i], w.s[w.i+1:]
	if c == '@' || c == '#' {
		return true // at the end as well: text of ours may follow
	}
	if after == "" || after[0] == ' ' {
		return false
	}
	switch c {
	case ':':
		return true // :emoji:, scheme://
	case '-':
		// GH-1 and the KEY-1 a project may have set up; GHSA-x.
		letter := before != "" && isAlnum(before[len(before)-1])
		return letter && (isDigit(after[0]) || hasSuffixFold(before, "ghsa"))
	case 'w', 'W':
		return hasSuffixFold(before, "ww") && after[0] == '.'
	}
	return false
}

func hexRun(s string) int {
	n := 0
	for n < len(s) && isHex(s[n]) {
		n++
	}
	return n
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

func isAlnum(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' }

func hasSuffixFold(s, suffix string) bool {
	return len(s) >= len(suffix) && strings.EqualFold(s[len(s)-len(suffix):], suffix)
}
