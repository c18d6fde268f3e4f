package evidence

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gatesworn/gatesworn/gates/ledger"
)

// maxShell bounds the path of a shell, in UTF-16 units, so that every field
// before cwd fits into MaxLine.
const maxShell = 300

// Run is what an evidence line records of a passed run.
type Run struct {
	Output string // canonical
	Shell  string // absolute path
	Dir    string // absolute path
	Path   string // value of PATH
	Tree   string // HEAD^{tree} when clean, else ""
}

// CheckShell says whether the path of a shell can stand in an evidence line: not
// blank, no "; ", at most 300 characters. Asked before a run, it saves one that could not be recorded.
func CheckShell(path string) error {
	shell := visible(path)
	switch {
	case strings.TrimSpace(shell) == "" || strings.Contains(shell, "; "):
		return fmt.Errorf("%q cannot be written as the path of a shell", path)
	case utf16Len(shell) > maxShell:
		return fmt.Errorf("the path of the shell has %d characters, the limit is %d: %.40q…", utf16Len(shell), maxShell, shell)
	}
	return nil
}

// Format renders the value of an EVIDENCE line for a gate that passed. The
// error is for a shell path over 300 characters.
//
// The other errors are for what no run that passed has: a gate without a
// command, an output beyond MaxOutput, a tree that is no hash, a shell without
// a path or with one that holds "; ".
func Format(g ledger.Gate, r Run) (string, error) {
	shell := visible(r.Shell)
	switch {
	case !g.Runnable():
		return "", errors.New("a gate without a command has no automatic evidence")
	case len(r.Output) > MaxOutput:
		return "", fmt.Errorf("the output has %d bytes, the limit is %d", len(r.Output), MaxOutput)
	case r.Tree != "" && !isTree(r.Tree):
		return "", fmt.Errorf("%q is not the hash of a tree", r.Tree)
	}
	if err := CheckShell(r.Shell); err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "automatic-evidence=v1; definition-sha256=%s; exit=0; EXPECT=matched; output-sha256=%s; output-bytes=%d; shell=%s",
		DefinitionDigest(g), OutputDigest(r.Output), len(r.Output), shell)
	if attributes := AttributesDigest(g); attributes != "" {
		b.WriteString("; attrs-sha256=" + attributes)
	}
	if r.Tree != "" {
		b.WriteString("; tree=" + r.Tree)
	}
	fmt.Fprintf(&b, "; cwd=%s; path=%s", visible(r.Dir), pathMark(r.Path))
	return strings.TrimRightFunc(cut(b.String(), MaxLine), unicode.IsSpace), nil
}

// pathMark stands for the value of PATH, which may tell secrets of a machine.
func pathMark(path string) string {
	entries := 0
	if path != "" {
		entries = strings.Count(path, string(filepath.ListSeparator)) + 1
	}
	sum := sha256.Sum256([]byte(path))
	return fmt.Sprintf("%s/%d entries", hex.EncodeToString(sum[:6]), entries)
}

// Line is an EVIDENCE line taken apart.
type Line struct {
	Definition string // digest, lower-case hex
	Output     string // digest, lower-case hex
	Bytes      int    // of the output
	Shell      string
	Attributes string // digest, "" if there is none
	Tree       string // hash, "" if there is none
	Rest       string // cwd and path; may be cut short
}

var errLine = errors.New("not a line of automatic evidence")

// ParseLine takes the value of an EVIDENCE line apart. It accepts what unlazy
// 2.1 accepts for a gate with this digest, except that attrs-sha256 and tree,
// where they stand after the shell, must be whole. Where a path holds "; ",
// Shell ends there.
func ParseLine(value string) (Line, error) {
	if n := utf16Len(value); n > MaxLine {
		return Line{}, fmt.Errorf("the line has %d characters, the limit is %d", n, MaxLine)
	}
	var (
		l    Line
		size string
	)
	rest := value
	for _, f := range []struct {
		key   string
		field *string
	}{
		{"automatic-evidence=v1; definition-sha256=", &l.Definition},
		{"exit=0; EXPECT=matched; output-sha256=", &l.Output},
		{"output-bytes=", &size},
	} {
		after, found := strings.CutPrefix(rest, f.key)
		if *f.field, rest, _ = strings.Cut(after, "; "); !found {
			return Line{}, errLine
		}
	}
	shell, found := strings.CutPrefix(rest, "shell=")
	if !found || !isHex(l.Definition, sha256.Size) || !isHex(l.Output, sha256.Size) || !isShell(shell) {
		return Line{}, errLine
	}
	n, err := strconv.Atoi(size)
	if err != nil || strconv.Itoa(n) != size || n < 0 || n > MaxOutput {
		return Line{}, fmt.Errorf("output-bytes is %.20q, not a number up to %d", size, MaxOutput)
	}
	l.Bytes = n
	l.Shell, l.Rest, _ = strings.Cut(shell, "; ")
	return l.extensions()
}

// extensions takes what unlazy does not know from the start of Rest.
func (l Line) extensions() (Line, error) {
	if after, found := strings.CutPrefix(l.Rest, "attrs-sha256="); found {
		l.Attributes, l.Rest, _ = strings.Cut(after, "; ")
		if !isHex(l.Attributes, sha256.Size) {
			return Line{}, errors.New("attrs-sha256 is not a digest")
		}
	}
	if after, found := strings.CutPrefix(l.Rest, "tree="); found {
		l.Tree, l.Rest, _ = strings.Cut(after, "; ")
		if !isTree(l.Tree) {
			return Line{}, errors.New("tree is not a hash")
		}
	}
	return l, nil
}

// isShell holds for unlazy's rule "shell=.": a character that breaks no line.
func isShell(s string) bool {
	r, size := utf8.DecodeRuneInString(s)
	return size > 0 && r != '\n' && r != '\r' && r != '\u2028' && r != '\u2029'
}

// isTree holds for object names of both formats of git.
func isTree(s string) bool { return isHex(s, 20) || isHex(s, 32) }

// isHex reports whether s is n bytes in lower-case hexadecimal.
func isHex(s string, n int) bool {
	return len(s) == 2*n && strings.Trim(s, "0123456789abcdef") == ""
}

// visible makes a path fit for a line of a ledger: a blank for each character
// that the ledger's reader would refuse or warn of (controls, formatting
// characters, line and paragraph separators, fillers), "?" for what is no
// UTF-8 and for <, with which Markdown could hide the rest.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '<' || r == unicode.ReplacementChar:
			return '?'
		case r == 0x200D || r == 0xFE0F: // parts of emoji, allowed in evidence
			return r
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp):
			return ' '
		case r == 0x115F || r == 0x1160 || r == 0x3164 || r == 0xFFA0 || r >= 0xE0000 && r <= 0xE0FFF:
			return ' '
		}
		return r
	}, s)
}

// utf16Len returns the length of s in UTF-16 units.
func utf16Len(s string) int {
	n := 0
	for _, r := range s {
		n += units(r)
	}
	return n
}

// cut returns the longest beginning of s of at most n UTF-16 units that ends
// between two characters.
func cut(s string, n int) string {
	for i, r := range s {
		if n -= units(r); n < 0 {
			return s[:i]
		}
	}
	return s
}

func units(r rune) int {
	if r > 0xFFFF {
		return 2
	}
	return 1
}
