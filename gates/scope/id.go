package scope

import (
	"fmt"

	"github.com/gatesworn/gatesworn/internal/lazyregexp"
)

// locksDir is the folder of leases and locks beneath .unlazy; it is no scope.
const (
	baseDir  = ".unlazy"
	locksDir = "locks"
)

var idPattern = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// lineBreaks are what a line of status.log must not hold.
var lineBreaks = lazyregexp.New(`[\r\n]+`)

// IDError says that a scope, leaf or wave has an invalid name.
type IDError struct {
	What string // scope, leaf or wave
	ID   string
}

func (e *IDError) Error() string {
	if e.What == "scope" && e.ID == locksDir {
		return fmt.Sprintf("%q is the folder of locks, not a scope", e.ID)
	}
	return fmt.Sprintf("%s %q is not a valid name: 1 to 64 letters, digits, dots, dashes or underscores, the first a letter or digit", e.What, e.ID)
}

// ValidID reports whether id may name a scope, a leaf or a wave.
func ValidID(id string) bool { return idPattern.MatchString(id) }

func checkID(what, id string) error {
	if !ValidID(id) || (what == "scope" && id == locksDir) {
		return &IDError{What: what, ID: id}
	}
	return nil
}
