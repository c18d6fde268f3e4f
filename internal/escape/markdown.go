package escape

import (
	"strconv"
	"strings"
)

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
func Inline(s string) string {
	return markdown(writer{s: strings.Trim(Line(s), " "), guarded: true})
}

// Cell is Inline for a cell of a table: no character ends the cell or the row.
func Cell(s string) string { return Inline(s) }

// HTML is Inline for text between tags of ours, such as <summary>: without
// backslashes, so that it is the same text where Markdown is not read.
func HTML(s string) string {
	return markdown(writer{s: strings.Trim(Line(s), " "), guarded: true, entities: true})
}

// LinkPath gives a repository path for the address of a link: every byte but
// letters, digits, "-_.~" and "/" percent-encoded, whatever it is.
func LinkPath(path string) string { return percent(path, "-_.~/", "%%%02X") }

// markdown writes text that parses to itself.
func markdown(w writer) string {
	w.b = &strings.Builder{}
	w.b.Grow(len(w.s) + len(w.s)/4)
	for w.i < len(w.s) {
		w.next()
	}
	return w.b.String()
}

type writer struct {
	b        *strings.Builder
	s        string
	i        int
	guarded  bool // with breaks against what GitHub finds in the page
	entities bool // instead of backslashes
}

// literal takes its meaning from an ASCII character.
func (w *writer) literal(c byte) string {
	if w.entities {
		return "&#" + strconv.Itoa(int(c)) + ";"
	}
	return `\` + string(c)
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
		return w.literal(c)
	case '$':
		// GitHub's own advice against a formula; a backslash does not always help.
		return "<span>$</span>"
	}
	if w.i <= longestNumber && w.opens(c) {
		return w.literal(c)
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
