package ledger

import (
	"bytes"
	"html"
	"sort"
	"strings"
)

// remark is something about a paragraph's inline structure that may be a finding.
type remark struct {
	kind remarkKind
	ink  ink    // of covered text
	mark int    // index of the mark it is about, or stands behind
	at   int    // offset in the source
	text string // the covered text, or the key that is shown
}

type remarkKind uint8

const (
	hiddenKey   remarkKind = iota // a key that the page does not show as it is written
	coveredText                   // a part of a value that it does not show
	shownKey                      // a key it shows where there is none
	goesOn                        // a tag or link that ends on a later line
)

// judge checks that keys and values of one paragraph are visible text, and that
// nothing else is shown as one.
func (l *layout) judge(t *inkText) {
	first, last := t.source[0], t.sourceAt(len(t.buf)-1)
	from := l.find(first)
	for i := from; i < len(l.marks) && int(l.marks[i].at) <= last; i++ {
		m := l.marks[i]
		at := t.bufAt(int(m.at))
		if m.kind == fencedLine || at < 0 {
			continue
		}
		end := min(at+int(m.end-m.at), len(t.buf))
		key := at + max(bytes.IndexByte(t.buf[at:end], ':')+1, 1)
		if t.hides(at, key) {
			l.remarks = append(l.remarks, remark{kind: hiddenKey, mark: i, at: int(m.at)})
			continue // its value goes without saying
		}
		if nl := bytes.IndexByte(t.buf[at:], '\n'); nl >= 0 && at+nl+1 < len(t.buf) && t.hides(at+nl, at+nl+1) {
			l.remarks = append(l.remarks, remark{kind: goesOn, mark: i, at: int(m.at)})
		}
		for _, c := range t.coveredIn(key, end) {
			l.remarks = append(l.remarks, remark{kind: coveredText, mark: i, at: t.sourceAt(c.start), text: c.text, ink: c.ink})
		}
	}
	l.shownKeys(t, from)
}

// hides reports whether any byte of a stretch is not shown as text.
func (t *inkText) hides(from, to int) bool {
	for _, k := range t.ink[from:to] {
		if k != seen && k != code {
			return true
		}
	}
	return false
}

// shownKeys remarks on text that the page shows as an attribute at the start of
// a line and that is none here.
func (l *layout) shownKeys(t *inkText, mark int) {
	at := 0
	for at < len(t.buf) {
		start, shown, next := t.visualLine(at)
		at = next
		word, _, ok := strings.Cut(strings.TrimLeft(shown, " \t*_`-"), ":")
		k := keyIndex(trim(word))
		if !ok || k < 0 || allKeys[k] == Evidence {
			continue
		}
		off := t.sourceAt(start)
		for mark+1 < len(l.marks) && int(l.marks[mark+1].start) <= off {
			mark++
		}
		if int(l.marks[mark].at) == off && l.marks[mark].kind != fencedLine {
			continue // it is one
		}
		l.remarks = append(l.remarks, remark{kind: shownKey, mark: mark, at: off, text: string(allKeys[k])})
	}
}

// visualLine returns the text that the page shows from an offset of buf to the
// next line break it shows, and where its first character stands.
func (t *inkText) visualLine(at int) (start int, shown string, next int) {
	var b strings.Builder
	start = at
	for i := at; i < len(t.buf); i++ {
		switch {
		case t.buf[i] == '\n' && !t.hides(i, i+1):
			return start, html.UnescapeString(b.String()), i + 1
		case t.ink[i] == tagInk && i > at && t.breakAt(i):
			return start, html.UnescapeString(b.String()), i + 1
		case t.ink[i] == seen || t.ink[i] == code:
			if strings.TrimLeft(b.String(), " \t") == "" {
				start = i
			}
			if b.Len() < 200 {
				b.WriteByte(t.buf[i])
			}
		}
	}
	return start, html.UnescapeString(b.String()), len(t.buf)
}

func (t *inkText) breakAt(i int) bool {
	j := sort.SearchInts(t.breaks, i)
	return j < len(t.breaks) && t.breaks[j] == i
}
