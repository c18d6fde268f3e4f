package approval

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
)

// maxStars bounds the "**" parts of a pattern: the time of a match grows with the
// depth of the path to the power of their number.
const maxStars = 3

// pattern is one glob of a list: doublestar syntax, case-sensitive, relative to
// the top, dot files included.
type pattern struct {
	text     string
	segments []string
	literal  string // what every match begins with
}

// parsePattern refuses what would match in more than one way, or never.
func parsePattern(text string) (pattern, error) {
	switch {
	case text == "":
		return pattern{}, fmt.Errorf("empty pattern")
	case !utf8.ValidString(text):
		return pattern{}, fmt.Errorf("pattern %q is not valid UTF-8", text)
	case strings.ContainsAny(text, "{}"):
		return pattern{}, fmt.Errorf("pattern %q: braces are not supported; write two patterns", text)
	case strings.HasPrefix(text, "/"):
		return pattern{}, fmt.Errorf("pattern %q is not relative to the top", text)
	case strings.HasSuffix(text, "/"):
		return pattern{}, fmt.Errorf("pattern %q names a folder; write %s**", text, text)
	case !doublestar.ValidatePattern(text):
		return pattern{}, fmt.Errorf("pattern %q is not a valid glob", text)
	}
	p := pattern{text: text, segments: strings.Split(text, "/")}
	if n := strings.Count("/"+text+"/", "/**/"); n > maxStars || strings.Contains(text, "**/**") {
		return pattern{}, fmt.Errorf("pattern %q: at most %d parts may be **, and not one after the other", text, maxStars)
	}
	for _, s := range p.segments {
		if s == "" || s == "." || s == ".." {
			return pattern{}, fmt.Errorf("pattern %q has an empty, \".\" or \"..\" part", text)
		}
		if s != "**" && strings.Contains(s, "**") { // the library reads these in more than one way
			return pattern{}, fmt.Errorf("pattern %q: ** must stand alone between slashes", text)
		}
		if !doublestar.ValidatePattern(s) {
			return pattern{}, fmt.Errorf("pattern %q is not a valid glob", text)
		}
	}
	p.literal = text
	if i := strings.IndexAny(text, `*?[\`); i >= 0 {
		p.literal = text[:i]
	}
	return p, nil
}

// match reports whether the pattern matches the whole path. "b/**" is what lies
// in the folder b; doublestar would take a file called b as well.
func (p pattern) match(name string) bool {
	if p.literal == p.text {
		return name == p.text
	}
	ok, err := doublestar.Match(p.text, name)
	return err == nil && ok && strings.HasPrefix(name, p.literal)
}

// reaches reports whether the pattern could match a path beneath folder. With
// star false, "**" does not stand for a part of the folder's own name.
func (p pattern) reaches(folder string, star bool) bool {
	return reaches(p.segments, strings.Split(folder, "/"), star)
}

func reaches(segments, folder []string, star bool) bool {
	if len(folder) == 0 {
		return len(segments) > 0
	}
	if len(segments) == 0 {
		return false
	}
	if segments[0] == "**" {
		return reaches(segments[1:], folder, star) || star && reaches(segments, folder[1:], star)
	}
	ok, err := doublestar.Match(segments[0], folder[0])
	return err == nil && ok && reaches(segments[1:], folder[1:], star)
}
