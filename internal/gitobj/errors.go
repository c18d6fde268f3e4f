package gitobj

import (
	"errors"
	"fmt"
)

// Errors by effect. Everything this package returns wraps one of these, an fs
// error, or the context's error.
var (
	ErrNoRepo      = errors.New("is not a git repository")
	ErrUnsupported = errors.New("uses a git feature that is not supported here")
	ErrNotFound    = errors.New("is not there")
	ErrCorrupt     = errors.New("is corrupt")
	ErrLimit       = errors.New("is over a size limit")
	ErrLink        = errors.New("is a link or a special file")
	ErrName        = errors.New("is not a valid name")
	ErrAmbiguous   = errors.New("is ambiguous")
)

// Limits. They bound memory and time on a repository that somebody else prepared.
const (
	// MaxBlob is the most that Blob reads whatever its caller allows, in bytes.
	MaxBlob = 256 << 20
	// MaxMeta bounds a commit, tag or tree object, in bytes.
	MaxMeta = 32 << 20
	// MaxEntries bounds how many entries one Walk visits; a tree of trees that
	// repeat each other (a "git bomb") ends there.
	MaxEntries = 2_000_000
	// MaxPath bounds a path in a tree, in bytes (Linux's PATH_MAX).
	MaxPath = 4096

	maxInflate  = MaxBlob  // any single base or delta
	maxChain    = 4095     // git's own limit on --depth
	maxChainSum = MaxBlob  // inflated bytes of all deltas of one object
	maxPacks    = 10_000   // pack files looked at
	maxRefFile  = 64 << 20 // packed-refs
	maxIndex    = 512 << 20
	maxConfig   = 1 << 20
	maxSymref   = 5 // git's MAXDEPTH for symbolic refs
	maxTagDepth = 5 // annotated tags of tags
	maxTreeNest = 256
	cacheBytes  = 32 << 20 // inflated delta bases kept per repository
)

// MissingError says that an object is not in the repository's own store and what
// may explain it. It is an ErrNotFound.
type MissingError struct {
	OID        OID
	Alternates bool // the repository borrows objects; borrowed ones do not count
	Shallow    bool // history is cut
	Partial    bool // a partial clone fetches objects on demand
}

// Error names the object and, if known, why it may be missing and the cure.
func (e *MissingError) Error() string {
	s := "object " + e.OID.String() + " is not in this repository"
	switch {
	case e.Alternates:
		s += " itself (borrowed objects, objects/info/alternates, do not count; git repack -ad copies them)"
	case e.Partial:
		s += " (partial clone; git fetch --refetch --no-filter gets all)"
	case e.Shallow:
		s += " (shallow clone; git fetch --unshallow gets all)"
	}
	return s
}

// Is reports that a missing object is an ErrNotFound.
func (e *MissingError) Is(target error) bool { return target == ErrNotFound }

func corrupt(format string, a ...any) error {
	return fmt.Errorf(format+" %w", append(a, ErrCorrupt)...)
}
