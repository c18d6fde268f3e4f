package scope

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sort"
	"strconv"

	"github.com/gatesworn/gatesworn/internal/jsontext"
	"github.com/gatesworn/gatesworn/internal/safefile"
)

// maxDispatch is the size limit of dispatch.json, in bytes (unlazy).
const maxDispatch = 8 << 20

// ErrDispatch says that dispatch.json is not a history that could have happened.
var ErrDispatch = errors.New("invalid dispatch state")

// WaveState is where a wave stands. The zero value is not resolved.
type WaveState string

// The states of a wave.
const (
	WaveOpen      WaveState = "open"      // leaves are being handed to workers
	WaveSealed    WaveState = "sealed"    // every leaf has a worker; work comes back
	WaveComplete  WaveState = "complete"  // everything came back
	WaveAbandoned WaveState = "abandoned" // given up: a handoff
)

// Start records that a leaf was handed to a worker, Return that it came back.
type (
	Start struct {
		Leaf, Handle, At string
	}
	Return struct {
		Leaf, At string
	}
)

// Wave is one launch wave. Times are ISO 8601 as JavaScript writes them, "" when
// the event has not happened.
type Wave struct {
	Name        string
	Leaves      []string // declared, in order
	State       WaveState
	OpenedAt    string
	Started     []Start
	Returned    []Return
	SealedAt    string
	CompletedAt string
	Reason      string // why it was abandoned
	AbandonedAt string
}

// Counts says how far the wave is: "2/3 started, 0/3 returned".
func (w Wave) Counts() string {
	n := len(w.Leaves)
	return fmt.Sprintf("%d/%d started, %d/%d returned", len(w.Started), n, len(w.Returned), n)
}

// String is the wave's line in a status: OPEN W (2/3 started, 0/3 returned).
func (w Wave) String() string {
	n := len(w.Leaves)
	switch w.State {
	case WaveComplete:
		return fmt.Sprintf("COMPLETE %s (%d/%d returned)", w.Name, n, n)
	case WaveAbandoned:
		return fmt.Sprintf("ABANDONED %s (%s): %s", w.Name, w.Counts(), w.Reason)
	case WaveSealed:
		return fmt.Sprintf("SEALED %s (%s)", w.Name, w.Counts())
	}
	return fmt.Sprintf("OPEN %s (%s)", w.Name, w.Counts())
}

// Dispatch is a scope's launch waves in the order of its file.
type Dispatch struct{ Waves []Wave }

// Summary is what the waves mean for the scope's verdict.
type Summary struct {
	Resolved   int      // complete or abandoned
	Unresolved []string // dispatch:W open (2/3 started), dispatch:W sealed (1/3 returned): the scope is unmet
	Abandoned  []string // dispatch:W: a handoff
}

// Summary sums the waves up. A scope without waves has nothing unresolved.
func (d Dispatch) Summary() Summary {
	var s Summary
	for _, w := range d.Waves {
		n := len(w.Leaves)
		switch w.State {
		case WaveComplete:
			s.Resolved++
		case WaveAbandoned:
			s.Resolved++
			s.Abandoned = append(s.Abandoned, "dispatch:"+w.Name)
		case WaveSealed:
			s.Unresolved = append(s.Unresolved, fmt.Sprintf("dispatch:%s sealed (%d/%d returned)", w.Name, len(w.Returned), n))
		default:
			s.Unresolved = append(s.Unresolved, fmt.Sprintf("dispatch:%s open (%d/%d started)", w.Name, len(w.Started), n))
		}
	}
	return s
}

// Waves reads the scope's dispatch.json; no file means no waves. The error wraps
// ErrDispatch when what it says cannot have happened.
func Waves(root, scope string) (Dispatch, error) {
	if err := checkID("scope", scope); err != nil {
		return Dispatch{}, err
	}
	f, err := safefile.ReadBeneath(root, path.Join(baseDir, scope, "dispatch.json"), maxDispatch)
	if errors.Is(err, fs.ErrNotExist) {
		return Dispatch{}, nil
	}
	if err != nil {
		return Dispatch{}, fmt.Errorf("cannot read waves: %w", err)
	}
	d, err := parseDispatch(f.Data)
	if err != nil {
		return Dispatch{}, fmt.Errorf("%w: %s", ErrDispatch, err)
	}
	return d, nil
}

func parseDispatch(data []byte) (Dispatch, error) {
	m, err := exactly(data, "schema", "waves")
	if err != nil {
		return Dispatch{}, err
	}
	if string(m["schema"]) != "1" {
		return Dispatch{}, errors.New("schema must be 1")
	}
	ms, err := jsontext.Object(m["waves"])
	if err != nil {
		return Dispatch{}, fmt.Errorf("waves %w", err)
	}
	var d Dispatch
	for _, m := range ms {
		w, err := parseWave(m.Name, m.Value)
		if err == nil {
			err = w.possible()
		}
		if err != nil {
			return Dispatch{}, fmt.Errorf("wave %.80q: %w", m.Name, err)
		}
		d.Waves = append(d.Waves, w)
	}
	return d, nil
}

