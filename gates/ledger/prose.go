package ledger

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatesworn/gatesworn/internal/lazyregexp"
)

// afterAttribute is an attribute on the line before: prose right below may be
// meant as more of its value.
type afterAttribute struct {
	key    Key
	value  string
	spot   spot
	indent string
	line   int // of the last line looked at
	more   []string
	first  int // line of the first continuation
	found  *noted
}

// misplaced is a line under a gate that shows an attribute and is none.
type misplaced struct {
	spot
	key   Key
	value string
	form  string // "a bullet", "a table row", …
	rule  string
}

// prose looks at a line that does not count, for what its author may have meant.
func (p *scan) prose(s spot, raw string, after afterAttribute) {
	body := trimLeft(raw)
	if body == "" {
		return
	}
	s.at = s.start + len(raw) - len(body)
	indented := len(body) < len(raw)
	switch {
	case p.gateLookalike(s, raw, body):
	case indented && strings.HasPrefix(body, "ABANDON:"):
		p.add(s, Finding{Rule: "indented-abandon", Gate: p.openID(), Message: "ABANDON starts at column 1", Fix: []string{trimRight(body)}})
	case indented && strings.HasPrefix(body, "OWNS:"):
		p.add(s, Finding{Rule: "indented-owns", Level: Warning, Message: "OWNS starts at column 1, before the first gate; this line claims nothing"})
	case p.misplacedAttribute(s, body):
	case indented && p.cur >= 0 && p.unknownKey(s, body):
	default:
		p.continuation(s, raw, body, after)
	}
}

func (p *scan) openID() string {
	if p.cur < 0 {
		return ""
	}
	return p.curID()
}

// lookalike is a line that reads like a gate and is none.
type lookalike struct {
	found *noted
	line  int
	done  bool
}

var (
	boxLine = lazyregexp.New(`^\s*(?:>\s*)*(?:[-*+–—‐‑−•·]|[0-9]{1,9}[.)])\s*\[(?:[^\]]?)\]\s*(.*)$`)
	bareBox = lazyregexp.New(`^- \[[ xX]\]$`)
)

// gateLookalike warns of a box with an id that is not written as a gate is. It
// becomes an error when a CHECK or EXPECT follows: that would go to the gate
// before it, or to none.
func (p *scan) gateLookalike(s spot, raw, body string) bool {
	if strings.IndexByte(body[:min(len(body), 64)], '[') < 0 {
		return false
	}
	if bareBox.MatchString(trimRight(raw)) {
		n := p.add(s, Finding{Rule: "look-alike", Level: Warning, Message: "an empty box is not a gate; a gate has an id and an outcome: `- [ ] G1: …`"})
		p.lookalike = &lookalike{found: n, line: s.line}
		return true
	}
	m := boxLine.FindStringSubmatch(raw)
	if m == nil {
		return false
	}
	title := trim(m[1])
	n := idEnd(title)
	if n < 0 || !validID(title[:n]) || trim(title[n+1:]) == "" {
		return false
	}
	box := "- [ ] "
	if strings.ContainsAny(raw[:strings.Index(raw, "]")], "xX") {
		box = "- [x] "
	}
	found := p.add(s, Finding{
		Rule: "look-alike", Level: Warning,
		Message: fmt.Sprintf("%s looks like a gate and is none; a gate starts at column 1 with `- [ ] ` or `- [x] `", title[:n]),
		Fix:     []string{box + title},
	})
	p.lookalike = &lookalike{found: found, line: s.line}
	return true
}

// worse makes the look-alike an error: an attribute seems to belong to it.
func (l *lookalike) worse(p *scan, key Key) {
	if l.done {
		return
	}
	l.done = true
	message := fmt.Sprintf("line %d looks like a gate, with a %s below it, and is none; a gate starts at column 1 with `- [ ] ` or `- [x] `", l.line, key)
	if l.found == nil { // folded away: say it by itself
		p.add(spot{line: l.line}, Finding{Rule: "look-alike-with-check", Message: message})
		return
	}
	l.found.Level, l.found.Rule, l.found.Message = Error, "look-alike-with-check", message
}

var (
	bulletKey = lazyregexp.New(`^(?:[-*+>]|[0-9]{1,9}[.)])\s+(?:\[[ xX]\]\s+)?[*_` + "`" + `]{0,3}([A-Z]+)[*_` + "`" + `]{0,3}\s*:[*_` + "`" + `]{0,3}\s*(.*)$`)
	tableKey  = lazyregexp.New(`^\|\s*[*_` + "`" + `]{0,3}([A-Z]+)[*_` + "`" + `]{0,3}:?[*_` + "`" + `]{0,3}\s*\|\s*(.*?)\s*\|?\s*$`)
	markedKey = lazyregexp.New(`^[*_` + "`" + `~]{1,3}([A-Z]+)[*_` + "`" + `~]{0,3}\s*:[*_` + "`" + `~]{0,3}\s*(.*)$`)
)

