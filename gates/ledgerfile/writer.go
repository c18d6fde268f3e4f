// Package ledgerfile writes results into a ledger on disk while checks run.
//
// It promises that a result is reported as written only once it is on disk; that
// it changes nothing but boxes and EVIDENCE lines; that a result for a definition
// which changed meanwhile is discarded, not written; that two processes writing
// one ledger lose nothing; that a failed write leaves the file as it was; and that
// the cost of writing stays in proportion to the run (10-fine-print, paced writes).
//
// It starts nothing and decides nothing. It imports gates for the values it
// exchanges, gates/ledger and internal/safefile; only front ends import it.
package ledgerfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/gatesworn/gatesworn/internal/safefile"
)

// Limits of the pace of writes: at least minPause between two
// writes, or nine times what the last one cost up to maxPause, so that writing
// takes about a tenth of the time of a run.
const (
	minPause = 100 * time.Millisecond
	maxPause = time.Second
)

// ErrInvalid is returned when the ledger on disk stopped being a valid one.
var ErrInvalid = errors.New("the ledger is no longer valid")

// Config says which file to write and how.
type Config struct {
	Root string           // absolute; no component of Path beneath it may be a link
	Path string           // slash separated, relative to Root
	Doc  *ledger.Document // as read before the run
	// Lock takes every lock that guards the file and returns what releases them.
	Lock  func(ctx context.Context) (release func() error, err error)
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time
}

// Writer is the one writer of a ledger. It implements gates.Recorder.
type Writer struct {
	cfg   Config
	seen  *ledger.Document
	wake  chan struct{}
	flush chan struct{}
	done  chan struct{}

	mu      sync.Mutex
	waiting []pending
	closed  bool
}

type pending struct {
	entry gates.Entry
	done  func(gates.Recorded, error)
}

// NewWriter starts the writer; Close ends it.
func NewWriter(cfg Config) *Writer {
	w := &Writer{cfg: cfg, seen: cfg.Doc, wake: make(chan struct{}, 1), flush: make(chan struct{}, 1), done: make(chan struct{})}
	go w.loop()
	return w
}

// Record queues a result; see gates.Recorder.
func (w *Writer) Record(e gates.Entry, done func(gates.Recorded, error)) {
	w.mu.Lock()
	closed := w.closed
	if !closed {
		w.waiting = append(w.waiting, pending{e, done})
	}
	w.mu.Unlock()
	if closed {
		go done(gates.RecordFailed, errors.New("the ledger's writer is closed"))
		return
	}
	signal(w.wake)
}

// Flush has what is waiting written without further delay.
func (w *Writer) Flush() { signal(w.flush) }

// Close writes what is waiting and ends the writer.
func (w *Writer) Close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	signal(w.flush)
	signal(w.wake)
	<-w.done
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// loop writes when something waits and the pause since the last write is over.
func (w *Writer) loop() {
	defer close(w.done)
	var pause <-chan time.Time // nil: a write may be made at once
	for {
		select {
		case <-w.wake:
		case <-w.flush:
			pause = nil
		case <-pause:
			pause = nil
		}
		batch, closed := w.take(pause == nil)
		if len(batch) > 0 {
			began := w.cfg.Now()
			w.write(batch)
			cost := w.cfg.Now().Sub(began)
			pause = w.cfg.After(max(minPause, min(maxPause, 9*cost)))
		}
		if closed {
			return
		}
	}
}

// take empties the queue if a write may be made or the writer is closing.
func (w *Writer) take(may bool) ([]pending, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !may && !w.closed {
		return nil, false
	}
	batch := w.waiting
	w.waiting = nil
	return batch, w.closed
}

// write puts a batch on disk and answers every entry.
func (w *Writer) write(batch []pending) {
	fates := make([]gates.Recorded, len(batch))
	err := w.update(batch, fates)
	for i, p := range batch {
		if err != nil && fates[i] == gates.RecordWritten {
			fates[i] = gates.RecordFailed
		}
		if fates[i] == gates.RecordFailed {
			p.done(gates.RecordFailed, err)
			continue
		}
		p.done(fates[i], nil)
	}
}

// update makes one locked read, compare, edit and replace.
func (w *Writer) update(batch []pending, fates []gates.Recorded) (err error) {
	release, err := w.cfg.Lock(context.Background())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	file, err := safefile.ReadBeneath(w.cfg.Root, w.cfg.Path, ledger.MaxSize)
	if err != nil {
		return err
	}
	if !bytes.Equal(file.Data, w.seen.Bytes()) {
		fresh := ledger.Parse(w.seen.Path, file.Data)
		if !fresh.OK() {
			return fmt.Errorf("%w: %s", ErrInvalid, firstError(fresh))
		}
		w.seen = fresh
	}
	edits := w.edits(batch, fates)
	if len(edits) == 0 {
		return nil
	}
	next, err := w.seen.Apply(edits)
	if err != nil {
		return err
	}
	if err := safefile.ReplaceBeneath(w.cfg.Root, w.cfg.Path, next.Bytes(), file.Mode); err != nil {
		return err
	}
	w.seen = next
	return nil
}

// edits decides the fate of every entry against the ledger as it is now.
func (w *Writer) edits(batch []pending, fates []gates.Recorded) []ledger.Edit {
	now := make(map[string]*ledger.Gate, len(w.seen.Gates))
	for i := range w.seen.Gates {
		now[w.seen.Gates[i].ID] = &w.seen.Gates[i]
	}
	var edits []ledger.Edit
	for i, p := range batch {
		g := now[p.entry.Gate.ID]
		switch {
		case g == nil || !SameDefinition(*g, p.entry.Gate):
			fates[i] = gates.RecordStale
		case g.Abandoned != "":
			fates[i] = gates.RecordAbandoned
		case p.entry.Passed:
			fates[i] = gates.RecordWritten
			if !g.Ticked || g.Evidence != p.entry.Evidence {
				edits = append(edits, ledger.Edit{ID: g.ID, Ticked: true, Evidence: p.entry.Evidence})
			}
		case g.Ticked:
			fates[i] = gates.RecordWritten
			edits = append(edits, ledger.Edit{ID: g.ID, Evidence: "pending"})
		default:
			fates[i] = gates.RecordUnneeded
		}
	}
	return edits
}

// SameDefinition compares outcome and attributes, EVIDENCE aside, as written.
func SameDefinition(a, b ledger.Gate) bool {
	if a.ID != b.ID || a.Outcome != b.Outcome {
		return false
	}
	return attributes(a) == attributes(b)
}

// attributes renders the attributes that define a gate, whatever order they stand in.
func attributes(g ledger.Gate) (out [11]string) {
	keys := [...]ledger.Key{
		ledger.Check, ledger.Expect, ledger.CWD, ledger.Needs, ledger.Inputs,
		ledger.Depends, ledger.Reads, ledger.Writes, ledger.Timeout, ledger.Env,
	}
	for _, a := range g.Attributes {
		for i, k := range keys {
			if a.Key == k {
				out[i] = "=" + a.Value
			}
		}
	}
	return out
}

func firstError(d *ledger.Document) string {
	for _, f := range d.Findings {
		if f.Level == ledger.Error {
			return fmt.Sprintf("line %d: %s", f.Line, f.Message)
		}
	}
	return "unknown error"
}
