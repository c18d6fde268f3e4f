package ledger

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// characters reports what a line holds that cannot be seen or read. NUL, the
// Unicode line separators and a carriage return by itself are errors on every
// line: readers disagree about where the lines are. The rest is an error in a
// definition and a warning in prose and evidence.
func (p *scan) characters(s spot, raw string, kind lineKind, part string) {
	keep := never
	if kind == gateLine || kind == evidenceLine {
		keep = joiner
	}
	reported := false
	defer p.scripts(s, raw, kind, part)
	for i, r := range raw {
		s.at = s.start + i
		switch {
		case r == 0:
			p.add(s, Finding{Rule: "nul", Message: "a NUL byte; is this a text file?"})
			return
		case r == '\r':
			p.add(s, Finding{
				Rule: "carriage-return", Message: "a carriage return that is not part of a line ending; readers disagree about where this line ends",
				Fix: []string{strings.ReplaceAll(raw, "\r", "")},
			})
			return
		case r == 0x2028, r == 0x2029:
			p.add(s, Finding{Rule: "line-separator", Message: fmt.Sprintf("%U ends a line for some readers and not for others; remove it",
				r), Fix: []string{stripUnseen(raw, joiner)}})
			return
		case reported:
		case r == utf8.RuneError:
			reported = true
			message := "U+FFFD stands for a character that was lost"
			if _, n := utf8.DecodeRuneInString(raw[i:]); n == 1 {
				message = "this byte is not UTF-8"
			}
			p.unreadable(s, kind, part, "not-text", message, nil)
		case unseen(r) && !keep(r):
			reported = true
			p.unreadable(s, kind, part, "unseen-character", fmt.Sprintf("%U cannot be seen; remove it", r), []string{stripUnseen(raw, keep)})
		}
	}
}

// scripts warns of letters in a command that may be read as others, or in
// another order: right-to-left letters reorder what stands around them without
// any control character, and a Cyrillic letter inside a Latin word names another
// program.
func (p *scan) scripts(s spot, raw string, kind lineKind, part string) {
	if kind != attributeLine || part != string(Check) && part != string(CWD) {
		return
	}
	var latinWord, foreign bool
	for i, r := range raw {
		s.at = s.start + i
		switch {
		case unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko, unicode.Samaritan, unicode.Mandaic):
			p.add(s, Finding{
				Rule: "right-to-left", Level: Warning, Gate: p.openID(),
				Message: part + " holds right-to-left letters; a page may show it in another order, so read the raw text",
			})
			return
		case r < 0x80 && r >= 'A' && alnum(byte(r)):
			latinWord = true
		case unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee, unicode.Lisu):
			foreign = true
		case !unicode.IsLetter(r):
			latinWord, foreign = false, false
		}
		if latinWord && foreign {
			p.add(s, Finding{
				Rule: "mixed-scripts", Level: Warning, Gate: p.openID(),
				Message: part + " mixes scripts in one word, which may read as another word",
			})
			return
		}
	}
}

func (p *scan) unreadable(s spot, kind lineKind, part, rule, message string, fix []string) {
	f := Finding{Rule: rule, Message: message, Fix: fix}
	switch kind {
	case gateLine, attributeLine, headerLine:
		f.Message = "in " + part + ": " + message
	case fencedLine:
		return
	default:
		f.Level = Warning
	}
	p.add(s, f)
}

// latin turns letters of other scripts into the Latin capitals they look like
// (Unicode confusables, the subset that can spell an attribute's name).
var latin = strings.NewReplacer(
	"А", "A", "В", "B", "С", "C", "Е", "E", "Н", "H", "І", "I", "Ӏ", "I", "К", "K", "М", "M", "О", "O", "Р", "P", "Ѕ", "S", "Т", "T", "Х", "X",
	"У", "Y", "Ү", "Y", "Ԝ", "W", "Ѵ", "V", "Ԁ", "D", "Ν", "N", "Α", "A", "Β", "B", "Ε", "E", "Η", "H", "Ι", "I", "Κ", "K", "Μ", "M", "Ο", "O",
	"Ρ", "P", "Τ", "T", "Υ", "Y", "Χ", "X", "Ϲ", "C", "Ꭰ", "D", "Ꭼ", "E", "Ꮯ", "C", "Ꮋ", "H", "Ꮶ", "K", "Ꮲ", "P", "Ꭲ", "T", "Ꮃ", "W", "Ꮩ", "V",
	"Ꮖ", "I", "Ꭱ", "E", "Ꮪ", "S", "Ꮤ", "W", "ꓚ", "C", "ꓧ", "H", "ꓰ", "E", "ꓗ", "K", "ꓫ", "X", "ꓑ", "P", "ꓔ", "T", "ꓪ", "W", "ꓓ", "D", "ꓦ", "V",
	"ꓲ", "I", "ꓠ", "N", "ꓢ", "S", "ꓴ", "U", "ꓳ", "O", "ꓜ", "Z", "ꓤ", "R",
)

// asLatin is how a word looks to a reader: unseen characters gone,
// compatibility forms and look-alike letters in ASCII.
func asLatin(word string) string {
	return latin.Replace(norm.NFKC.String(stripUnseen(word, never)))
}

// confusableKey reports a key that reads like an attribute and is spelled with
// other characters: the page shows a command that never runs.
func (p *scan) confusableKey(s spot, word, value string) bool {
	if plain(word) {
		return false
	}
	looks := strings.Trim(asLatin(word), "*_`~ ")
	i := keyIndex(looks)
	if i < 0 {
		return false
	}
	p.add(s, Finding{
		Rule: "key-lookalike", Gate: p.curID(),
		Message: fmt.Sprintf("this reads like %s and is spelled with other characters, so it is not an attribute", looks),
		Fix:     []string{p.indentOf(s) + looks + ": " + value},
	})
	return true
}