// misplacedAttribute notes an attribute written as a bullet, a table row, a
// quote or inside marks. What it means is known when the gate ends.
func (p *scan) misplacedAttribute(s spot, body string) bool {
	if p.cur < 0 {
		return false
	}
	var form, rule string
	var m []string
	switch c := body[0]; {
	case c == '|':
		form, rule, m = "a table row", "table-attribute", tableKey.FindStringSubmatch(body)
	case c == '*' || c == '_' || c == '`' || c == '~':
		form, rule, m = "a key inside marks", "marked-attribute", markedKey.FindStringSubmatch(body)
		if m == nil {
			form, rule, m = "a bullet", "bullet-attribute", bulletKey.FindStringSubmatch(body)
		}
	case c == '>':
		form, rule, m = "a quote", "quoted-attribute", bulletKey.FindStringSubmatch(body)
	case c == '-' || c == '+' || c >= '0' && c <= '9':
		form, rule, m = "a bullet", "bullet-attribute", bulletKey.FindStringSubmatch(body)
	}
	if m == nil || keyIndex(m[1]) < 0 {
		return false
	}
	p.bullets = append(p.bullets, misplaced{spot: s, key: Key(m[1]), value: trim(strings.Trim(trim(m[2]), "`")), form: form, rule: rule})
	return true
}

// finishBullets reports the misplaced attributes of the gate that ends, and
// whether they explain why it has no CHECK or EXPECT.
func (p *scan) finishBullets(g *Gate) (covered bool) {
	for _, b := range p.bullets {
		f := Finding{
			Rule: b.rule, Gate: g.ID,
			Message: fmt.Sprintf("%s is not an attribute; %s would have no %s", b.form, name(g), b.key),
			Fix:     []string{fmt.Sprintf("  %s: %s", b.key, b.value)},
		}
		switch {
		case p.has(b.key):
			f.Level, f.Message, f.Fix = Warning, fmt.Sprintf("%s is not an attribute; the %s of %s is on line %d",
				b.form, b.key, name(g), p.keySpot(b.key).line), nil
		case b.key == Evidence:
			f.Level = Warning
		default:
			covered = covered || b.key == Check || b.key == Expect
		}
		p.add(b.spot, f)
	}
	p.bullets = p.bullets[:0]
	return covered
}

// UnknownKey is an attribute-like line whose key is not known.
type UnknownKey struct {
	Key     string
	Gate    string // id of the gate above
	Line    int
	Nearest Key // the known key within edit distance 2 (1 for short ones), "" if none is near
}

var keyLine = lazyregexp.New(`^([A-Z][A-Z0-9_-]*)(\s*)[:：](.*)$`)

// unknownKey notes an upper-case key that is no attribute, and reports it when
// it is near a known one.
func (p *scan) unknownKey(s spot, body string) bool {
	word, rest := keyWord(body)
	if word == "" {
		return false
	}
	if p.confusableKey(s, word, rest) {
		return true
	}
	m := keyLine.FindStringSubmatch(body)
	if m == nil {
		return p.wrongCase(s, word, rest)
	}
	key, value := m[1], trim(m[3])
	if key == "STATUS" {
		p.status(s, value)
		return true
	}
	u := UnknownKey{Key: key, Gate: p.curID(), Line: s.line, Nearest: nearestKey(key)}
	p.doc.UnknownKeys = append(p.doc.UnknownKeys, u)
	if u.Nearest == "" {
		return true
	}
	message := fmt.Sprintf("%s is not an attribute and changes nothing; did you mean %s?", key, u.Nearest)
	if key == string(u.Nearest) {
		message = fmt.Sprintf("%s is not read as an attribute like this; the colon follows the key at once", key)
	}
	p.add(s, Finding{
		Rule: "unknown-key", Level: Warning, Gate: u.Gate, Message: message,
		Fix: []string{p.indentOf(s) + string(u.Nearest) + ": " + value},
	})
	return true
}

// keyWord returns the first word of a line that goes on with a colon.
func keyWord(body string) (word, rest string) {
	head := body[:min(len(body), 64)]
	i := strings.IndexAny(head, ":：")
	if i <= 0 {
		return "", ""
	}
	_, rest, _ = strings.Cut(body, ":")
	if strings.HasPrefix(body[i:], "：") {
		rest = body[i+len("："):]
	}
	return trimRight(body[:i]), trim(rest)
}

// wrongCase warns of `check:` where the gate has no CHECK.
func (p *scan) wrongCase(s spot, word, value string) bool {
	i := keyIndex(strings.ToUpper(word))
	if i < 0 || !allKeys[i].core() || p.has(allKeys[i]) {
		return false
	}
	p.add(s, Finding{
		Rule: "key-case", Level: Warning, Gate: p.curID(),
		Message: fmt.Sprintf("%s: is prose; attributes are written in capitals", word),
		Fix:     []string{p.indentOf(s) + string(allKeys[i]) + ": " + value},
	})
	return true
}

