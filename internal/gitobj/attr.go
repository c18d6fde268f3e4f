package gitobj

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"
)

// Conversion is the attributes that make git change a file's bytes between
// repository and work tree. A state is "" (unspecified), "set", "unset" or the value.
type Conversion struct {
	Text, EOL, Filter, Encoding, Ident string
	// Doubt says why the attributes of this path could not be read for sure, ""
	// if they could. Doubt counts as every conversion.
	Doubt string
}

// Applies names the attributes that are in force ("text", "eol", "filter",
// "working-tree-encoding", "ident", or what is in doubt), nil if none is.
func (c Conversion) Applies() []string {
	var names []string
	for _, a := range []struct{ name, state string }{
		{"text", c.Text},
		{"eol", c.EOL},
		{"filter", c.Filter},
		{"working-tree-encoding", c.Encoding},
		{"ident", c.Ident},
	} {
		if a.state != "" && a.state != "unset" {
			names = append(names, a.name)
		}
	}
	if c.Doubt != "" {
		names = append(names, c.Doubt)
	}
	return names
}

// Changes names the first attribute that can make a check-out differ from its
// blob where lines end in LF, "" if none can. Plain text and eol=lf change nothing there.
func (c Conversion) Changes() string {
	on := func(s string) bool { return s != "" && s != "unset" }
	switch {
	case c.Doubt != "":
		return c.Doubt
	case on(c.Filter):
		return "filter"
	case on(c.EOL) && c.EOL != "lf":
		return "eol"
	case on(c.Encoding):
		return "working-tree-encoding"
	case on(c.Ident):
		return "ident"
	case on(c.Text) && c.Text != "set" && c.Text != "auto" && c.Text != "input":
		return "text"
	}
	return ""
}

// Attributes answers for the .gitattributes files of one tree. Global and system
// attributes, and info/attributes, belong to a machine, not to a commit: they are not looked at.
type Attributes struct {
	files  map[string]attrFile // by folder: "" or "a/b/"
	macros map[string][]attrState
	doubt  map[string]string // by folder
}

type attrFile []attrLine

type attrLine struct {
	pattern pattern
	states  []attrState
}

type attrState struct{ name, state string }

// unspecified is the state "!name": the attribute is as if nobody had named it.
const unspecified = "\x00unspecified"

// maxAttrLine is where git itself stops reading an attributes line, in bytes.
const maxAttrLine = 2048

// Attributes reads the .gitattributes files among the entries of a Walk.
func (r *Repo) Attributes(ctx context.Context, entries []Entry) (*Attributes, error) {
	a := NewAttributes()
	for _, e := range entries {
		if path.Base(e.Path) != ".gitattributes" {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		dir := strings.TrimSuffix(e.Path, ".gitattributes")
		if !e.Mode.Regular() {
			a.doubt[dir] = e.Path + " is no regular file"
			continue
		}
		data, err := r.Blob(e.OID, maxRules)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Path, err)
		}
		a.Add(dir, data)
	}
	return a, nil
}

// NewAttributes is the attributes of a tree without .gitattributes.
func NewAttributes() *Attributes {
	return &Attributes{
		files:  map[string]attrFile{},
		macros: map[string][]attrState{"binary": {{"diff", "unset"}, {"merge", "unset"}, {"text", "unset"}}},
		doubt:  map[string]string{},
	}
}

// Add reads the .gitattributes file of a folder, "" or slash separated with a
// final slash. What git's own parser warns of and ignores is a doubt here.
func (a *Attributes) Add(dir string, data []byte) {
	text := strings.TrimPrefix(string(data), "\xef\xbb\xbf")
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		if err := a.addLine(dir, line); err != "" {
			a.doubt[dir] = fmt.Sprintf("%s.gitattributes line %d (%s)", dir, n, err)
		}
	}
}

