// Package expect decides whether a check's output is what its gate expects:
// a substring compared exactly, or an ECMAScript regular expression run by a
// real engine (modernc.org/quickjs; 7 of 190 reference answers would be wrong
// with RE2, 39 with a re-implementation).
//
// It promises the answer of one fresh RegExp.test within 250 ms, or an error;
// never a different answer. Pattern and output reach the engine as values only.
// Syntax that only newer engines know (pattern modifiers, one group name in
// several alternatives) is accepted. It does not promise to accept everything
// another engine does: a pattern with 255 groups or more, say, is an error.
// It imports internal/* only; ledger and gates import it.
package expect

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of a pattern and of one match.
const (
	MaxPattern = 1000 // UTF-16 units (unlazy)
	Limit      = 250 * time.Millisecond
)

// ErrTimeout is the error of a match that took longer than Limit.
var ErrTimeout = errors.New("the pattern took longer than 250 ms")

// Expectation is a parsed EXPECT value. The zero value matches nothing.
type Expectation struct {
	Pattern bool   // a /source/flags pattern, else a substring
	Text    string // the substring, or the pattern's source
	Flags   string
}

// Parse splits an EXPECT value. Validity of a pattern is Validate's business.
//
// A pattern begins with a slash and ends in a later slash followed by nothing
// but letters a to z (unlazy's rule, by which /usr/bin/node is the pattern
// usr/bin with the flags "node").
func Parse(value string) Expectation {
	last := strings.LastIndexByte(value, '/')
	if last < 1 || value[0] != '/' {
		return Expectation{Text: value}
	}
	flags := value[last+1:]
	for i := range len(flags) {
		if flags[i] < 'a' || flags[i] > 'z' {
			return Expectation{Text: value}
		}
	}
	return Expectation{Pattern: true, Text: value[1:last], Flags: flags}
}

// String gives the value that Parse splits into x.
func (x Expectation) String() string {
	if x.Pattern {
		return "/" + x.Text + "/" + x.Flags
	}
	return x.Text
}

// Validate returns an error if the value is a pattern that the engine rejects, is
// longer than MaxPattern, or has invalid or repeated flags.
//
// It starts an engine of its own for a pattern that is not plain: whoever
// validates more than a few values keeps an Engine.
func Validate(value string) error {
	e := New()
	defer e.Close()
	return e.Validate(value)
}

// Match reports whether output, a canonical string, meets the value. The error
// is ErrTimeout beyond Limit, or says why the engine gave no answer; with an
// error the answer is false.
//
// It starts an engine of its own for a pattern, and nothing bounds how many
// calls run at a time: whoever matches more than once keeps an Engine.
func Match(value, output string) (bool, error) {
	e := New()
	defer e.Close()
	return e.Match(value, output)
}

// check returns an error for a pattern that need not reach the engine to be
// refused.
func (x Expectation) check() error {
	if !utf8.ValidString(x.Text) {
		return errors.New("the pattern is not valid UTF-8")
	}
	if err := checkFlags(x.Flags); err != nil {
		return err
	}
	if n := utf16Len(x.Text); n > MaxPattern {
		return fmt.Errorf("the pattern has %d characters, the limit is %d", n, MaxPattern)
	}
	return x.checkNames()
}

// checkFlags follows ECMA-262, RegExpInitialize: each flag once, one of
// dgimsuvy, not u and v together.
func checkFlags(flags string) error {
	for i, f := range flags {
		if !strings.ContainsRune("dgimsuvy", f) {
			return fmt.Errorf("%q is not a flag (d g i m s u v y); a value that begins with a slash and ends in a slash and letters is a pattern", f)
		}
		if strings.ContainsRune(flags[:i], f) {
			return fmt.Errorf("flag %q is given twice", f)
		}
	}
	if strings.Contains(flags, "u") && strings.Contains(flags, "v") {
		return errors.New("flags 'u' and 'v' exclude each other")
	}
	return nil
}

// plain reports whether the source needs no engine to be known as valid:
// characters that stand for themselves, and the four marks ^ $ . | that are
// whole terms or separators anywhere (ECMA-262, Pattern). Most patterns in real
// ledgers are of this kind. With v the engine refuses a dash that the standard
// allows, so that it has to be asked.
func (x Expectation) plain() bool {
	return !strings.ContainsAny(x.Text, `\*+?()[]{}`) && !strings.Contains(x.Flags, "v")
}

// utf16Len returns the length of s in UTF-16 units.
func utf16Len(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}
