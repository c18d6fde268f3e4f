package gitobj

import "strings"

// wildSteps bounds the work of one match: patterns of many stars are exponential otherwise.
const wildSteps = 100_000

// wild matches git's patterns: "*" and "?" and brackets stop at a slash, "**"
// between slashes does not (gitignore(5)).
type wild struct{ steps int }

// wildMatch reports whether pattern matches all of text. sure is false when the
// work was cut off; matched is then false.
func wildMatch(pattern, text string) (matched, sure bool) {
	w := wild{steps: wildSteps}
	m := w.match(pattern, text, true)
	if w.steps <= 0 {
		return false, false
	}
	return m, true
}

// match works on what is left of pattern and text; edge says that pattern starts
// at its beginning or after a slash, where "**" has its meaning.
func (w *wild) match(p, t string, edge bool) bool {
	for len(p) > 0 {
		if w.steps--; w.steps <= 0 {
			return false
		}
		c := p[0]
		if c == '*' {
			return w.star(p, t, edge)
		}
		if len(t) == 0 {
			return false
		}
		used := 1
		switch c {
		case '?':
			if t[0] == '/' {
				return false
			}
		case '[':
			n, hit := bracket(p, t[0])
			if n == 0 || !hit || t[0] == '/' {
				return false
			}
			used = n
		case '\\':
			if len(p) < 2 || p[1] != t[0] {
				return false
			}
			used = 2
		default:
			if c != t[0] {
				return false
			}
		}
		edge = c == '/'
		p, t = p[used:], t[1:]
	}
	return len(t) == 0
}

func (w *wild) star(p, t string, edge bool) bool {
	rest := strings.TrimLeft(p, "*")
	deep := len(p)-len(rest) >= 2 && edge && (rest == "" || rest[0] == '/' || strings.HasPrefix(rest, `\/`))
	if deep && rest != "" && rest[0] == '/' && w.match(rest[1:], t, true) {
		return true // "**/" stands for no folder at all
	}
	if rest == "" {
		return deep || !strings.Contains(t, "/")
	}
	for i := 0; ; i++ {
		if w.match(rest, t[i:], false) {
			return true
		}
		if w.steps <= 0 || i == len(t) || !deep && t[i] == '/' {
			return false
		}
	}
}

// bracket matches c against the bracket expression that p starts with and returns
// its length, 0 if it is not closed.
func bracket(p string, c byte) (length int, hit bool) {
	i := 1
	negated := i < len(p) && (p[i] == '!' || p[i] == '^')
	if negated {
		i++
	}
	for first := true; i < len(p); first = false {
		if p[i] == ']' && !first {
			return i + 1, hit != negated
		}
		if strings.HasPrefix(p[i:], "[:") {
			if end := strings.Index(p[i+2:], ":]"); end >= 0 {
				hit = hit || inClass(p[i+2:i+2+end], c)
				i += end + 4
				continue
			}
		}
		lo, n := bracketByte(p[i:])
		if n == 0 {
			return 0, false
		}
		i += n
		hi := lo
		if i+1 < len(p) && p[i] == '-' && p[i+1] != ']' {
			if hi, n = bracketByte(p[i+1:]); n == 0 {
				return 0, false
			}
			i += n + 1
		}
		hit = hit || lo <= c && c <= hi
	}
	return 0, false
}

// bracketByte reads one byte, perhaps escaped.
func bracketByte(p string) (byte, int) {
	if p == "" {
		return 0, 0
	}
	if p[0] != '\\' {
		return p[0], 1
	}
	if len(p) < 2 {
		return 0, 0
	}
	return p[1], 2
}

// inClass is POSIX's classes for ASCII; an unknown one matches nothing.
func inClass(name string, c byte) bool {
	lower, upper, digit := c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', isDigit(c)
	graph := c > ' ' && c < 0x7f
	switch name {
	case "alnum":
		return lower || upper || digit
	case "alpha":
		return lower || upper
	case "blank":
		return c == ' ' || c == '\t'
	case "cntrl":
		return c < ' ' || c == 0x7f
	case "digit":
		return digit
	case "graph":
		return graph
	case "lower":
		return lower
	case "print":
		return graph || c == ' '
	case "punct":
		return graph && !lower && !upper && !digit
	case "space":
		return c == ' ' || c >= '\t' && c <= '\r'
	case "upper":
		return upper
	case "xdigit":
		return digit || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
	}
	return false
}
