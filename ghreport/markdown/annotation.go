package markdown

import (
	"strings"

	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/internal/escape"
)

// Annotation is one note on a ledger line: plain text without control characters
// or code points above U+FFFF, which the service refuses in these fields.
type Annotation struct {
	Path       string // relative to the repository, slash separated
	Line       int    // start and end line, at least 1
	Level      string // failure or warning
	Title      string // at most MaxAnnotationTitle bytes
	Message    string // at most MaxAnnotationText bytes, never empty
	RawDetails string // at most MaxAnnotationText bytes, or ""
}

// annotations are in the order of the ledgers: what cannot be read, then gates
// that are not met.
func (v *view) annotations() []Annotation {
	var out []Annotation
	for _, f := range v.broken() {
		msg := f.Message
		if f.Fix != "" {
			msg += "\n" + f.Fix
		}
		out = append(out, note(f.path, f.Line, "failure", f.path+" cannot be read", msg, ""))
	}
	if v.bootstrap() {
		return out // nothing on a ledger line can be done about it
	}
	for _, it := range v.open {
		out = append(out, v.annotate(it))
	}
	return out
}

func (v *view) annotate(it item) Annotation {
	level := "warning"
	switch it.State {
	case gates.Failed, gates.Blocked, gates.Removed:
		level = "failure"
	}
	why, next := split(it)
	var msg, raw string
	switch {
	case it.State == gates.Removed:
		msg = "on " + v.trustName() + ", not here: " + oneLine(it.Title)
		next = first(next, "put it back ("+v.showOld(it)+" has it), or a maintainer signs: "+v.signCommand())
	case it.State == gates.Unapproved && it.Check != "":
		msg = "not run: " + shorten(oneLine(it.Check), 400)
		if why != "" {
			msg += " (" + shorten(why, 600) + ")"
		}
	case it.Check != "":
		msg = shorten(oneLine(it.Check), 400) + ": " + first(shorten(why, 600), v.word(it.State))
	default:
		msg = oneLine(it.Title) + ": " + first(shorten(why, 600), v.word(it.State))
	}
	if it.Run != nil {
		if d := decisive(it.Run.Tail, 3); d != "" {
			msg += "\n" + d
		}
		raw = lastRunes(it.Run.Tail, MaxAnnotationText/8)
	}
	switch {
	case next != "":
		msg += "\nnext: " + shorten(next, 300)
	case it.State == gates.Unapproved && v.signed():
		msg += "\nnext: " + v.signCommand()
	}
	return note(it.path, it.Line, level, it.label+" "+v.word(it.State), msg, raw)
}

func note(path string, line int, level, title, msg, raw string) Annotation {
	title = first(oneLine(bmp(title)), "gatesworn")
	return Annotation{
		Path:       path,
		Line:       max(line, 1),
		Level:      level,
		Title:      cutRunes(title, MaxAnnotationTitle),
		Message:    cutRunes(first(strings.TrimSpace(bmp(clean(msg))), title), MaxAnnotationText),
		RawDetails: cutRunes(trimLines(bmp(clean(raw))), MaxAnnotationText),
	}
}

func bmp(s string) string { return escape.BMP(s) }
