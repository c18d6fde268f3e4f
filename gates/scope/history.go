package scope

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Limits of what people write about a wave, in characters (unlazy).
const (
	maxHandle = 256
	maxReason = 500
)

// possible returns an error if the wave's history cannot have happened: its
// transitions are open, start each leaf, seal, return each leaf; or abandon.
func (w Wave) possible() error {
	if err := checkID("wave", w.Name); err != nil {
		return err
	}
	leaves, err := distinct(w.Leaves)
	if err != nil {
		return err
	}
	if err := w.inState(); err != nil {
		return err
	}
	return w.inOrder(leaves)
}

func distinct(leaves []string) (map[string]bool, error) {
	if len(leaves) == 0 {
		return nil, errors.New("no leaves are declared")
	}
	seen := map[string]bool{}
	for _, l := range leaves {
		if err := checkID("leaf", l); err != nil {
			return nil, err
		}
		if seen[l] {
			return nil, fmt.Errorf("duplicate leaf %s", l)
		}
		seen[l] = true
	}
	return seen, nil
}

// inState checks that what is recorded fits the state, and nothing else is.
func (w Wave) inState() error {
	all, started, returned := len(w.Leaves), len(w.Started), len(w.Returned)
	sealed := w.SealedAt != ""
	bad := func(what string) error { return fmt.Errorf("%s, but it is %s", what, w.State) }
	switch {
	case w.State != WaveOpen && w.State != WaveSealed && w.State != WaveComplete && w.State != WaveAbandoned:
		return fmt.Errorf("state %.40q is not known", w.State)
	case w.State == WaveOpen && sealed:
		return bad("has a time of sealing")
	case (w.State == WaveSealed || w.State == WaveComplete) && !sealed:
		return bad("has no time of sealing")
	case sealed && started != all:
		return errors.New("was sealed before every leaf had started")
	case returned > 0 && !sealed:
		return errors.New("has returns before it was sealed")
	case w.State == WaveComplete && returned != all:
		return bad("has leaves that did not return")
	case w.State != WaveComplete && returned == all:
		return bad("has no leaf left to return")
	case (w.State == WaveComplete) != (w.CompletedAt != ""):
		return bad("its time of completion does not fit")
	case (w.State == WaveAbandoned) != (w.AbandonedAt != "" && w.Reason != ""):
		return bad("its reason or time of abandonment does not fit")
	case w.State != WaveAbandoned && (w.AbandonedAt != "" || w.Reason != ""):
		return bad("has a reason or a time of abandonment")
	case w.State == WaveAbandoned && !printable(w.Reason, maxReason):
		return errors.New("its reason is not printable")
	}
	return nil
}

// inOrder checks the times and that starts and returns belong to declared leaves.
func (w Wave) inOrder(leaves map[string]bool) error {
	opened, err := moment("openedAt", w.OpenedAt, time.Time{})
	if err != nil {
		return err
	}
	last := opened
	starts, handles := map[string]time.Time{}, map[string]string{}
	for _, s := range w.Started {
		if !leaves[s.Leaf] {
			return fmt.Errorf("unknown leaf %.80q was started", s.Leaf)
		}
		if !printable(s.Handle, maxHandle) {
			return fmt.Errorf("handle of %s is not printable", s.Leaf)
		}
		if other, taken := handles[s.Handle]; taken {
			return fmt.Errorf("handle of %s is already assigned to %s", s.Leaf, other)
		}
		handles[s.Handle] = s.Leaf
		if starts[s.Leaf], err = moment("start of "+s.Leaf, s.At, opened); err != nil {
			return err
		}
		last = later(last, starts[s.Leaf])
	}
	sealed := last
	if w.SealedAt != "" {
		if sealed, err = moment("sealedAt", w.SealedAt, last); err != nil {
			return err
		}
		last = sealed
	}
	for _, r := range w.Returned {
		if _, ok := starts[r.Leaf]; !ok {
			return fmt.Errorf("leaf %.80q returned and was never started", r.Leaf)
		}
		at, err := moment("return of "+r.Leaf, r.At, sealed)
		if err != nil {
			return err
		}
		last = later(last, at)
	}
	for name, at := range map[string]string{"completedAt": w.CompletedAt, "abandonedAt": w.AbandonedAt} {
		if at == "" {
			continue
		}
		if _, err := moment(name, at, last); err != nil {
			return err
		}
	}
	return nil
}

// moment parses a time that must not lie before another.
func moment(what, at string, notBefore time.Time) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, at)
	if err != nil || !strings.HasSuffix(at, "Z") {
		return time.Time{}, fmt.Errorf("%s is no UTC time", what)
	}
	if t.Before(notBefore) {
		return time.Time{}, fmt.Errorf("%s lies before what it follows", what)
	}
	return t, nil
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// latest is the last time recorded for the wave.
func (w Wave) latest() time.Time {
	var last time.Time
	ats := []string{w.OpenedAt, w.SealedAt}
	for _, s := range w.Started {
		ats = append(ats, s.At)
	}
	for _, r := range w.Returned {
		ats = append(ats, r.At)
	}
	for _, at := range ats {
		if t, err := time.Parse(time.RFC3339Nano, at); err == nil {
			last = later(last, t)
		}
	}
	return last
}

// printable reports whether text is one printable, nonblank line of at most max characters.
func printable(text string, max int) bool {
	if strings.TrimSpace(text) == "" || utf8.RuneCountInString(text) > max || !utf8.ValidString(text) {
		return false
	}
	for _, r := range text {
		if r != ' ' && !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}
