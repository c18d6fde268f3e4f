package approval

import (
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/gatesworn/gatesworn/internal/lazyregexp"
)

// Modes of git tree entries, as they are written in a listing.
const (
	ModeFile       = "100644"
	ModeExecutable = "100755"
	ModeLink       = "120000"
	ModeSubmodule  = "160000"
)

var (
	gateID  = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	hex64   = lazyregexp.New(`^[0-9a-f]{64}$`)
	project = lazyregexp.New(`^[A-Za-z0-9._-]{8,64}$`)
)

// Validate returns an error, wrapping ErrOracle, that names the first value an
// oracle must not hold. It is what makes canonical bytes unambiguous: text that
// a decoder would replace, lists out of order and paths with two spellings are refused.
func (o Oracle) Validate() error {
	if o.V != OracleVersion {
		return fmt.Errorf("%w: version %d, not %d", ErrOracle, o.V, OracleVersion)
	}
	for _, check := range []func(Oracle) error{validateText, validatePlace, validateCommand, validateInputs} {
		if err := check(o); err != nil {
			return err
		}
	}
	return nil
}

func validateText(o Oracle) error {
	texts := []string{o.Project, o.Ledger, o.Gate, o.Outcome, o.CWD}
	for _, p := range []*string{o.Check, o.Expect} {
		if p != nil {
			texts = append(texts, *p)
		}
	}
	for _, l := range [][]string{o.Needs, o.InputPatterns, o.Reads, o.Writes, o.Env} {
		texts = append(texts, l...)
	}
	for _, t := range texts {
		if err := plain(t); err != nil {
			return fmt.Errorf("%w: %v", ErrOracle, err)
		}
	}
	return nil
}

// plain refuses text that a decoder may have changed on the way here.
func plain(s string) error {
	switch {
	case !utf8.ValidString(s):
		return fmt.Errorf("%q is not valid UTF-8", s)
	case strings.ContainsRune(s, utf8.RuneError):
		return fmt.Errorf("%q holds U+FFFD, the mark of bytes that were lost", s)
	case strings.ContainsRune(s, 0):
		return fmt.Errorf("%q holds NUL", s)
	}
	return nil
}

func validatePlace(o Oracle) error {
	switch {
	case o.Project != "" && !project.MatchString(o.Project):
		return fmt.Errorf("%w: project %q", ErrOracle, o.Project)
	case !cleanPath(o.Ledger):
		return fmt.Errorf("%w: ledger path %q", ErrOracle, o.Ledger)
	case !gateID.MatchString(o.Gate):
		return fmt.Errorf("%w: gate id %q", ErrOracle, o.Gate)
	case strings.TrimSpace(o.Outcome) == "":
		return fmt.Errorf("%w: blank outcome", ErrOracle)
	case o.CWD != "." && !cleanPath(o.CWD):
		return fmt.Errorf("%w: directory %q", ErrOracle, o.CWD)
	}
	return nil
}

func validateCommand(o Oracle) error {
	switch {
	case (o.Check == nil) != (o.Expect == nil):
		return fmt.Errorf("%w: check and expect must both be there or both be null", ErrOracle)
	case o.Check != nil && (strings.TrimSpace(*o.Check) == "" || strings.TrimSpace(*o.Expect) == ""):
		return fmt.Errorf("%w: blank check or expect", ErrOracle)
	case o.Timeout != nil && (*o.Timeout < 1 || *o.Timeout > MaxTimeout):
		return fmt.Errorf("%w: timeout %d is not within 1 to %d", ErrOracle, *o.Timeout, MaxTimeout)
	}
	return nil
}

func validateInputs(o Oracle) error {
	if (len(o.InputPatterns) == 0) != (o.Inputs == nil) {
		return fmt.Errorf("%w: inputs must be null exactly when there are no patterns", ErrOracle)
	}
	for i, f := range o.Inputs {
		switch {
		case plain(f.Path) != nil || !cleanPath(f.Path):
			return fmt.Errorf("%w: input path %q", ErrOracle, f.Path)
		case f.Mode != ModeFile && f.Mode != ModeExecutable && f.Mode != ModeSubmodule:
			return fmt.Errorf("%w: mode %q of %q", ErrOracle, f.Mode, f.Path)
		case !hex64.MatchString(f.SHA256):
			return fmt.Errorf("%w: sha256 %q of %q", ErrOracle, f.SHA256, f.Path)
		case i > 0 && o.Inputs[i-1].Path >= f.Path:
			return fmt.Errorf("%w: inputs are not sorted: %q", ErrOracle, f.Path)
		}
	}
	return nil
}

// cleanPath reports whether p is the one spelling of a path beneath the top.
func cleanPath(p string) bool {
	return p != "" && p != "." && p != ".." && !strings.HasPrefix(p, "../") &&
		!strings.HasPrefix(p, "/") && path.Clean(p) == p && !strings.ContainsRune(p, 0)
}
