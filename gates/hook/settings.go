package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/gatesworn/gatesworn/internal/escape"
	"github.com/gatesworn/gatesworn/internal/jsontext"
	"github.com/gatesworn/gatesworn/internal/lazyregexp"
)

// hookTimeout is what the settings entry allows for one answer, in seconds (unlazy).
const hookTimeout = 20

// ErrUnlazy says that unlazy's Stop hook is installed: two hooks that count the
// same session would undo each other's counts.
var ErrUnlazy = errors.New("unlazy's Stop hook is installed there")

var (
	unlazyCommand = lazyregexp.New(`--unlazy-hook-v\d+\b|\bunlazy\b.*\bstop-hook\.mjs\b`)
	unlazyScope   = lazyregexp.New(`--scope[ =]([A-Za-z0-9][A-Za-z0-9._-]{0,63})`)
	firstWord     = lazyregexp.New(`^\s*(?:'((?:[^']|'\\'')*)'|"([^"]*)"|(\S+))\s+hook\s+stop(?:\s|$)`)
)

// Command is the shell command of the settings entry. binary is absolute.
func Command(binary, scope string) (string, error) {
	word, ok := escape.ShellQuote(binary)
	if !ok {
		return "", fmt.Errorf("the path of this program cannot be written in a command: %q", binary)
	}
	if scope != "" {
		return word + " hook stop --scope " + scope, nil
	}
	return word + " hook stop", nil
}