// addLine reads one line and says what is wrong with it.
func (a *Attributes) addLine(dir, line string) string {
	const blanks = " \t\r"
	rest := strings.TrimLeft(line, blanks)
	if rest == "" || rest[0] == '#' {
		return ""
	}
	if len(line) >= maxAttrLine {
		return "too long"
	}
	if strings.ContainsRune(line, 0) {
		return "holds NUL"
	}
	if macro, ok := strings.CutPrefix(rest, "[attr]"); ok {
		fields := strings.FieldsFunc(macro, isAttrBlank)
		if dir != "" || len(fields) == 0 {
			return "macro"
		}
		states, ok := attrStates(fields[1:])
		if !ok {
			return "attribute name"
		}
		a.macros[fields[0]] = states
		return ""
	}
	name, rest, ok := attrPattern(rest)
	if !ok || strings.HasPrefix(name, "!") {
		return "pattern"
	}
	states, ok := attrStates(strings.FieldsFunc(rest, isAttrBlank))
	if !ok {
		return "attribute name"
	}
	a.files[dir] = append(a.files[dir], attrLine{newPattern(name), states})
	return ""
}

func isAttrBlank(r rune) bool { return r == ' ' || r == '\t' || r == '\r' }

// attrPattern splits off the pattern, which may be quoted as in C.
func attrPattern(s string) (name, rest string, ok bool) {
	if s[0] != '"' {
		i := strings.IndexFunc(s, isAttrBlank)
		if i < 0 {
			return s, "", true
		}
		return s[:i], s[i:], true
	}
	quoted, err := strconv.QuotedPrefix(s)
	if err != nil {
		return "", "", false
	}
	name, err = strconv.Unquote(quoted)
	return name, s[len(quoted):], err == nil && name != ""
}

func attrStates(fields []string) ([]attrState, bool) {
	var out []attrState
	for _, f := range fields {
		s := attrState{name: f, state: "set"}
		switch name, value, has := strings.Cut(f, "="); {
		case f[0] == '-':
			s = attrState{f[1:], "unset"}
		case f[0] == '!':
			s = attrState{f[1:], unspecified}
		case has && value == "":
			s = attrState{name, "set"}
		case has:
			s = attrState{name, value}
		}
		if !attrName(s.name) {
			return nil, false
		}
		out = append(out, s)
	}
	return out, true
}

func attrName(s string) bool {
	if s == "" || s[0] == '-' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !isAlpha(c) && !isDigit(c) && strings.IndexByte("-._", c) < 0 {
			return false
		}
	}
	return true
}

// Conversion answers for the file at a slash-separated path.
func (a *Attributes) Conversion(file string) Conversion {
	got := map[string]string{}
	doubt := ""
	for dir := file; dir != ""; {
		dir = strings.TrimSuffix(dir, "/")
		dir = dir[:strings.LastIndexByte(dir, '/')+1]
		if d := a.doubt[dir]; d != "" && doubt == "" {
			doubt = d
		}
		lines := a.files[dir]
		for i := len(lines) - 1; i >= 0; i-- {
			hit, sure := lines[i].pattern.matches(file[len(dir):], false)
			if !sure && doubt == "" {
				doubt = dir + ".gitattributes (a pattern that costs too much)"
			}
			if hit {
				a.fill(got, lines[i].states, 0)
			}
		}
	}
	for k, v := range got {
		if v == unspecified {
			delete(got, k)
		}
	}
	c := Conversion{
		Text: got["text"], EOL: got["eol"], Filter: got["filter"],
		Encoding: got["working-tree-encoding"], Ident: got["ident"], Doubt: doubt,
	}
	if c.Text == "" { // the old name of text
		c.Text = got["crlf"]
	}
	return c
}

// fill sets what no earlier looked-at line (which wins) has set, the last word on
// a line first, macros in place.
func (a *Attributes) fill(got map[string]string, states []attrState, depth int) {
	for i := len(states) - 1; i >= 0; i-- {
		s := states[i]
		if _, ok := got[s.name]; ok {
			continue
		}
		got[s.name] = s.state
		if s.state == "set" && depth < 16 {
			a.fill(got, a.macros[s.name], depth+1)
		}
	}
}
