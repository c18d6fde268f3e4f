package ledger

import (
	"strings"

	"github.com/gatesworn/gatesworn/internal/lazyregexp"
)

// hidingMacro are TeX commands that hide, recolour or overprint: GitHub typesets
// `$…$` as a formula, and in one these leave no trace of what they hold.
var hidingMacro = lazyregexp.New(`\\(?:[hv]?phantom|(?:math)?[rlc]lap|smash|(?:text|f)?color(?:box)?|definecolor|require|unicode|cssId|tiny|scriptscriptstyle|(?:re)?newcommand|DeclareMathOperator|m?kern|[hm]space|mmlToken)\b|\\(?:style|class)\{|\\(?:def|let)\s*\\`)

// formula looks at a line of a gate for what GitHub could typeset instead of
// show.
func (p *scan) formula(s spot, raw string, kind lineKind) {
	if p.cur < 0 || kind == fencedLine {
		return
	}
	if i := strings.IndexByte(raw, '$'); i >= 0 {
		if !p.open.dollar && kind == attributeLine {
			p.percent(s, raw)
		}
		p.open.dollar = true
	}
	if !p.open.dollar || strings.IndexByte(raw, '\\') < 0 {
		return
	}
	loc := hidingMacro.FindStringIndex(raw)
	if loc == nil {
		return
	}
	s.at = s.start + loc[0]
	p.add(s, Finding{
		Rule: "formula", Gate: p.curID(),
		Message: "GitHub typesets `$…$` as a formula, in which " + quote(raw[loc[0]:loc[1]]) + " hides or moves text; write this another way",
	})
}

// percent warns of `$… % …$` on one line: a formula that shows nothing behind
// the per cent sign, which starts a comment in TeX.
func (p *scan) percent(s spot, raw string) {
	for open := 0; open < len(raw); open++ {
		if raw[open] != '$' || open+1 >= len(raw) || strings.ContainsRune(" \t$", rune(raw[open+1])) ||
			open > 0 && !strings.ContainsRune(" \t({[\"'", rune(raw[open-1])) {
			continue
		}
		for i := open + 2; i < len(raw); i++ {
			if raw[i] != '$' || raw[i-1] == ' ' || raw[i-1] == '\\' || i+1 < len(raw) && !strings.ContainsRune(" \t-.,:;!?'\")]}", rune(raw[i+1])) {
				continue
			}
			if c := strings.IndexByte(raw[open:i], '%'); c > 0 && raw[open+c-1] != '\\' {
				s.at = s.start + open
				p.add(s, Finding{
					Rule: "formula-comment", Level: Warning, Gate: p.curID(),
					Message: "GitHub may typeset " + quote(raw[open:i+1]) + " as a formula and show nothing behind the %; read the raw text",
				})
			}
			return
		}
		return
	}
}