var givenUp = lazyregexp.New(`(?i)^(blocked|abandoned|skipped|dropped|wont|won't|cancelled|canceled|deferred)\b[\s:(—–-]*(.*?)\)?$`)

// status answers the attribute that people add most often.
func (p *scan) status(s spot, value string) {
	id := p.curID()
	f := Finding{Rule: "status", Level: Warning, Gate: id}
	if m := givenUp.FindStringSubmatch(value); m != nil {
		reason := trim(m[2])
		if reason == "" {
			reason = strings.ToLower(m[1])
		}
		f.Message = fmt.Sprintf("STATUS is not an attribute and changes nothing; a gate given up is `ABANDON: %s %s`", id, cutRunes(reason, 80))
		f.Fix = []string{"ABANDON: " + id + " " + reason}
	} else {
		f.Message = "STATUS is not an attribute and changes nothing; the box and EVIDENCE say how far the gate is"
	}
	p.add(s, f)
}

// nearestKey returns the known key within two edits, one for keys of up to four
// letters: people's own FROM, RED and NOTE are near everything otherwise.
func nearestKey(word string) Key {
	best, at := Key(""), 3
	for _, k := range allKeys {
		limit := 2
		if len(k) <= 4 || len(word) <= 3 {
			limit = 1
		}
		if d := distance(word, string(k), limit+1); d <= limit && d < at {
			best, at = k, d
		}
	}
	return best
}

// distance is the number of insertions, deletions, replacements and swaps of
// neighbours between two words, or something ≥ limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	prev2 := make([]int, len(b)+1)
	prev := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], prev2[j-2]+1)
			}
		}
		prev2, prev = prev, row
	}
	return prev[len(b)]
}

var (
	wordColon  = lazyregexp.New(`^[A-Za-z][A-Za-z0-9 _-]{0,30}:(\s|$)`)
	structural = lazyregexp.New("^(?:[-*+>|#<]|[0-9]{1,9}[.)]\\s|\\[\\^?[^\\]]+\\]:|---|===|___|```|~~~)")
	yamlBlock  = lazyregexp.New(`^[|>][+-]?[0-9]?$`)
)

// continuation warns of a line right below an attribute that reads like more of
// its value: it is not part of it.
func (p *scan) continuation(s spot, raw, body string, after afterAttribute) {
	if after.key == "" || after.line+1 != s.line || p.cur < 0 {
		return
	}
	block := yamlBlock.MatchString(after.value)
	if !block && (structural.MatchString(body) || wordColon.MatchString(body)) {
		return
	}
	indented := len(body) < len(raw)
	switch after.key {
	case Expect, Check:
	case Evidence:
		if !block {
			return // prose below evidence is a habit, and harms nothing
		}
	default:
		if !block {
			return
		}
	}
	if !indented && after.key != Expect {
		return
	}
	after.line = s.line
	if len(after.more) < 50 {
		after.more = append(slices.Clip(after.more), trim(body))
	}
	if after.found == nil {
		after.found = p.add(after.spot, Finding{
			Rule: strings.ToLower(string(after.key)) + "-continues", Level: Warning, Gate: p.curID(),
			Message: fmt.Sprintf("%s is one line; line %d is not part of it", after.key, s.line),
		})
		if after.found == nil {
			return
		}
		after.first = s.line
		p.open.continued = p.open.continued || after.key == Expect
	} else {
		after.found.Message = fmt.Sprintf("%s is one line; lines %d–%d are not part of it", after.key, after.first, s.line)
	}
	after.found.Fix = after.joined(p.indentOf(after.spot))
	p.after = after
}

// joined is the attribute with its continuation lines taken in.
func (a afterAttribute) joined(indent string) []string {
	lines := a.more
	if !yamlBlock.MatchString(a.value) && a.value != "" {
		lines = append([]string{a.value}, a.more...)
	}
	switch a.key {
	case Expect:
		for i, l := range lines {
			lines[i] = regexpQuote(l)
		}
		return []string{indent + "EXPECT: /" + strings.Join(lines, `\n`) + "/"}
	case Evidence:
		return []string{indent + "EVIDENCE: " + strings.Join(lines, " ")}
	case Check:
		goesOn := !yamlBlock.MatchString(a.value) && (strings.HasSuffix(a.value, `\`) || strings.HasSuffix(a.value, "|") || strings.HasSuffix(a.value, "&&"))
		for i, l := range lines {
			lines[i] = trim(strings.TrimSuffix(l, `\`))
		}
		if goesOn {
			return []string{indent + "CHECK: " + strings.Join(lines, " ")}
		}
		return []string{indent + "CHECK: " + strings.Join(lines, " && ")}
	}
	return nil
}

// regexpQuote escapes what means something in an ECMAScript pattern between slashes.
func regexpQuote(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune(`\^$.*+?()[]{}|/`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
