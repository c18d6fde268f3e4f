package ledger

// fence is an open code fence; the zero value is none.
type fence struct {
	char byte
	size int
	open spot
}

// fenceMarker reads `^ {0,3}(`{3,}|~{3,})`.
func fenceMarker(s string) (char byte, size int, rest string) {
	i := 0
	for i < len(s) && i < 4 && s[i] == ' ' {
		i++
	}
	if i > 3 || i >= len(s) || s[i] != '`' && s[i] != '~' {
		return 0, 0, ""
	}
	c := s[i]
	n := i
	for n < len(s) && s[n] == c {
		n++
	}
	if n-i < 3 {
		return 0, 0, ""
	}
	return c, n - i, s[n:]
}

// opens reports whether the line opens a fence. The info string of a backtick
// fence holds no backtick (CommonMark 4.5).
func opensFence(s string) (char byte, size int) {
	c, n, rest := fenceMarker(s)
	if n == 0 {
		return 0, 0
	}
	if c == '`' {
		for i := 0; i < len(rest); i++ {
			if rest[i] == '`' {
				return 0, 0
			}
		}
	}
	return c, n
}

func (f fence) closedBy(s string) bool {
	c, n, rest := fenceMarker(s)
	return n >= f.size && c == f.char && trim(rest) == ""
}
