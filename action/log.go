package action

import (
	"bytes"
	"io"
	"time"

	"github.com/gatesworn/gatesworn/gates"
)

// lineLog passes whole lines on, without secrets. A secret of several lines is known
// by each of them; one that an encoding spreads over lines is hidden in the values
// that are printed (hidden), before they become lines.
type lineLog struct {
	to   io.Writer
	hide func(string) string
	rest []byte
}

// Write implements io.Writer.
func (l *lineLog) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	end := bytes.LastIndexByte(l.rest, '\n') + 1
	if end == 0 {
		return len(p), nil
	}
	_, err := l.to.Write([]byte(l.hide(string(l.rest[:end]))))
	l.rest = append(l.rest[:0], l.rest[end:]...)
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close passes on an unfinished line.
func (l *lineLog) Close() error {
	_, err := l.to.Write([]byte(l.hide(string(l.rest))))
	l.rest = nil
	return err
}

// hidden shows an observer gates without secrets.
type hidden struct {
	gates.Observer
	hide func(string) string
}

func (h hidden) Withheld(g gates.Gate) { h.Observer.Withheld(h.gate(g)) }

func (h hidden) Result(g gates.Gate) { h.Observer.Result(h.gate(g)) }

func (h hidden) Started(name string, at time.Time) { h.Observer.Started(h.hide(name), at) }

// gate redacts a copy: the pipeline goes on with the original.
func (h hidden) gate(g gates.Gate) gates.Gate {
	if g.Run != nil {
		run := *g.Run
		g.Run = &run
	}
	if g.Was != nil {
		was := *g.Was
		g.Was = &was
	}
	if g.Approval != nil {
		a := *g.Approval
		a.By = append([]string{}, a.By...)
		g.Approval = &a
	}
	r := gates.Report{Ledgers: []gates.Ledger{{Gates: []gates.Gate{g}}}}
	redactReport(&r, h.hide)
	return r.Ledgers[0].Gates[0]
}