func parseWave(name string, raw json.RawMessage) (Wave, error) {
	w := Wave{Name: name}
	m, err := exactly(raw, "leaves", "state", "openedAt", "started", "returned", "sealedAt?", "completedAt?", "reason?", "abandonedAt?")
	if err != nil {
		return w, err
	}
	if w.Leaves, err = jsontext.Strings(m["leaves"]); err != nil {
		return w, fmt.Errorf("leaves %w", err)
	}
	state := ""
	for _, f := range []struct {
		key string
		to  *string
	}{
		{"state", &state},
		{"openedAt", &w.OpenedAt},
		{"sealedAt", &w.SealedAt},
		{"completedAt", &w.CompletedAt},
		{"reason", &w.Reason},
		{"abandonedAt", &w.AbandonedAt},
	} {
		if m[f.key] == nil {
			continue
		}
		if *f.to, err = jsontext.String(m[f.key]); err != nil {
			return w, fmt.Errorf("%s %w", f.key, err)
		}
		if *f.to == "" {
			return w, fmt.Errorf("%s is empty", f.key)
		}
	}
	w.State = WaveState(state)
	return w, w.parseEvents(m["started"], m["returned"])
}

func (w *Wave) parseEvents(started, returned json.RawMessage) error {
	ms, err := jsontext.Object(started)
	if err != nil {
		return fmt.Errorf("started %w", err)
	}
	for _, m := range ms {
		e, err := texts(m.Value, "handle", "at")
		if err != nil {
			return fmt.Errorf("started %q: %w", m.Name, err)
		}
		w.Started = append(w.Started, Start{m.Name, e[0], e[1]})
	}
	if ms, err = jsontext.Object(returned); err != nil {
		return fmt.Errorf("returned %w", err)
	}
	for _, m := range ms {
		e, err := texts(m.Value, "at")
		if err != nil {
			return fmt.Errorf("returned %q: %w", m.Name, err)
		}
		w.Returned = append(w.Returned, Return{m.Name, e[0]})
	}
	return nil
}

// texts decodes an object of exactly these string members.
func texts(raw json.RawMessage, keys ...string) ([]string, error) {
	m, err := exactly(raw, keys...)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(keys))
	for i, k := range keys {
		if out[i], err = jsontext.String(m[k]); err != nil {
			return nil, fmt.Errorf("%s %w", k, err)
		}
	}
	return out, nil
}

// exactly returns an object's members, which must be those named; a name that ends
// in ? may be absent.
func exactly(raw []byte, keys ...string) (map[string]json.RawMessage, error) {
	ms, err := jsontext.Object(raw)
	if err != nil {
		return nil, err
	}
	got := map[string]json.RawMessage{}
	for _, m := range ms {
		got[m.Name] = m.Value
	}
	known := 0
	for _, k := range keys {
		name, optional := k, false
		if k[len(k)-1] == '?' {
			name, optional = k[:len(k)-1], true
		}
		if got[name] != nil {
			known++
		} else if !optional {
			return nil, fmt.Errorf("%s is missing", name)
		}
	}
	if known != len(got) {
		return nil, errors.New("has members that are not known")
	}
	return got, nil
}

// text renders dispatch.json as unlazy writes it.
func (d Dispatch) text() ([]byte, error) {
	waves := object{}
	for _, w := range d.Waves {
		m := object{{"leaves", w.Leaves}, {"state", w.State}, {"openedAt", w.OpenedAt}}
		started, returned := object{}, object{}
		for _, s := range w.Started {
			started = append(started, member{s.Leaf, object{{"handle", s.Handle}, {"at", s.At}}})
		}
		for _, r := range w.Returned {
			returned = append(returned, member{r.Leaf, object{{"at", r.At}}})
		}
		m = append(m, member{"started", started.indexesFirst()}, member{"returned", returned.indexesFirst()})
		for _, f := range (object{{"sealedAt", w.SealedAt}, {"completedAt", w.CompletedAt}, {"reason", w.Reason}, {"abandonedAt", w.AbandonedAt}}) {
			if f.value != "" {
				m = append(m, f)
			}
		}
		waves = append(waves, member{w.Name, m})
	}
	text, err := jsontext.Text(object{{"schema", 1}, {"waves", waves.indexesFirst()}})
	return append(text, '\n'), err
}

// object is a JSON object whose members keep their order.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON writes the members in order.
func (o object) MarshalJSON() ([]byte, error) {
	b := bytes.NewBufferString("{")
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := jsontext.Text(m.value)
		if err != nil {
			return nil, err
		}
		b.Write(append(append(name, ':'), value...))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// indexesFirst orders members as JavaScript does: names that are array indexes
// come first, in their order, then the others in the order they were added.
func (o object) indexesFirst() object {
	sort.SliceStable(o, func(i, j int) bool {
		a, aok := index(o[i].name)
		b, bok := index(o[j].name)
		return aok && (!bok || a < b)
	})
	return o
}

func index(name string) (uint64, bool) {
	n, err := strconv.ParseUint(name, 10, 32)
	return n, err == nil && strconv.FormatUint(n, 10) == name && n < 1<<32-1
}
