package lint

import "strings"

// word is one word of a command with its quotes resolved. What an expansion
// would give stands in text as a NUL.
type word struct {
	text string
	bare bool // nothing of it was quoted
}

func (w word) literal() bool { return strings.IndexByte(w.text, 0) < 0 }

// redirect is one redirection: fd and op as written, such as "2" and ">".
type redirect struct {
	fd, op string
	target word
}

// command is one simple command, or a subshell, which is not looked into.
type command struct {
	words     []word
	redirects []redirect
	group     bool
	negated   bool
	start     int    // byte offset in CHECK
	end       int    // behind its text
	join      string // the operator behind it: && || | ; & or ""
}

func (c *command) name() string {
	if len(c.words) == 0 {
		return ""
	}
	return c.words[0].text
}

// lexer splits a command line of sh as far as advice needs it.
type lexer struct {
	src     string
	pos     int
	cur     command
	buf     strings.Builder
	inWord  bool
	quoted  bool
	pending *redirect
	out     []command
}

// split returns the commands of a CHECK in order. ok is false for what it does
// not follow: loops and conditions, here-documents, groups in braces, functions,
// unbalanced quotes. Advice keeps quiet then.
func split(check string) (commands []command, ok bool) {
	x := &lexer{src: check}
	x.begin()
	for x.pos < len(x.src) {
		if !x.step() {
			return nil, false
		}
	}
	if !x.endCommand("") {
		return nil, false
	}
	return x.out, true
}

func (x *lexer) begin() { x.cur = command{start: -1} }

// step reads one token or character.
func (x *lexer) step() bool {
	c := x.src[x.pos]
	switch c {
	case ' ', '\t':
		x.endWord()
		x.pos++
		return true
	case '\'', '"', '\\', '$', '`':
		return x.quote(c)
	case '(':
		return x.subshell()
	case ')':
		return false
	case '#':
		if !x.inWord {
			x.pos = len(x.src)
			return true
		}
	case '&', '|', ';', '\n':
		return x.operator(c)
	case '<', '>':
		return x.redirection(c)
	}
	x.put(c)
	x.pos++
	return true
}

func (x *lexer) put(c byte) {
	x.touch()
	x.inWord = true
	x.buf.WriteByte(c)
}

func (x *lexer) touch() {
	if x.cur.start < 0 {
		x.cur.start = x.pos
	}
}

// quote reads what quotes or expands.
func (x *lexer) quote(c byte) bool {
	x.touch()
	x.inWord, x.quoted = true, true
	switch c {
	case '\'':
		i := strings.IndexByte(x.src[x.pos+1:], '\'')
		if i < 0 {
			return false
		}
		x.buf.WriteString(strings.ReplaceAll(x.src[x.pos+1:x.pos+1+i], "\x00", ""))
		x.pos += i + 2
		return true
	case '\\':
		if x.pos+1 >= len(x.src) {
			return false
		}
		x.buf.WriteByte(x.src[x.pos+1])
		x.pos += 2
		return true
	case '"':
		return x.double()
	}
	return x.expansion()
}

// double reads a text in double quotes.
func (x *lexer) double() bool {
	x.pos++
	for x.pos < len(x.src) {
		switch c := x.src[x.pos]; {
		case c == '"':
			x.pos++
			return true
		case c == '\\' && x.pos+1 < len(x.src):
			if !strings.ContainsRune("$`\"\\", rune(x.src[x.pos+1])) {
				x.buf.WriteByte('\\')
			}
			x.buf.WriteByte(x.src[x.pos+1])
			x.pos += 2
		case c == '$' || c == '`':
			if !x.expansion() {
				return false
			}
		default:
			x.buf.WriteByte(c)
			x.pos++
		}
	}
	return false
}

// expansion skips $name, ${…}, $(…) or `…` and leaves a NUL.
func (x *lexer) expansion() bool {
	rest := x.src[x.pos:]
	n := 0
	switch {
	case rest[0] == '`':
		i := strings.IndexByte(rest[1:], '`')
		if i < 0 {
			return false
		}
		n = i + 2
	case strings.HasPrefix(rest, "$("):
		if n = balanced(rest[1:], '(', ')'); n == 0 {
			return false
		}
		n++
	case strings.HasPrefix(rest, "${"):
		if n = balanced(rest[1:], '{', '}'); n == 0 {
			return false
		}
		n++
	default:
		n = 1
		for n < len(rest) && (rest[n] == '_' || rest[n] >= '0' && rest[n] <= '9' || rest[n]|0x20 >= 'a' && rest[n]|0x20 <= 'z') {
			n++
		}
		if n == 1 && len(rest) > 1 && strings.IndexByte("?$!#@*-", rest[1]) >= 0 {
			n = 2
		}
		if n == 1 {
			x.buf.WriteByte('$')
			x.pos++
			return true
		}
	}
	x.buf.WriteByte(0)
	x.pos += n
	return true
}

