package ledger

// Level says whether a finding stops the run. The zero value is Error, so that
// a finding nobody classified refuses.
type Level int

const (
	Error Level = iota
	Warning
)

// String gives the word used in messages and in the report.
func (l Level) String() string {
	if l == Warning {
		return "warning"
	}
	return "error"
}

// Finding is one thing to say about a line of a ledger. Line and Column count
// from 1; Column counts Unicode code points. Line is 0 for the whole file.
type Finding struct {
	Line, Column int
	Level        Level
	Gate         string   // id of the gate it is about, or ""
	Rule         string   // stable short name, such as "no-id"
	Message      string   // lower case, no full stop
	Source       string   // the line as written, without its line ending
	Fix          []string // the corrected line or lines, nil where none is known
}

// Document is one parsed ledger. A document with an Error among its findings
// must not be judged or edited: its gates are what could be read.
type Document struct {
	Path     string   // as given to Parse, for messages
	Owns     []string // normalised, in file order
	Gates    []Gate
	Findings []Finding // in line order, repeats of one rule folded

	// UnknownKeys are the attribute-like lines that mean nothing, STATUS aside,
	// also those that Findings does not mention (lint does).
	UnknownKeys []UnknownKey

	source []byte
	places []place // of Gates, by index
}

// Gate is one promised outcome. Strings are trimmed values as written;
// Has tells an absent attribute from an empty one.
type Gate struct {
	ID, Outcome string
	Line        int // of the gate line, from 1
	Ticked      bool

	Check, Expect, CWD, Evidence               string
	Needs, Inputs, Depends, Reads, Writes, Env []string // in written order
	Timeout                                    int      // seconds, 0 when absent

	Attributes    []Attribute // every attribute present, in file order
	Abandoned     string      // the reason, "" unless abandoned
	AbandonedLine int
}

// Key names an attribute.
type Key string

// The attributes, with unlazy's four first.
const (
	Check    Key = "CHECK"
	Expect   Key = "EXPECT"
	CWD      Key = "CWD"
	Evidence Key = "EVIDENCE"
	Needs    Key = "NEEDS"
	Inputs   Key = "INPUTS"
	Depends  Key = "DEPENDS"
	Reads    Key = "READS"
	Writes   Key = "WRITES"
	Timeout  Key = "TIMEOUT"
	Env      Key = "ENV"
)

// Attribute is one attribute line.
type Attribute struct {
	Key   Key
	Value string // trimmed
	Line  int
}

// Runnable reports whether the gate has a command. A gate that is not runnable is manual.
func (g Gate) Runnable() bool { return g.Check != "" && g.Expect != "" }

// Has reports whether the attribute is present, even if empty.
func (g Gate) Has(k Key) bool {
	for _, a := range g.Attributes {
		if a.Key == k {
			return true
		}
	}
	return false
}

// OK reports whether the ledger may be judged: no finding is an error.
func (d *Document) OK() bool {
	for _, f := range d.Findings {
		if f.Level == Error {
			return false
		}
	}
	return true
}

// Bytes returns the bytes that were parsed, unchanged.
func (d *Document) Bytes() []byte { return d.source }
