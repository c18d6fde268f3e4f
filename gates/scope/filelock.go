package scope

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	mathrand "math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/gatesworn/gatesworn/internal/jsontext"
	"github.com/gatesworn/gatesworn/internal/safefile"
)

// lockWait bounds how long a lock is waited for (unlazy: 30 s).
const lockWait = 30 * time.Second

// Patience is how long a lock whose owner is dead is waited for before its owner
// is named: the process may live where its id is not seen from here.
const Patience = 10 * time.Second

// maxPause bounds the pause between two tries, in milliseconds: it grows, so that
// hundreds of waiters do not starve the holder.
const maxPause = 120

// maxLock is the size limit of a lock's record, in bytes.
const maxLock = 4096

// stamp is how JavaScript's toISOString writes a time.
const stamp = "2006-01-02T15:04:05.000Z"

// Lock is unlazy's lock of one target: a file in .unlazy/locks that is there
// while it is held. It outlives a process that is killed; then a person removes it.
type Lock struct {
	root, rel, token string
}

// lockRecord is what the file holds.
type lockRecord struct {
	Token  string `json:"token"`
	PID    int    `json:"pid"`
	Target string `json:"target"`
	At     string `json:"at"`
}

// HeldError says who holds a lock. It wraps safefile.ErrHeld.
type HeldError struct {
	Target string        // what is locked, as it was asked for
	File   string        // the lock's file, absolute
	PID    int           // 0 if the file does not say
	Dead   bool          // no process has that id here
	Age    time.Duration // since the file was made
	cause  error
}

func (e *HeldError) Error() string {
	age := e.Age.Round(time.Second)
	switch {
	case e.PID == 0:
		return fmt.Sprintf("%s is locked for %s by an unnamed process; if none is at work, remove %s", e.Target, age, e.File)
	case e.Dead:
		return fmt.Sprintf("%s is locked for %s by process %d, which is gone; check what it left, then remove %s", e.Target, age, e.PID, e.File)
	}
	return fmt.Sprintf("%s is locked for %s by process %d", e.Target, age, e.PID)
}

// Unwrap gives safefile.ErrHeld and why the wait ended.
func (e *HeldError) Unwrap() []error { return []error{safefile.ErrHeld, e.cause} }

// errDead is the cause when the wait ended because the owner is gone.
var errDead = errors.New("its owner is gone")

// FileLock takes unlazy's lock of target, an absolute path beneath root, for the
// tree at root. It creates .unlazy/locks: who wants the lock only where unlazy is
// used asks UsesLocks first. It waits as long as ctx lets it, at most 30 s (unlazy), or
// Patience when the owner is dead; the error is then a *HeldError. A lock is never stolen. now is
// the time, for the record and for the age of a lock.
func FileLock(ctx context.Context, root, target string, now func() time.Time) (*Lock, error) {
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	return fileLock(ctx, root, target, now, Patience)
}

// UsesLocks reports whether the tree at root has unlazy's folder of locks.
func UsesLocks(root string) bool { return realDir(root, path.Join(baseDir, locksDir)) == nil }

func fileLock(ctx context.Context, root, target string, now func() time.Time, patience time.Duration) (*Lock, error) {
	name, err := canonical(target)
	if err != nil {
		return nil, fmt.Errorf("cannot lock: %w", err)
	}
	sum := sha256.Sum256([]byte(name)) // in the system's own spelling, as unlazy
	dir, err := folder(root, path.Join(baseDir, locksDir), true)
	if err != nil {
		return nil, fmt.Errorf("cannot lock %s: %w", target, err)
	}
	defer dir.Close()
	l := &Lock{root: root, rel: path.Join(baseDir, locksDir, hex.EncodeToString(sum[:])[:24]+".filelock"), token: token()}
	waited := time.NewTimer(patience)
	defer waited.Stop()
	checkOwner, pause := false, 8
	for {
		err := l.create(dir, lockRecord{Token: l.token, PID: os.Getpid(), Target: name, At: now().UTC().Format(stamp)})
		if err == nil {
			return l, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("cannot lock %s: %w", target, err)
		}
		if checkOwner {
			if held := l.owner(target, now()); held.Dead {
				held.cause = errDead
				return nil, held
			}
		}
		select {
		case <-ctx.Done():
			held := l.owner(target, now())
			held.cause = context.Cause(ctx)
			return nil, held
		case <-waited.C:
			checkOwner = true
		case <-time.After(time.Duration(2+mathrand.IntN(pause)) * time.Millisecond):
			pause = min(pause*2, maxPause)
		}
	}
}

// create writes the record into a new file. A process that is killed between the
// two leaves an empty file: a lock all the same, whose owner is not known.
func (l *Lock) create(dir *os.Root, r lockRecord) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := dir.OpenFile(path.Base(l.rel), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = dir.Remove(path.Base(l.rel)) // ours: O_EXCL made it
	}
	return err
}

// owner says what is known of the lock's holder.
func (l *Lock) owner(target string, now time.Time) *HeldError {
	file := filepath.Join(l.root, filepath.FromSlash(l.rel))
	held := &HeldError{Target: target, File: file}
	if info, err := os.Lstat(file); err == nil {
		held.Age = max(0, now.Sub(info.ModTime()))
	}
	if r, err := l.record(); err == nil {
		held.PID = r.PID
		held.Dead = r.PID > 0 && !alive(r.PID)
	}
	return held
}

func (l *Lock) record() (lockRecord, error) {
	f, err := safefile.ReadBeneath(l.root, l.rel, maxLock)
	if err != nil {
		return lockRecord{}, err
	}
	ms, err := jsontext.Object(f.Data)
	if err != nil {
		return lockRecord{}, err
	}
	var r lockRecord
	for _, m := range ms {
		switch m.Name {
		case "token":
			r.Token, err = jsontext.String(m.Value)
		case "pid":
			err = json.Unmarshal(m.Value, &r.PID)
		}
		if err != nil {
			return lockRecord{}, err
		}
	}
	return r, nil
}

// Release gives the lock back if it is still ours: the record must hold our
// token. A nil Lock does nothing.
func (l *Lock) Release() error {
	if l == nil {
		return nil
	}
	r, err := l.record()
	if err != nil {
		return fmt.Errorf("cannot release lock: %w", err)
	}
	if r.Token != l.token {
		return fmt.Errorf("cannot release lock %s: somebody replaced it", l.rel)
	}
	dir, err := folder(l.root, path.Dir(l.rel), false)
	if err != nil {
		return fmt.Errorf("cannot release lock: %w", err)
	}
	defer dir.Close()
	if err := dir.Remove(path.Base(l.rel)); err != nil {
		return fmt.Errorf("cannot release lock: %w", err)
	}
	return nil
}

func token() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // does not fail
	return hex.EncodeToString(b[:])
}