// balanced returns the length of a bracketed text at the start of s, quotes
// inside respected, or 0.
func balanced(s string, open, shut byte) int {
	depth, quote := 0, byte(0)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			} else if c == '\\' && quote == '"' {
				i++
			}
		case c == '\\':
			i++
		case c == '\'' || c == '"':
			quote = c
		case c == open:
			depth++
		case c == shut:
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// subshell takes ( … ) at the start of a command as one thing.
func (x *lexer) subshell() bool {
	if x.inWord || len(x.cur.words) > 0 || x.cur.group {
		return false
	}
	n := balanced(x.src[x.pos:], '(', ')')
	if n == 0 {
		return false
	}
	x.touch()
	x.cur.group = true
	x.pos += n
	x.cur.end = x.pos
	return true
}

// operator ends a command.
func (x *lexer) operator(c byte) bool {
	op, n := string(c), 1
	next := byte(0)
	if x.pos+1 < len(x.src) {
		next = x.src[x.pos+1]
	}
	switch {
	case c == '&' && next == '>':
		x.endWord()
		x.touch()
		n = 2
		if strings.HasPrefix(x.src[x.pos:], "&>>") {
			n = 3
		}
		x.pending = &redirect{fd: "&", op: ">"}
		x.pos += n
		return true
	case c == ';' && next == ';':
		return false
	case (c == '&' || c == '|') && next == c:
		op, n = op+op, 2
	case c == '|' && next == '&':
		n = 2
	case c == '\n':
		op = ";"
	}
	if !x.endCommand(op) {
		return false
	}
	x.pos += n
	return true
}

// redirection reads an operator with < or >; its target is the next word.
func (x *lexer) redirection(c byte) bool {
	rest := x.src[x.pos:]
	if strings.HasPrefix(rest, "<<") && !strings.HasPrefix(rest, "<<<") || strings.HasPrefix(rest, "<(") || strings.HasPrefix(rest, ">(") {
		return false
	}
	fd := ""
	if x.inWord && !x.quoted && strings.Trim(x.buf.String(), "0123456789") == "" {
		fd = x.buf.String()
		x.buf.Reset()
		x.inWord = false
	}
	x.endWord()
	x.touch()
	n := 1
	for n < len(rest) && n < 3 && strings.IndexByte("<>&|", rest[n]) >= 0 {
		n++
	}
	_ = c
	x.pending = &redirect{fd: fd, op: rest[:n]}
	x.pos += n
	return true
}

func (x *lexer) endWord() {
	if !x.inWord {
		return
	}
	w := word{text: x.buf.String(), bare: !x.quoted}
	x.buf.Reset()
	x.inWord, x.quoted = false, false
	x.cur.end = x.pos
	if x.pending != nil {
		x.pending.target = w
		x.cur.redirects = append(x.cur.redirects, *x.pending)
		x.pending = nil
		return
	}
	x.cur.words = append(x.cur.words, w)
}

// endCommand closes a command with the operator behind it.
func (x *lexer) endCommand(op string) bool {
	x.endWord()
	if x.pending != nil || x.cur.group && len(x.cur.words) > 0 {
		return false
	}
	if x.cur.start < 0 {
		// Nothing: fine at the end, behind a ; or &.
		last := len(x.out) - 1
		return op == "" && last >= 0 && (x.out[last].join == ";" || x.out[last].join == "&")
	}
	for len(x.cur.words) > 0 && x.cur.words[0].bare && x.cur.words[0].text == "!" {
		x.cur.negated = !x.cur.negated
		x.cur.words = x.cur.words[1:]
	}
	if reserved(&x.cur) {
		return false
	}
	x.cur.words = withoutPrefix(x.cur.words)
	x.cur.join = op
	x.out = append(x.out, x.cur)
	x.begin()
	return true
}

// reserved reports a word that begins or ends what split does not follow.
func reserved(c *command) bool {
	if len(c.words) == 0 || !c.words[0].bare {
		return false
	}
	switch c.words[0].text {
	case "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done",
		"case", "esac", "function", "select", "{", "}", "[[":
		return true
	}
	return false
}

// withoutPrefix drops NAME=value words and `time`, `env`, `sudo`, `exec` in front of a command.
func withoutPrefix(words []word) []word {
	for len(words) > 1 {
		t := words[0].text
		i := strings.IndexByte(t, '=')
		if i <= 0 && t != "time" && t != "env" && t != "sudo" && t != "exec" && t != "command" {
			break
		}
		if i > 0 && strings.ContainsAny(t[:i], "/.-") {
			break
		}
		if i <= 0 && strings.HasPrefix(words[1].text, "-") {
			break // an option of env or command: not followed
		}
		words = words[1:]
	}
	return words
}