// isOurs recognises our command, wherever the program was when it was installed.
func isOurs(command string) bool {
	m := firstWord.FindStringSubmatch(command)
	if m == nil {
		return false
	}
	word := m[1] + m[2] + m[3]
	base := word[strings.LastIndexAny(word, `/\`)+1:]
	return strings.HasPrefix(base, "gatesworn")
}

// handler is one command of the Stop event and where it stands.
type handler struct {
	group, index int
	command      string
	place        jsontext.Member // offsets in the file
	text         jsontext.Member // of the command's string
}

// settings is a settings file, taken apart as far as the Stop event.
type settings struct {
	data     []byte
	root     []jsontext.Member
	hooks    *jsontext.Member
	events   []jsontext.Member
	stop     *jsontext.Member
	groups   []jsontext.Member
	lists    []jsontext.Member // each group's hooks
	handlers []handler
}

// readSettings checks the shapes of what it goes through and nothing else.
func readSettings(data []byte) (settings, error) {
	s := settings{data: data}
	var err error
	if s.root, err = jsontext.Object(data); err != nil {
		return s, err
	}
	if s.hooks = member(s.root, "hooks"); s.hooks == nil {
		return s, nil
	}
	if s.events, err = inside(*s.hooks, jsontext.Object); err != nil {
		return s, fmt.Errorf("hooks %w", err)
	}
	if s.stop = member(s.events, "Stop"); s.stop == nil {
		return s, nil
	}
	if s.groups, err = inside(*s.stop, jsontext.Array); err != nil {
		return s, fmt.Errorf("hooks.Stop %w", err)
	}
	for i, g := range s.groups {
		ms, err := inside(g, jsontext.Object)
		if err != nil {
			return s, fmt.Errorf("hooks.Stop[%d] %w", i, err)
		}
		list := member(ms, "hooks")
		if list == nil {
			return s, fmt.Errorf("hooks.Stop[%d] has no hooks", i)
		}
		s.lists = append(s.lists, *list)
		if err := s.readGroup(i, *list); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (s *settings) readGroup(group int, list jsontext.Member) error {
	hs, err := inside(list, jsontext.Array)
	if err != nil {
		return fmt.Errorf("hooks.Stop[%d].hooks %w", group, err)
	}
	for i, h := range hs {
		ms, err := inside(h, jsontext.Object)
		if err != nil {
			return fmt.Errorf("hooks.Stop[%d].hooks[%d] %w", group, i, err)
		}
		found := handler{group: group, index: i, place: h}
		if c := member(ms, "command"); c != nil {
			if found.command, err = jsontext.String(c.Value); err != nil {
				return fmt.Errorf("hooks.Stop[%d].hooks[%d].command %w", group, i, err)
			}
			found.text = *c
		}
		s.handlers = append(s.handlers, found)
	}
	return nil
}

// inside takes a member's value apart; the offsets stay those of the file.
func inside(m jsontext.Member, parts func([]byte) ([]jsontext.Member, error)) ([]jsontext.Member, error) {
	ms, err := parts(m.Value)
	for i := range ms {
		ms[i].Key += m.Start
		ms[i].Start += m.Start
		ms[i].End += m.Start
	}
	return ms, err
}

func member(ms []jsontext.Member, name string) *jsontext.Member {
	for i := range ms {
		if ms[i].Name == name {
			return &ms[i]
		}
	}
	return nil
}

func (s settings) pick(is func(string) bool) []handler {
	var found []handler
	for _, h := range s.handlers {
		if is(h.command) {
			found = append(found, h)
		}
	}
	return found
}

// install returns the file with our entry in it, once, and everything else as it
// was. replaced counts unlazy's entries that made way.
func install(data []byte, command string, replaceUnlazy bool) (out []byte, replaced int, err error) {
	s, err := readSettings(data)
	if err != nil {
		return nil, 0, err
	}
	theirs := s.pick(unlazyCommand.MatchString)
	if len(theirs) > 0 && !replaceUnlazy {
		return nil, 0, ErrUnlazy
	}
	either := func(c string) bool { return isOurs(c) || unlazyCommand.MatchString(c) }
	ours := s.pick(either)
	if len(ours) == 0 {
		return s.add(command), 0, nil
	}
	// The first entry takes the command, further ones go.
	for ; len(ours) > 1; ours = s.pick(either) {
		if s, err = readSettings(s.without(ours[len(ours)-1])); err != nil {
			return nil, 0, err
		}
	}
	if ours[0].command == command {
		return s.data, len(theirs), nil
	}
	return splice(s.data, ours[0].text.Start, ours[0].text.End, string(compact(command))), len(theirs), nil
}

// uninstall returns the file without our entries, and how many there were. A
// group, event or object that held nothing else goes with them.
func uninstall(data []byte) (out []byte, removed int, err error) {
	for {
		s, err := readSettings(data)
		if err != nil {
			return nil, 0, err
		}
		ours := s.pick(isOurs)
		if len(ours) == 0 {
			return data, removed, nil
		}
		data = s.without(ours[len(ours)-1])
		removed++
	}
}

// without takes one handler out.
func (s settings) without(h handler) []byte {
	list := s.lists[h.group]
	hs, _ := inside(list, jsontext.Array) // was read before
	switch {
	case len(hs) > 1:
		return cut(s.data, list, hs, h.index)
	case len(s.groups) > 1:
		return cut(s.data, *s.stop, s.groups, h.group)
	case len(s.events) > 1:
		return cut(s.data, *s.hooks, s.events, indexOf(s.events, "Stop"))
	default:
		return cut(s.data, jsontext.Member{Start: bytes.IndexByte(s.data, '{'), End: bytes.LastIndexByte(s.data, '}') + 1}, s.root, indexOf(s.root, "hooks"))
	}
}

func indexOf(ms []jsontext.Member, name string) int {
	for i, m := range ms {
		if m.Name == name {
			return i
		}
	}
	return -1
}

// cut removes part i of a container.
func cut(data []byte, container jsontext.Member, ms []jsontext.Member, i int) []byte {
	switch {
	case len(ms) == 1:
		return splice(data, container.Start+1, container.End-1, "")
	case i < len(ms)-1:
		return splice(data, ms[i].Key, ms[i+1].Key, "")
	}
	return splice(data, ms[i-1].End, ms[i].End, "")
}

func splice(data []byte, from, to int, text string) []byte {
	out := append([]byte(nil), data[:from]...)
	out = append(out, text...)
	return append(out, data[to:]...)
}

// Entry shapes, in the order they are written.
type (
	entry struct {
		Type    string `json:"type"`
		Command string `json:"command"`
		Timeout int    `json:"timeout"`
	}
	group struct {
		Hooks []entry `json:"hooks"`
	}
	event1 struct {
		Stop []group `json:"Stop"`
	}
)

// add puts our entry behind everything else.
func (s settings) add(command string) []byte {
	g := group{[]entry{{"command", command, hookTimeout}}}
	switch {
	case s.stop != nil:
		return s.append(*s.stop, s.groups, "", g)
	case s.hooks != nil:
		return s.append(*s.hooks, s.events, "Stop", []group{g})
	}
	root := jsontext.Member{Start: bytes.IndexByte(s.data, '{'), End: bytes.LastIndexByte(s.data, '}') + 1}
	return s.append(root, s.root, "hooks", event1{[]group{g}})
}

// append writes one more part into a container, laid out as the file is.
func (s settings) append(container jsontext.Member, ms []jsontext.Member, name string, v any) []byte {
	unit, pretty := s.layout()
	newline := "\n"
	if bytes.Contains(s.data, []byte("\r\n")) {
		newline = "\r\n"
	}
	key := func(sep string) string {
		if name == "" {
			return ""
		}
		return string(compact(name)) + ":" + sep
	}
	if len(ms) > 0 {
		last := ms[len(ms)-1]
		before := s.data[bytes.LastIndexAny(s.data[:last.Key], "{[,")+1 : last.Key]
		if i := bytes.LastIndexByte(before, '\n'); i >= 0 {
			prefix := string(before[i+1:])
			return splice(s.data, last.End, last.End, ","+newline+prefix+key(" ")+render(v, prefix, unit, newline))
		}
		return splice(s.data, last.End, last.End, ","+string(before)+key(string(before))+string(compact(v)))
	}
	if !pretty {
		return splice(s.data, container.Start+1, container.End-1, key("")+string(compact(v)))
	}
	outer := lineIndent(s.data, container.Start)
	prefix := outer + unit
	return splice(s.data, container.Start+1, container.End-1, newline+prefix+key(" ")+render(v, prefix, unit, newline)+newline+outer)
}

// layout is the file's unit of indentation; pretty is false for one line.
func (s settings) layout() (unit string, pretty bool) {
	if len(s.root) == 0 {
		return "  ", true
	}
	open := bytes.IndexByte(s.data, '{') + 1
	before := s.data[open:s.root[0].Key]
	i := bytes.LastIndexByte(before, '\n')
	if i < 0 {
		return "  ", bytes.IndexByte(bytes.TrimSpace(s.data), '\n') >= 0
	}
	if unit = string(before[i+1:]); unit == "" {
		unit = "  "
	}
	return unit, true
}

// lineIndent is the white space that the line of a place begins with.
func lineIndent(data []byte, at int) string {
	line := data[bytes.LastIndexByte(data[:at], '\n')+1 : at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

func render(v any, prefix, unit, newline string) string {
	text, err := jsontext.Text(v)
	if err != nil {
		return string(compact(v))
	}
	lines := strings.Split(string(text), "\n")
	for i, l := range lines {
		bare := strings.TrimLeft(l, " ")
		lines[i] = strings.Repeat(unit, (len(l)-len(bare))/2) + bare
	}
	return strings.Join(lines, newline+prefix)
}

func compact(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return []byte("null") // our shapes always encode
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
