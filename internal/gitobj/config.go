package gitobj

import (
	"bytes"
	"fmt"
	"strings"
)

// Config is a git configuration file: its settings in order. Includes are not
// followed, so that a file means what its bytes say.
type Config struct {
	settings []setting
}

type setting struct {
	section, sub, key, value string
	bare                     bool // no "=": true
}

// Get returns the last value of section.key or section.subsection.key; section
// and key are compared without case, the subsection exactly. A key without a value is "true".
func (c Config) Get(name string) (value string, ok bool) {
	section, rest, found := strings.Cut(name, ".")
	if !found {
		return "", false
	}
	sub, key := "", rest
	if i := strings.LastIndexByte(rest, '.'); i >= 0 {
		sub, key = rest[:i], rest[i+1:]
	}
	section, key = strings.ToLower(section), strings.ToLower(key)
	for _, s := range c.settings {
		if s.section == section && s.sub == sub && s.key == key {
			value, ok = s.value, true
			if s.bare {
				value = "true"
			}
		}
	}
	return value, ok
}

// ParseConfig reads git-config(1) syntax, at most 1 MiB. Errors wrap ErrCorrupt or ErrLimit.
func ParseConfig(data []byte) (Config, error) {
	if len(data) > maxConfig {
		return Config{}, fmt.Errorf("git configuration %w (1 MiB)", ErrLimit)
	}
	p := configParser{in: bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), line: 1}
	var c Config
	for {
		s, done, err := p.next()
		if err != nil {
			return Config{}, corrupt("line %d of git configuration: %s", p.line, err)
		}
		if done {
			return c, nil
		}
		c.settings = append(c.settings, s)
	}
}

type configParser struct {
	in           []byte
	pos, line    int
	section, sub string
	inSection    bool
}

func (p *configParser) peek() (byte, bool) {
	if p.pos >= len(p.in) {
		return 0, false
	}
	return p.in[p.pos], true
}

// get returns the next byte with CR LF read as LF.
func (p *configParser) get() (byte, bool) {
	c, ok := p.peek()
	if !ok {
		return 0, false
	}
	p.pos++
	if c == '\r' {
		if d, ok := p.peek(); ok && d == '\n' {
			p.pos++
			c = '\n'
		}
	}
	if c == '\n' {
		p.line++
	}
	return c, true
}

func (p *configParser) skipLine() {
	for {
		if c, ok := p.get(); !ok || c == '\n' {
			return
		}
	}
}

func (p *configParser) next() (setting, bool, error) {
	for {
		c, ok := p.get()
		switch {
		case !ok:
			return setting{}, true, nil
		case c == '\n' || c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v':
		case c == '#' || c == ';':
			p.skipLine()
		case c == '[':
			if err := p.header(); err != nil {
				return setting{}, false, err
			}
		case isAlpha(c) && p.inSection:
			s, err := p.setting(c)
			return s, false, err
		default:
			return setting{}, false, fmt.Errorf("unexpected %q", c)
		}
	}
}

func isAlpha(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// header reads what follows "[": section], section.sub] or section "sub"].
func (p *configParser) header() error {
	var name []byte
	for {
		c, ok := p.get()
		switch {
		case !ok || c == '\n':
			return fmt.Errorf("unfinished section header")
		case c == ']':
			p.section, p.sub, _ = strings.Cut(strings.ToLower(string(name)), ".")
			p.inSection = true
			return nil
		case c == ' ' || c == '\t':
			p.section = strings.ToLower(string(name))
			p.inSection = true
			return p.subsection()
		case isAlpha(c) || isDigit(c) || c == '-' || c == '.':
			name = append(name, c)
		default:
			return fmt.Errorf("unexpected %q in a section header", c)
		}
	}
}

func (p *configParser) subsection() error {
	c, ok := p.get()
	for ok && (c == ' ' || c == '\t') {
		c, ok = p.get()
	}
	if c != '"' {
		return fmt.Errorf("unexpected text in a section header")
	}
	var sub []byte
	for {
		c, ok = p.get()
		if ok && c == '\\' {
			c, ok = p.get()
		} else if c == '"' {
			break
		}
		if !ok || c == '\n' {
			return fmt.Errorf("unfinished section header")
		}
		sub = append(sub, c)
	}
	if c, ok = p.get(); !ok || c != ']' {
		return fmt.Errorf("unfinished section header")
	}
	p.sub = string(sub)
	return nil
}

func (p *configParser) setting(first byte) (setting, error) {
	key := []byte{first}
	for {
		c, ok := p.peek()
		if !ok || !isAlpha(c) && !isDigit(c) && c != '-' {
			break
		}
		key = append(key, c)
		p.pos++
	}
	s := setting{section: p.section, sub: p.sub, key: strings.ToLower(string(key))}
	c, ok := p.get()
	for ok && (c == ' ' || c == '\t') {
		c, ok = p.get()
	}
	switch {
	case !ok || c == '\n':
		s.bare = true
		return s, nil
	case c == '#' || c == ';':
		s.bare = true
		p.skipLine()
		return s, nil
	case c != '=':
		return s, fmt.Errorf("unexpected %q after %s", c, key)
	}
	v, err := p.value()
	s.value = v
	return s, err
}

// value reads to the end of the logical line: quotes, escapes, comments, and
// blanks that are dropped at both ends.
func (p *configParser) value() (string, error) {
	var out []byte
	keep := 0 // length up to the last byte that is not a trailing blank
	quoted := false
	for {
		c, ok := p.get()
		switch {
		case !ok || c == '\n':
			if quoted {
				return "", fmt.Errorf("unfinished quote")
			}
			return string(out[:keep]), nil
		case !quoted && (c == '#' || c == ';'):
			p.skipLine()
			return string(out[:keep]), nil
		case !quoted && (c == ' ' || c == '\t'):
			if len(out) > 0 {
				out = append(out, c)
			}
		case c == '"':
			quoted = !quoted
			keep = len(out)
		case c == '\\':
			if err := p.escape(&out); err != nil {
				return "", err
			}
			keep = len(out)
		default:
			out = append(out, c)
			keep = len(out)
		}
	}
}

func (p *configParser) escape(out *[]byte) error {
	c, ok := p.get()
	switch {
	case ok && c == '\n': // the line goes on
	case c == 'n':
		*out = append(*out, '\n')
	case c == 't':
		*out = append(*out, '\t')
	case c == 'b':
		*out = append(*out, '\b')
	case c == '"' || c == '\\':
		*out = append(*out, c)
	default:
		return fmt.Errorf("unknown escape")
	}
	return nil
}
