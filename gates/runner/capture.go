package runner

import "github.com/gatesworn/gatesworn/gates/evidence"

// TailSize bounds Result.Tail, in bytes.
const TailSize = 64 << 10

// The two streams of a check.
const (
	stdout = iota
	stderr
)

// capture holds what a check printed: each stream whole as long as both fit
// evidence.MaxOutput together, and the last TailSize bytes of both in the order
// they were read. Its size is bounded by the two.
type capture struct {
	streams  [2][]byte
	ring     []byte // the tail; once full, next is where its oldest byte stands
	next     int
	overflow bool
	total    int64 // bytes read
}

// add takes what was read from a stream and reports whether it still fitted.
func (c *capture) add(stream int, p []byte) bool {
	c.total += int64(len(p))
	c.addTail(p)
	if c.overflow {
		return false
	}
	if len(c.streams[stdout])+len(c.streams[stderr])+len(p) > evidence.MaxOutput {
		// Cut output must never be matched, so none of it is kept.
		c.overflow = true
		c.streams[stdout], c.streams[stderr] = c.streams[stdout][:0], c.streams[stderr][:0]
		return false
	}
	c.streams[stream] = append(c.streams[stream], p...)
	return true
}

func (c *capture) addTail(p []byte) {
	if len(p) > TailSize {
		p = p[len(p)-TailSize:]
	}
	if room := TailSize - len(c.ring); room > 0 {
		n := min(room, len(p))
		c.ring = append(c.ring, p[:n]...)
		p = p[n:]
	}
	for len(p) > 0 {
		n := copy(c.ring[c.next:], p)
		c.next = (c.next + n) % TailSize
		p = p[n:]
	}
}

// tail appends the last bytes, oldest first.
func (c *capture) tail(dst []byte) []byte {
	dst = append(dst, c.ring[c.next:]...)
	return append(dst, c.ring[:c.next]...)
}

func (c *capture) tailLen() int { return len(c.ring) }

// reset makes the capture empty and keeps its memory.
func (c *capture) reset() {
	c.streams[stdout], c.streams[stderr] = c.streams[stdout][:0], c.streams[stderr][:0]
	c.ring, c.next, c.overflow = c.ring[:0], 0, false
	c.total = 0
}
