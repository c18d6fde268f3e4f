package markdown

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gatesworn/gatesworn/internal/escape"
)

// noticeRoom is kept free on every page for the line that says what was left out.
const noticeRoom = 120

// minFence is the least room worth starting a fence for.
const minFence = 120

// page collects Markdown up to a limit in bytes. Text comes as pieces that are
// well formed by themselves; the first piece that does not fit ends the page, and
// everything after it is only counted. Room for the closing marks of what is open
// and for the notice is kept at all times, so that the end always fits.
type page struct {
	buf    strings.Builder
	limit  int
	closes int  // bytes needed to close what is open
	full   bool // nothing more is written
	left   int  // bytes of content that were left out
}

func newPage(limit int) *page {
	p := &page{limit: limit}
	p.full = limit < noticeRoom
	return p
}

func (p *page) room() int {
	if p.full {
		return 0
	}
	return p.limit - p.buf.Len() - p.closes - noticeRoom
}

// line appends a piece that continues the block before it. It reports whether
// it fitted.
func (p *page) line(s string) bool {
	if p.full || len(s) > p.room() {
		p.full = true
		p.left += len(s)
		return false
	}
	p.buf.WriteString(s)
	return true
}

// block appends a piece that starts a block of its own.
func (p *page) block(s string) bool {
	if p.buf.Len() > 0 {
		s = "\n" + s
	}
	return p.line(s)
}

// skip counts n bytes of content that were not even rendered.
func (p *page) skip(n int) {
	p.full = true
	p.left += n
}

// details folds what body writes under a summary, which must be safe as HTML.
func (p *page) details(summary string, body func()) {
	const end = "\n</details>\n"
	p.closes += len(end)
	opened := p.block("<details>\n<summary>" + summary + "</summary>\n\n")
	body()
	p.closes -= len(end)
	if opened {
		p.buf.WriteString(end)
	}
}

// fence appends text as fenced raw text, indent columns in. Text that does not
// fit is cut, which ends the page.
func (p *page) fence(indent int, info, text string) {
	if p.full {
		p.left += len(text)
		return
	}
	text = trimLines(clean(text))
	if text == "" {
		return
	}
	s := escape.FenceIndented(text, info, indent)
	if room := p.room(); len(s) > room {
		marks := len(s) - len(text) - indent*strings.Count(text, "\n")
		head := ""
		if room-marks >= minFence {
			head = cutLines(text, room-marks, indent)
		}
		if s = escape.FenceIndented(head, info, indent); head == "" || len(s) > room {
			p.skip(len(text))
			return
		}
		p.skip(len(text) - len(head))
	}
	p.buf.WriteString(s)
}

// trimLines drops blank lines at both ends.
func trimLines(s string) string {
	s = strings.TrimRight(s, " \t\n")
	for {
		line, rest, ok := strings.Cut(s, "\n")
		if !ok || strings.TrimSpace(line) != "" {
			return s
		}
		s = rest
	}
}

// cutLines returns the longest start of s that costs at most n bytes when every
// line costs extra bytes more; whole lines if the first fits, else whole runes.
func cutLines(s string, n, extra int) string {
	end, cost := 0, 0
	for i := 0; i < len(s); i++ {
		if cost++; s[i] == '\n' {
			cost += extra
			if cost <= n {
				end = i
			}
		}
		if cost > n {
			break
		}
	}
	if end > 0 {
		return s[:end]
	}
	return cutRunes(s, n)
}

// cutRunes returns the longest start of s of at most n bytes that ends between
// two runes.
func cutRunes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	if n <= 0 {
		return ""
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// lastRunes returns the longest end of s of at most n bytes that starts with a
// whole rune.
func lastRunes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	i := len(s) - n
	for i < len(s) && !utf8.RuneStart(s[i]) {
		i++
	}
	return s[i:]
}

// String returns the page with its notice, if anything was left out.
func (p *page) String() string {
	if p.left == 0 {
		return p.buf.String()
	}
	s := "… " + strconv.Itoa(p.left) + " bytes are left out here; the report file has everything.\n"
	if p.buf.Len() > 0 {
		s = "\n" + s
	}
	if p.buf.Len()+len(s) > p.limit {
		return p.buf.String()
	}
	return p.buf.String() + s
}
