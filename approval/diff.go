package approval

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gatesworn/gatesworn/internal/lazyregexp"
)

// FieldChange is one difference between two oracles, in the words of a ledger.
type FieldChange struct {
	Field    string // CHECK, EXPECT, outcome, … or the path of a bound file
	Old, New string // as written; "" where absent; mode and digest for a bound file
	File     bool   // Field is the path of a bound file
}

// Diff lists what differs from old to new, in the order of a ledger, bound files last.
func Diff(old, new Oracle) []FieldChange {
	var d []FieldChange
	add := func(field, a, b string) {
		if a != b {
			d = append(d, FieldChange{Field: field, Old: a, New: b})
		}
	}
	add("project", old.Project, new.Project)
	add("ledger", old.Ledger, new.Ledger)
	add("id", old.Gate, new.Gate)
	add("outcome", old.Outcome, new.Outcome)
	add("CHECK", deref(old.Check), deref(new.Check))
	add("EXPECT", deref(old.Expect), deref(new.Expect))
	add("CWD", old.CWD, new.CWD)
	lists := []struct {
		field string
		a, b  []string
	}{
		{"NEEDS", old.Needs, new.Needs},
		{"INPUTS", old.InputPatterns, new.InputPatterns},
		{"READS", old.Reads, new.Reads},
		{"WRITES", old.Writes, new.Writes},
		{"ENV", old.Env, new.Env},
	}
	for _, l := range lists {
		if !equal(l.a, l.b) {
			d = append(d, FieldChange{Field: l.field, Old: strings.Join(l.a, ", "), New: strings.Join(l.b, ", ")})
		}
	}
	add("TIMEOUT", seconds(old.Timeout), seconds(new.Timeout))
	return append(d, diffFiles(old.Inputs, new.Inputs)...)
}

func diffFiles(old, new []BoundFile) []FieldChange {
	before, after := map[string]string{}, map[string]string{}
	all := map[string]bool{}
	for _, f := range old {
		before[f.Path], all[f.Path] = f.Mode+" "+f.SHA256, true
	}
	for _, f := range new {
		after[f.Path], all[f.Path] = f.Mode+" "+f.SHA256, true
	}
	var d []FieldChange
	for _, p := range sorted(all) {
		if before[p] != after[p] {
			d = append(d, FieldChange{Field: p, Old: before[p], New: after[p], File: true})
		}
	}
	return d
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func seconds(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

func equal(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// shown is how many runes of a value a sentence quotes.
const shown = 60

// Sentence says what differs from what somebody approved: "EXPECT differs from
// what alice signed on 2026-10-02 (was READY, is IDEMPOTENT)". What is the part
// after "from". Values are cut; escaping for a sink is the sink's business.
func Sentence(d []FieldChange, what string) string {
	switch len(d) {
	case 0:
		return "nothing differs from " + what
	case 1:
		c := d[0]
		if c.File {
			return fmt.Sprintf("%s %s %s", c.Field, fileVerb(c), what)
		}
		return fmt.Sprintf("%s differs from %s (%s)", c.Field, what, oldNew(c))
	}
	fields := make([]string, 0, len(d))
	for _, c := range d {
		fields = append(fields, c.Field)
	}
	if len(fields) > 4 {
		rest := len(fields) - 3
		fields = append(fields[:3], fmt.Sprintf("%d more", rest))
	}
	last := len(fields) - 1
	return fmt.Sprintf("%s and %s differ from %s", strings.Join(fields[:last], ", "), fields[last], what)
}

func fileVerb(c FieldChange) string {
	switch {
	case c.Old == "":
		return "was not among the files of"
	case c.New == "":
		return "is missing from the files of"
	case strings.HasSuffix(c.Old, c.New[len(ModeFile):]):
		return "has another mode than in"
	}
	return "differs from"
}

func oldNew(c FieldChange) string {
	switch {
	case c.Old == "":
		return "is new: " + cut(c.New)
	case c.New == "":
		return "was " + cut(c.Old) + ", is gone"
	}
	return "was " + cut(c.Old) + ", is " + cut(c.New)
}

func cut(s string) string {
	r := []rune(s)
	if len(r) <= shown {
		return s
	}
	return string(r[:shown-1]) + "…"
}

// weak is a way for a check to succeed without its outcome.
var weak = []struct {
	form *lazyregexp.Regexp
	says string
}{
	{lazyregexp.New(`\|\|\s*(true|:|exit\s+0)(\s|[;)]|$)`), "`%s`: this check can no longer fail"},
	{lazyregexp.New(`\|\|\s*(echo|printf)\b`), "`%s`: a failure prints instead of failing"},
	{lazyregexp.New(`;\s*(true|:|exit\s+0)\s*$`), "`%s` at the end hides what came before"},
	{lazyregexp.New(`;\s*(echo|printf)\b[^;|&]*$`), "`%s`: the last command decides, and it always succeeds"},
	{lazyregexp.New(`^\s*(true|:|exit\s+0)\s*$`), "`%s` checks nothing"},
	{lazyregexp.New(`(^|[\s;])set\s+\+e\b`), "`%s`: errors no longer stop the check"},
	{lazyregexp.New(`[^&>]&\s*$`), "`%s` at the end: nobody waits for the result"},
}

// anything are EXPECT values that every output meets.
var anything = lazyregexp.New(`^/(\^|\$|\.\*|\^\.\*\$?|\(\?:\)|\[\^\]\*|\[\\s\\S\]\*)?/[a-z]*$`)

// Weakening points out what makes new easier to pass than old, one sentence
// each. old is nil for a gate that is new; then everything in new counts.
func Weakening(old *Oracle, new Oracle) []string {
	var says []string
	before := Oracle{}
	if old != nil {
		before = *old
	}
	if before.Runnable() && !new.Runnable() {
		return []string{"CHECK is gone: nothing is measured any more, a tick is enough"}
	}
	for _, w := range weak {
		found := strings.Trim(w.form.FindString(deref(new.Check)), " \t)")
		if found != "" && !w.form.MatchString(deref(before.Check)) {
			says = append(says, fmt.Sprintf(w.says, found))
		}
	}
	if old == nil {
		return says
	}
	if anything.MatchString(deref(new.Expect)) && !anything.MatchString(deref(before.Expect)) {
		says = append(says, fmt.Sprintf("EXPECT %s: every output matches", *new.Expect))
	}
	for _, p := range before.InputPatterns {
		if !contains(new.InputPatterns, p) {
			says = append(says, fmt.Sprintf("INPUTS no longer names %s", p))
		}
	}
	for _, n := range before.Needs {
		if !contains(new.Needs, n) {
			says = append(says, fmt.Sprintf("NEEDS no longer names %s", n))
		}
	}
	return says
}

func contains(values []string, v string) bool {
	for _, one := range values {
		if one == v {
			return true
		}
	}
	return false
}
