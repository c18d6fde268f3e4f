package scope

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/gatesworn/gatesworn/internal/safefile"
)

// AuditError says that a wave's transition is on disk and its line in status.log is not.
type AuditError struct{ Err error }

func (e *AuditError) Error() string {
	return "the transition is recorded; its line in status.log is not: " + e.Err.Error()
}

// Unwrap gives the cause.
func (e *AuditError) Unwrap() error { return e.Err }

// OpenWave declares a wave and the leaves it hands out. All wave operations return
// the wave as it is then; an *AuditError comes with a wave, any other error without.
func (t Tree) OpenWave(ctx context.Context, scope, wave string, leaves []string) (Wave, error) {
	return t.change(ctx, scope, func(d *Dispatch) (int, string, error) {
		if err := checkID("wave", wave); err != nil {
			return 0, "", err
		}
		if _, err := distinct(leaves); err != nil {
			return 0, "", err
		}
		if _, err := d.find(wave); err == nil {
			return 0, "", fmt.Errorf("wave %s already exists", wave)
		}
		d.Waves = append(d.Waves, Wave{Name: wave, Leaves: leaves, State: WaveOpen, OpenedAt: t.at(Wave{})})
		return len(d.Waves) - 1, "opened: " + strings.Join(leaves, ", "), nil
	})
}

// Launch records the handle of the worker that a leaf of an open wave was handed to.
func (t Tree) Launch(ctx context.Context, scope, wave, leaf, handle string) (Wave, error) {
	return t.transition(ctx, scope, wave, func(w *Wave) (string, error) {
		switch {
		case !w.declares(leaf):
			return "", fmt.Errorf("unknown leaf %s in wave %s", leaf, wave)
		case w.State != WaveOpen:
			return "", fmt.Errorf("wave %s is %s; launch requires an open wave", wave, w.State)
		case !printable(handle, maxHandle):
			return "", fmt.Errorf("a handle is printable, not blank and at most %d characters", maxHandle)
		}
		for _, s := range w.Started {
			if s.Leaf == leaf {
				return "", fmt.Errorf("leaf %s already started", leaf)
			}
			if s.Handle == handle {
				return "", fmt.Errorf("handle is already assigned to %s", s.Leaf)
			}
		}
		w.Started = append(w.Started, Start{leaf, handle, t.at(*w)})
		return "started " + leaf + " as " + handle, nil
	})
}

// Seal closes an open wave whose leaves all have started: from now on work may come back.
func (t Tree) Seal(ctx context.Context, scope, wave string) (Wave, error) {
	return t.transition(ctx, scope, wave, func(w *Wave) (string, error) {
		if w.State != WaveOpen {
			return "", fmt.Errorf("wave %s is %s; seal requires an open wave", wave, w.State)
		}
		started := map[string]bool{}
		for _, s := range w.Started {
			started[s.Leaf] = true
		}
		var missing []string
		for _, l := range w.Leaves {
			if !started[l] {
				missing = append(missing, l)
			}
		}
		if len(missing) > 0 {
			return "", fmt.Errorf("cannot seal %s: missing starts for %s", wave, strings.Join(missing, ", "))
		}
		w.SealedAt, w.State = t.at(*w), WaveSealed
		return "sealed", nil
	})
}

// ReturnLeaf records that a leaf's work came back; the last one completes the wave.
func (t Tree) ReturnLeaf(ctx context.Context, scope, wave, leaf string) (Wave, error) {
	return t.transition(ctx, scope, wave, func(w *Wave) (string, error) {
		if !w.declares(leaf) {
			return "", fmt.Errorf("unknown leaf %s in wave %s", leaf, wave)
		}
		for _, r := range w.Returned {
			if r.Leaf == leaf {
				return "", fmt.Errorf("leaf %s already returned", leaf)
			}
		}
		if w.State != WaveSealed {
			return "", fmt.Errorf("return requires a sealed wave; %s is %s", wave, w.State)
		}
		at := t.at(*w)
		w.Returned = append(w.Returned, Return{leaf, at})
		if len(w.Returned) == len(w.Leaves) {
			w.CompletedAt, w.State = at, WaveComplete
		}
		return "returned " + leaf, nil
	})
}

// Abandon gives an open or sealed wave up. That is a handoff, never a success.
func (t Tree) Abandon(ctx context.Context, scope, wave, reason string) (Wave, error) {
	return t.transition(ctx, scope, wave, func(w *Wave) (string, error) {
		switch {
		case w.State != WaveOpen && w.State != WaveSealed:
			return "", fmt.Errorf("wave %s is %s; abandon requires an open or sealed wave", wave, w.State)
		case !printable(reason, maxReason):
			return "", fmt.Errorf("a reason is printable, not blank and at most %d characters", maxReason)
		}
		w.Reason, w.AbandonedAt, w.State = reason, t.at(*w), WaveAbandoned
		return "abandoned: " + reason, nil
	})
}

func (w Wave) declares(leaf string) bool {
	for _, l := range w.Leaves {
		if l == leaf {
			return true
		}
	}
	return false
}

// at is the time of an event of the wave: now, or the wave's last event if the
// clock went back meanwhile.
func (t Tree) at(w Wave) string {
	return later(t.Now(), w.latest()).UTC().Format(stamp)
}

func (d Dispatch) find(wave string) (int, error) {
	for i, w := range d.Waves {
		if w.Name == wave {
			return i, nil
		}
	}
	return 0, fmt.Errorf("unknown wave %s", wave)
}

func (t Tree) transition(ctx context.Context, scope, wave string, do func(*Wave) (string, error)) (Wave, error) {
	return t.change(ctx, scope, func(d *Dispatch) (int, string, error) {
		if err := checkID("wave", wave); err != nil {
			return 0, "", err
		}
		i, err := d.find(wave)
		if err != nil {
			return 0, "", err
		}
		audit, err := do(&d.Waves[i])
		return i, audit, err
	})
}

// change reads, changes and writes the scope's waves under their lock.
func (t Tree) change(ctx context.Context, scope string, do func(*Dispatch) (at int, audit string, err error)) (Wave, error) {
	dir, err := t.scopeDir(scope)
	if err != nil {
		return Wave{}, err
	}
	var done Wave
	rel := path.Join(dir, "dispatch.json")
	err = t.locked(ctx, rel, func() error {
		d, err := Waves(t.Root, scope)
		if err != nil {
			return err
		}
		i, audit, err := do(&d)
		if err != nil {
			return err
		}
		if err := d.Waves[i].possible(); err != nil {
			return fmt.Errorf("%w: %s", ErrDispatch, err) // a fault of ours: never written
		}
		data, err := d.text()
		if err != nil {
			return fmt.Errorf("cannot write waves: %w", err)
		}
		if len(data) > maxDispatch {
			return fmt.Errorf("cannot write waves: %w: more than %d bytes", safefile.ErrSize, maxDispatch)
		}
		if err := safefile.ReplaceBeneath(t.Root, rel, data, 0o600); err != nil {
			return fmt.Errorf("cannot write waves: %w", err)
		}
		done = d.Waves[i]
		line := fmt.Sprintf("%s dispatch %s %s\n", t.Now().UTC().Format(stamp), done.Name, audit)
		if err := t.appendLog(dir, line); err != nil {
			return &AuditError{err}
		}
		return nil
	})
	if err != nil && !errors.As(err, new(*AuditError)) {
		return Wave{}, err
	}
	return done, err
}

func (t Tree) appendLog(dir, line string) error {
	return safefile.Append(filepath.Join(t.Root, filepath.FromSlash(dir), "status.log"), []byte(line), 0o600)
}
