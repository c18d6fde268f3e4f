package gitobj

import (
	"path/filepath"
	"strings"
)

// maxRules bounds one ignore or attributes file, in bytes.
const maxRules = 4 << 20

// pattern is one line of an ignore or attributes file.
type pattern struct {
	text    string
	negated bool
	dirOnly bool
	base    bool // no slash: compared with the last component only
}

// newPattern splits off what surrounds the pattern proper.
func newPattern(s string) pattern {
	p := pattern{text: s}
	if t, ok := strings.CutSuffix(p.text, "/"); ok {
		p.text, p.dirOnly = t, true
	}
	p.base = !strings.Contains(p.text, "/")
	p.text = strings.TrimPrefix(p.text, "/")
	return p
}

// matches compares a path relative to the pattern's file. sure is false when the
// pattern costs too much.
func (p pattern) matches(rel string, dir bool) (hit, sure bool) {
	if p.dirOnly && !dir || p.text == "" {
		return false, true
	}
	if p.base {
		return wildMatch(p.text, rel[strings.LastIndexByte(rel, '/')+1:])
	}
	// Git compares the part before the first special character by itself and then
	// starts anew, so that in "a**/b" the stars stand at a beginning.
	n := strings.IndexAny(p.text, `*?[\`)
	if n < 0 {
		return p.text == rel, true
	}
	if !strings.HasPrefix(rel, p.text[:n]) {
		return false, true
	}
	return wildMatch(p.text[n:], rel[n:])
}

// ignoreFile is the patterns of one file, which apply beneath dir ("" or "a/b/").
type ignoreFile struct {
	dir      string
	patterns []pattern
}

func parseIgnore(dir string, data []byte) ignoreFile {
	f := ignoreFile{dir: dir}
	text := strings.TrimPrefix(string(data), "\xef\xbb\xbf")
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if line == "" || line[0] == '#' {
			continue
		}
		line = trimTrailingBlanks(line)
		rest, negated := strings.CutPrefix(line, "!")
		if rest == "" {
			continue
		}
		p := newPattern(rest)
		p.negated = negated
		f.patterns = append(f.patterns, p)
	}
	return f
}

// trimTrailingBlanks drops blanks at the end that no backslash protects.
func trimTrailingBlanks(s string) string {
	end := 0
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			i++
			end = min(i+1, len(s))
		} else if s[i] != ' ' {
			end = i + 1
		}
	}
	return s[:end]
}

// decide returns the last pattern's word on the path, if any. A pattern that
// costs too much decides nothing, so the file stays visible.
func (f ignoreFile) decide(path string, dir bool) (ignored, decided bool) {
	rel, ok := strings.CutPrefix(path, f.dir)
	if !ok {
		return false, false
	}
	for i := len(f.patterns) - 1; i >= 0; i-- {
		hit, sure := f.patterns[i].matches(rel, dir)
		if !sure {
			return false, true
		}
		if hit {
			return !f.patterns[i].negated, true
		}
	}
	return false, false
}

// ignoreStack is the files that apply, the one that wins last.
type ignoreStack []ignoreFile

func (s ignoreStack) ignored(path string, dir bool) bool {
	for i := len(s) - 1; i >= 0; i-- {
		if ignored, decided := s[i].decide(path, dir); decided {
			return ignored
		}
	}
	return false
}

// baseIgnores is what applies everywhere: the user's global excludes, then the
// repository's own info/exclude.
func (r *Repo) baseIgnores(global []byte) (ignoreStack, error) {
	s := ignoreStack{parseIgnore("", global)}
	data, err := readRegular(filepath.Join(r.common, "info", "exclude"), maxRules)
	if err != nil && !absent(err) {
		return nil, err
	}
	return append(s, parseIgnore("", data)), nil
}
