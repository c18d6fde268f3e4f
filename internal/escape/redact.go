package escape

import (
	"io"
	"strings"
)

const (
	// shortest is the length of a secret, in bytes, below which hiding it would
	// tear ordinary text apart and tell more than it hides.
	shortest = 4
	// hidden stands for a secret, as in GitHub's own logs.
	hidden = "***"
)

// Redactor hides secrets. It is safe for concurrent use; a nil one hides nothing.
type Redactor struct {
	forms   map[uint32][]string // by the first four bytes, longest first
	starts  [1 << 13]byte       // bits: pairs of bytes that begin a form
	longest int
}

// NewRedactor registers each secret in every form in which it may be printed:
// as it is, each line of it, base64 (both alphabets, with and without padding,
// inside other data at all three alignments, wrapped), hexadecimal, URL-encoded,
// JSON-escaped, HTML-escaped. Secrets of less than 4 bytes, white space at
// their ends not counted, are refused: refused holds their indexes in secrets, for
// a message that does not show them. Empty ones are nothing.
func NewRedactor(secrets []string) (r *Redactor, refused []int) {
	r = &Redactor{forms: map[uint32][]string{}}
	for i, s := range secrets {
		switch {
		case s == "":
		case len(strings.TrimSpace(s)) < shortest:
			refused = append(refused, i)
		default:
			for _, form := range forms(s) {
				r.add(form)
			}
		}
	}
	for _, list := range r.forms {
		sortLongestFirst(list)
	}
	return r, refused
}

func (r *Redactor) add(form string) {
	if len(form) < shortest {
		return
	}
	key := prefix(form)
	for _, known := range r.forms[key] {
		if known == form {
			return
		}
	}
	r.forms[key] = append(r.forms[key], form)
	pair := int(form[0])<<8 | int(form[1])
	r.starts[pair>>3] |= 1 << (pair & 7)
	r.longest = max(r.longest, len(form))
}

func prefix(s string) uint32 {
	return uint32(s[0])<<24 | uint32(s[1])<<16 | uint32(s[2])<<8 | uint32(s[3])
}

// Redact replaces every secret in s, and every run of secrets that overlap or
// touch, by "***". Strip escape sequences before, cut after.
func (r *Redactor) Redact(s string) string {
	if r == nil || r.longest == 0 || r.first(s) < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	var p progress
	p.scan(r, s, len(s), &b)
	return b.String()
}

// first gives the place of the first secret, or -1.
func (r *Redactor) first(s string) int {
	for i := 0; i+shortest <= len(s); i++ {
		if r.match(s[i:], 0) > 0 {
			return i
		}
	}
	return -1
}

// match gives the length of the longest form at the beginning of s, if it is longer than least.
func (r *Redactor) match(s string, least int) int {
	if len(s) < shortest {
		return 0
	}
	pair := int(s[0])<<8 | int(s[1])
	if r.starts[pair>>3]&(1<<(pair&7)) == 0 {
		return 0
	}
	for _, form := range r.forms[prefix(s)] {
		if len(form) <= least {
			return 0
		}
		if strings.HasPrefix(s, form) {
			return len(form)
		}
	}
	return 0
}

// progress is what a scan has to remember between two pieces of one text.
type progress struct {
	covered int  // bytes of the text to come that belong to a secret seen before
	inside  bool // the last thing written was "***"
}

// scan writes what the first limit bytes of s become; the rest of s is looked at only.
func (p *progress) scan(r *Redactor, s string, limit int, b *strings.Builder) {
	plain := 0 // start of text not yet written
	for i := 0; i < limit; i++ {
		if n := r.match(s[i:], p.covered); n > p.covered {
			p.covered = n
		}
		if p.covered == 0 {
			p.inside = false
			continue
		}
		p.covered--
		b.WriteString(s[plain:i])
		plain = i + 1
		if !p.inside {
			b.WriteString(hidden)
			p.inside = true
		}
	}
	b.WriteString(s[plain:limit])
}

// Writer redacts a stream.
type Writer struct {
	r     *Redactor
	to    io.Writer
	held  string
	state progress
}

// Writer returns a writer that passes text on redacted, as Redact does with the
// whole. It holds back less than the longest form until Close. It is for one
// goroutine at a time.
func (r *Redactor) Writer(to io.Writer) *Writer { return &Writer{r: r, to: to} }

// Write passes on what can no longer be part of a secret.
func (w *Writer) Write(data []byte) (int, error) {
	if w.r == nil || w.r.longest == 0 {
		return w.to.Write(data)
	}
	w.held += string(data)
	if err := w.pass(len(w.held) - (w.r.longest - 1)); err != nil {
		return 0, err
	}
	return len(data), nil
}

// Close passes on the rest. It does not close the writer beneath.
func (w *Writer) Close() error { return w.pass(len(w.held)) }

func (w *Writer) pass(n int) error {
	if n <= 0 {
		return nil
	}
	var b strings.Builder
	w.state.scan(w.r, w.held, n, &b)
	w.held = w.held[n:]
	_, err := io.WriteString(w.to, b.String())
	return err
}
