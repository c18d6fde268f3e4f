package schedule

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"
)

// Limits of a file of recorded durations. MaxDurations holds the gates of several
// large ledgers; those recorded longest ago go first.
const (
	MaxDurations     = 20_000
	MaxDurationsSize = 4 << 20 // bytes
	maxKey           = 128     // bytes
	durationsSchema  = "gatesworn.durations/v1"
)

// Durations are how long checks took when they last ended by themselves. They
// only order checks, so a file that is lost or wrong costs time and nothing else.
// The zero value is empty and ready.
type Durations struct {
	entries map[string]duration
	turn    uint64 // of the last record
}

type duration struct {
	ms   int64
	turn uint64
}

type durationsFile struct {
	Schema string          `json:"schema"`
	Gates  []durationEntry `json:"gates"`
}

type durationEntry struct {
	Key  string `json:"key"`
	MS   int64  `json:"ms"`
	Turn uint64 `json:"turn"`
}

// ParseDurations reads what Bytes wrote. The error says what is wrong; the value
// is then empty, and a caller may go on with it.
func ParseDurations(data []byte) (Durations, error) {
	if len(data) > MaxDurationsSize {
		return Durations{}, fmt.Errorf("recorded durations have %d bytes, more than %d", len(data), MaxDurationsSize)
	}
	var f durationsFile
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return Durations{}, fmt.Errorf("read recorded durations: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Durations{}, errors.New("recorded durations go on after their end")
	}
	if f.Schema != durationsSchema || len(f.Gates) > MaxDurations {
		return Durations{}, fmt.Errorf("recorded durations of schema %q with %d gates", f.Schema, len(f.Gates))
	}
	d := Durations{entries: make(map[string]duration, len(f.Gates))}
	for _, e := range f.Gates {
		if _, twice := d.entries[e.Key]; twice || !validKey(e.Key) || e.MS < 1 || e.MS > math.MaxInt64/int64(time.Millisecond) || e.Turn > math.MaxUint64/2 {
			return Durations{}, fmt.Errorf("recorded duration of %q is not valid", e.Key)
		}
		d.entries[e.Key] = duration{ms: e.MS, turn: e.Turn}
		d.turn = max(d.turn, e.Turn)
	}
	return d, nil
}

func validKey(key string) bool { return key != "" && len(key) <= maxKey }

// Expected returns what was recorded for the key, 0 if nothing was.
func (d *Durations) Expected(key string) time.Duration {
	return time.Duration(d.entries[key].ms) * time.Millisecond
}

// Record keeps how long the check took, in place of what was recorded before. The
// caller chooses the key, best a digest of the definition, so that a changed check
// starts anew. A key that is empty or longer than 128 bytes is not kept.
func (d *Durations) Record(key string, took time.Duration) {
	if !validKey(key) || took < 0 {
		return
	}
	if d.entries == nil {
		d.entries = map[string]duration{}
	}
	d.turn++
	d.entries[key] = duration{ms: max(took.Milliseconds(), 1), turn: d.turn}
	if len(d.entries) > MaxDurations+MaxDurations/8 {
		d.evict() // now and then, so that a record costs little
	}
}

// Bytes renders the durations for ParseDurations: the newest ones, as many as both
// limits allow, sorted by key.
func (d *Durations) Bytes() []byte {
	d.evict()
	f := durationsFile{Schema: durationsSchema, Gates: []durationEntry{}}
	for key, e := range d.entries {
		f.Gates = append(f.Gates, durationEntry{Key: key, MS: e.ms, Turn: e.turn})
	}
	slices.SortFunc(f.Gates, func(a, b durationEntry) int { return cmp.Compare(a.Key, b.Key) })
	data, err := json.Marshal(f)
	if err != nil {
		return nil // strings and numbers: cannot happen, and would only lose an order
	}
	return append(data, '\n')
}

func (d *Durations) evict() {
	over := len(d.entries) - MaxDurations
	if over <= 0 {
		return
	}
	keys := make([]string, 0, len(d.entries))
	for key := range d.entries {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(d.entries[a].turn, d.entries[b].turn), cmp.Compare(a, b))
	})
	for _, key := range keys[:over] {
		delete(d.entries, key)
	}
}
