package expect

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// checkNames refuses what the engine accepts about named groups and
// ECMA-262 does not; its answer would be nobody else's. A source that is
// invalid otherwise is left to the engine.
//
// A group must not lie inside a group of the same name: ECMAScript 2025 lets
// alternatives share one, but these two can take part in one match
// (MightBothParticipate). And with a named group anywhere \k is no longer an
// escaped letter, also not between brackets (SourceCharacterIdentityEscape).
func (x Expectation) checkNames() error {
	if !strings.Contains(x.Text, "(?<") {
		return nil
	}
	var (
		open   []string // names of the groups around i, "" for one without
		depth  int      // of brackets around i; they nest with v only
		named  bool
		letter bool // \k between brackets
	)
	for i := 0; i < len(x.Text); i++ {
		switch c := x.Text[i]; {
		case c == '\\':
			i++
			letter = letter || depth > 0 && strings.HasPrefix(x.Text[i:], "k")
		case c == '[' && (depth == 0 || strings.Contains(x.Flags, "v")):
			depth++
		case c == ']' && depth > 0:
			depth--
		case depth > 0:
		case c == '(':
			name := groupName(x.Text[i:])
			if name != "" && slices.Contains(open, name) {
				return &syntaxError{reason: "group " + strconv.Quote(name) + " holds a group of the same name"}
			}
			named = named || name != ""
			open = append(open, name)
		case c == ')' && len(open) > 0:
			open = open[:len(open)-1]
		}
	}
	if named && letter {
		return &syntaxError{reason: `\k between brackets beside a named group`}
	}
	return nil
}

// groupName returns the name of the group that s opens, its escapes resolved,
// or "".
func groupName(s string) string {
	s, ok := strings.CutPrefix(s, "(?<")
	if !ok || strings.HasPrefix(s, "=") || strings.HasPrefix(s, "!") {
		return ""
	}
	name, _, ok := strings.Cut(s, ">")
	if !ok {
		return ""
	}
	var units []uint16
	for name != "" {
		before, escape, found := strings.Cut(name, `\u`)
		units = append(units, utf16.Encode([]rune(before))...)
		if !found {
			break
		}
		digits, rest := cutEscape(escape)
		r, err := strconv.ParseInt(digits, 16, 32)
		if err != nil {
			return "" // not a valid name: the engine says so
		}
		if r <= 0xFFFF {
			units = append(units, uint16(r))
		} else {
			units = utf16.AppendRune(units, rune(r))
		}
		name = rest
	}
	return string(utf16.Decode(units))
}

// cutEscape splits what follows \u into its hexadecimal digits and the rest.
func cutEscape(s string) (digits, rest string) {
	if braced, ok := strings.CutPrefix(s, "{"); ok {
		digits, rest, _ = strings.Cut(braced, "}")
		return digits, rest
	}
	n := min(4, len(s))
	return s[:n], s[n:]
}
