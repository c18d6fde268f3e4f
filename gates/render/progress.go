package render

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// heartbeat is the pause between two lines that say a long run is alive, off a terminal.
const heartbeat = 30 * time.Second

// Progress says what is running: one line that is rewritten on a terminal, a line
// every 30 seconds elsewhere. Tick may be called from another goroutine.
type Progress struct {
	mu       sync.Mutex
	w        io.Writer
	terminal bool
	total    int
	done     int
	running  []running
	shown    bool
	last     time.Time
}

type running struct {
	name string
	at   time.Time
}

// NewProgress reports to w.
func NewProgress(w io.Writer, terminal bool, now time.Time) *Progress {
	return &Progress{w: w, terminal: terminal, last: now}
}

// Tick redraws the line, or writes the heartbeat when its time has come.
func (p *Progress) Tick(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.running) == 0 {
		return
	}
	if p.terminal {
		fmt.Fprintf(p.w, "\r\x1b[K%s", p.line(now))
		p.shown = true
		return
	}
	if now.Sub(p.last) >= heartbeat {
		p.last = now
		fmt.Fprintf(p.w, "gatesworn: running %s, %d left\n", p.list(now, " (%ds)"), p.left())
	}
}

// Clear removes the line for good.
func (p *Progress) Clear() { p.hide() }

func (p *Progress) hide() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}

func (p *Progress) started(name string, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = append(p.running, running{name, at})
}

func (p *Progress) ended(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	for i, r := range p.running {
		if r.name == name {
			p.running = append(p.running[:i], p.running[i+1:]...)
			return
		}
	}
}

// grow adds checks to the total once it is known.
func (p *Progress) grow(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total += n
}

func (p *Progress) left() int { return max(0, p.total-p.done-len(p.running)) }

func (p *Progress) line(now time.Time) string {
	return fmt.Sprintf("running %s · %d of %d left · ^C keeps what is done", p.list(now, " %ds"), p.left(), p.total)
}

// list names at most three running gates with how long they have been.
func (p *Progress) list(now time.Time, format string) string {
	var parts []string
	for i, r := range p.running {
		if i == 3 {
			parts = append(parts, fmt.Sprintf("%d more", len(p.running)-3))
			break
		}
		parts = append(parts, r.name+fmt.Sprintf(format, int(now.Sub(r.at).Round(time.Second)/time.Second)))
	}
	return strings.Join(parts, ", ")
}
