package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ErrTooLarge is the error of Apply when the edited ledger would pass MaxSize.
var ErrTooLarge = errors.New("the edited ledger would be over 8 MiB")

// Edit changes one gate's box and evidence line, nothing else.
type Edit struct {
	ID       string
	Ticked   bool
	Evidence string // the value; inserted after the gate's attributes when the line is missing
}

// Apply returns the ledger with the edits made, keeping every other byte. It
// re-parses the result and returns an error, and no document, if that is not
// a valid ledger whose ids and definitions are the same (such as evidence whose
// text would hide what follows it). A gate may be edited once; the evidence is
// one line without blanks around it or control characters.
func (d *Document) Apply(edits []Edit) (*Document, error) {
	return d.ApplyContext(context.Background(), edits)
}

// ApplyContext is Apply, giving up when ctx is done.
func (d *Document) ApplyContext(ctx context.Context, edits []Edit) (*Document, error) {
	if !d.OK() {
		return nil, errors.New("a ledger with errors cannot be edited")
	}
	byGate, err := d.editsByGate(edits)
	if err != nil {
		return nil, err
	}
	out := d.edited(byGate)
	if len(out) > MaxSize {
		return nil, ErrTooLarge
	}
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	next := Parser{}.Parse(ctx, d.Path, out)
	if err := d.sameExcept(next, byGate); err != nil {
		return nil, fmt.Errorf("edit ledger: %w", err)
	}
	return next, nil
}

// editsByGate checks the edits and indexes them by gate; nil for a gate that stays.
func (d *Document) editsByGate(edits []Edit) ([]*Edit, error) {
	ids := make(map[string]int, len(d.Gates))
	for i := range d.Gates {
		ids[d.Gates[i].ID] = i
	}
	byGate := make([]*Edit, len(d.Gates))
	for i := range edits {
		e := &edits[i]
		g, known := ids[e.ID]
		switch {
		case !known:
			return nil, fmt.Errorf("edit of %q: no such gate", e.ID)
		case byGate[g] != nil:
			return nil, fmt.Errorf("edit of %q: given twice", e.ID)
		case e.Evidence == "" || e.Evidence != trim(e.Evidence) || !utf8.ValidString(e.Evidence) ||
			strings.ContainsFunc(e.Evidence, func(r rune) bool { return r < 0x20 || r == 0x7F || r == 0x2028 || r == 0x2029 }):
			return nil, fmt.Errorf("edit of %q: evidence %q is not one trimmed line", e.ID, cutRunes(e.Evidence, 80))
		}
		byGate[g] = e
	}
	return byGate, nil
}

// edited writes the new bytes in one pass over the gates.
func (d *Document) edited(byGate []*Edit) []byte {
	var out bytes.Buffer
	out.Grow(len(d.source) + 64)
	pos := 0
	upTo := func(end int) {
		out.Write(d.source[pos:end])
		pos = end
	}
	for i, e := range byGate {
		if e == nil {
			continue
		}
		pl := &d.places[i]
		upTo(int(pl.box))
		switch was := d.source[pos]; {
		case e.Ticked && was == ' ':
			out.WriteByte('x')
		case e.Ticked:
			out.WriteByte(was) // x or X stays
		default:
			out.WriteByte(' ')
		}
		pos++
		if pl.evidenceEnd > 0 {
			upTo(int(pl.evidence))
			out.WriteString(" " + e.Evidence)
			pos = int(pl.evidenceEnd)
			continue
		}
		upTo(int(pl.insert))
		indent := pl.indent
		if indent == "" {
			indent = "  "
		}
		eol := d.endingBefore(pos)
		if pos > 0 && d.source[pos-1] != '\n' { // the last line has no ending, and will have none
			out.WriteString(eol + indent + "EVIDENCE: " + e.Evidence)
			continue
		}
		out.WriteString(indent + "EVIDENCE: " + e.Evidence + eol)
	}
	upTo(len(d.source))
	return out.Bytes()
}

// endingBefore is the line ending in use before an offset: that of the nearest
// line that has one.
func (d *Document) endingBefore(offset int) string {
	i := bytes.LastIndexByte(d.source[:offset], '\n')
	if i > 0 && d.source[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// sameExcept returns an error unless next is a valid ledger that differs from d
// by the edits only.
func (d *Document) sameExcept(next *Document, byGate []*Edit) error {
	for _, f := range next.Findings {
		if f.Level == Error {
			return fmt.Errorf("the result would be no valid ledger: line %d: %s", f.Line, f.Message)
		}
	}
	if len(next.Gates) != len(d.Gates) || strings.Join(next.Owns, "\n") != strings.Join(d.Owns, "\n") {
		return errors.New("the result would have other gates")
	}
	for i := range d.Gates {
		was, is := &d.Gates[i], &next.Gates[i]
		if !sameDefinition(was, is) {
			return fmt.Errorf("the result would change the definition of %s", was.ID)
		}
		ticked, evidence := was.Ticked, was.Evidence
		if e := byGate[i]; e != nil {
			ticked, evidence = e.Ticked, e.Evidence
		}
		if is.Ticked != ticked || is.Evidence != evidence {
			return fmt.Errorf("the result would claim something else for %s", was.ID)
		}
	}
	return nil
}

// sameDefinition compares everything but box, evidence and line numbers.
func sameDefinition(a, b *Gate) bool {
	if a.ID != b.ID || a.Outcome != b.Outcome || a.Abandoned != b.Abandoned {
		return false
	}
	i, j := 0, 0
	for {
		for i < len(a.Attributes) && a.Attributes[i].Key == Evidence {
			i++
		}
		for j < len(b.Attributes) && b.Attributes[j].Key == Evidence {
			j++
		}
		if i == len(a.Attributes) || j == len(b.Attributes) {
			return i == len(a.Attributes) && j == len(b.Attributes)
		}
		if a.Attributes[i].Key != b.Attributes[j].Key || a.Attributes[i].Value != b.Attributes[j].Value {
			return false
		}
		i, j = i+1, j+1
	}
}
