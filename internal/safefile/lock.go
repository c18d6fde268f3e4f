package safefile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/gofrs/flock"
)

// poll is how long a waiter sleeps between two tries.
const poll = 10 * time.Millisecond

// Lock is held until Release or until the process ends, however it ends.
type Lock struct{ held *flock.Flock }

// Acquire takes the exclusive lock on the file at path, which is created with
// mode 0600 and stays behind. It tries once in any case and then waits as long
// as ctx lets it; the error then wraps ErrHeld. A lock is never stolen: the
// kernel releases it when its holder dies. The file must be regular and no link.
func Acquire(ctx context.Context, path string) (*Lock, error) {
	for {
		l, err := try(path)
		if err == nil {
			return l, nil
		}
		if !errors.Is(err, ErrHeld) {
			return nil, failure("lock", path, err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("lock %q: %w (%w)", path, ErrHeld, context.Cause(ctx))
		case <-time.After(poll):
		}
	}
}

func try(path string) (*Lock, error) {
	if info, err := os.Lstat(path); err == nil {
		if err := kind(info.Mode()); err != nil {
			return nil, err
		}
	}
	f := flock.New(path, flock.SetPermissions(0o600), flock.SetFlag(os.O_CREATE|os.O_RDWR|openGuards))
	ok, err := f.TryLock()
	if err != nil {
		if isLoop(err) {
			err = ErrLink
		}
		return nil, err
	}
	if !ok {
		return nil, ErrHeld
	}
	if err := stands(f, path); err != nil {
		_ = f.Unlock()
		return nil, err
	}
	return &Lock{f}, nil
}

// stands checks that the locked file is still the one that others will open: a
// lock on a file that was removed excludes nobody.
func stands(f *flock.Flock, path string) error {
	locked, err := f.Stat()
	if err != nil {
		return err
	}
	if err := kind(locked.Mode()); err != nil {
		return err
	}
	named, err := os.Lstat(path)
	if isAbsent(err) || err == nil && !os.SameFile(locked, named) {
		return ErrHeld
	}
	return err
}

// Release gives the lock back. Releasing twice, or a nil Lock, does nothing.
func (l *Lock) Release() error {
	if l == nil || l.held == nil {
		return nil
	}
	return l.held.Unlock()
}
