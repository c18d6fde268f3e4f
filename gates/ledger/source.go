package ledger

import "bytes"

// pageSource is the text as the Markdown parser gets it, at the same offsets:
// carriage returns and the byte order mark blanked, a tab behind a tag's name
// too, which goldmark does not take for a blank there and GitHub does, and runs
// of blank lines joined into one, because goldmark remembers every open
// container for each. It is data itself where there is nothing to change.
func pageSource(data []byte) []byte {
	mark := bytes.HasPrefix(data, []byte(byteOrderMark))
	tabs := bytes.IndexByte(data, '<') >= 0 && bytes.IndexByte(data, '\t') >= 0
	if !mark && !tabs && bytes.IndexByte(data, '\r') < 0 && !blankRun(data) {
		return data
	}
	src := bytes.ReplaceAll(data, []byte("\r"), []byte(" "))
	if mark {
		copy(src, "\n\n\n")
	}
	tag := false
	for i, c := range src {
		switch {
		case c == '\n':
			tag = false
		case c == '<':
			tag = true
		case c == '\t' && tag:
			src[i] = ' '
		}
	}
	joinBlank(src)
	return src
}

// blankRun reports two blank lines in a row.
func blankRun(b []byte) bool {
	blank := 0
	for _, c := range b {
		switch c {
		case '\n':
			if blank++; blank > 2 {
				return true
			}
		case ' ', '\t', '\r':
		default:
			blank = 0
		}
	}
	return false
}

// joinBlank makes one long blank line of each run of them.
func joinBlank(b []byte) {
	first, last := -1, -1 // the newlines before and behind the run
	for i, c := range b {
		switch c {
		case '\n':
			if first < 0 {
				first = i
				continue
			}
			if last > first {
				b[last] = ' '
			}
			last = i
		case ' ', '\t':
		default:
			first, last = -1, -1
		}
	}
}
