package markdown

import (
	"slices"
	"strconv"
	"strings"

	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/internal/escape"
	"github.com/gatesworn/gatesworn/internal/lazyregexp"
)

// author lists what only the author of the change can do.
func (v *view) author(p *page) {
	var items []item
	for _, it := range v.open {
		if v.forAuthor(it) {
			items = append(items, it)
		}
	}
	if len(items) == 0 {
		return
	}
	p.block("**Author**\n")
	for i, it := range items {
		if i == commentItems {
			p.line("- and " + strconv.Itoa(len(items)-i) + " more: " + inline(labels(items[i:], titleIDs)) + ". Next: `gatesworn check`\n")
			break
		}
		v.authorItem(p, it)
	}
}

// forAuthor reports whether the next step is the author's. Evidence that waits
// for a signature is not.
func (v *view) forAuthor(it item) bool {
	switch known(it.State) {
	case gates.Unapproved:
		return !v.signed()
	case gates.Manual:
		return !v.signed() || it.Claimed != gates.ClaimedMet
	}
	return true
}

func (v *view) authorItem(p *page, it item) {
	name := inline(it.label)
	why, next := split(it)
	switch known(it.State) {
	case gates.Failed:
		v.failedItem(p, it, why, next)
	case gates.Removed:
		p.line("- " + name + ": put it back unless a maintainer agrees to drop it: " + codeSpan(v.showOld(it)) + " has it.\n")
	case gates.Blocked:
		p.line("- " + name + " has not run: " + inline(first(why, "a gate it needs is not met")) + ". Next: " + v.step(next, it) + "\n")
	case gates.Manual:
		p.line("- " + name + " is for people to check: " + inline(first(why, "tick it and say under EVIDENCE what was seen")) + ". Next: " + v.step(next, it) + "\n")
	case gates.Unapproved:
		p.line("- " + name + " is not approved here" + dash(why) + ". Next: " + v.step(next, it) + "\n")
	case gates.Abandoned:
		p.line("- " + name + " was given up" + dash(why) + ". Next: " + v.step(first(next, "take its ABANDON line out, or agree who goes on with it"), it) + "\n")
	default:
		p.line("- " + name + " has not run" + dash(why) + ". Next: " + v.step(next, it) + "\n")
	}
}

func (v *view) failedItem(p *page, it item, why, next string) {
	ticked := ""
	if it.Claimed == gates.ClaimedMet {
		ticked = "ticked, but "
	}
	head := "- " + inline(it.label) + ": " + ticked + codeSpan(shorten(it.Check, 160)) + " "
	if r := it.Run; r != nil && r.Exit != nil && why == "exit "+strconv.Itoa(*r.Exit) {
		head += "exits " + strconv.Itoa(*r.Exit)
	} else {
		head += "fails: " + inline(first(shorten(why, 300), "no reason given"))
	}
	lines := ""
	if it.Run != nil {
		lines = decisive(it.Run.Tail, 3)
	}
	if lines == "" {
		p.line(head + ".\n" + v.fix(next, it))
		return
	}
	p.line(head + ":\n")
	p.fence(2, "", lines)
	p.line(v.fix(next, it))
}

// fix is the last line of a failed gate's item.
func (v *view) fix(next string, it item) string {
	if next != "" && !offered(next) {
		return "  Next: " + v.step(next, it) + "\n"
	}
	return "  Fix, then " + v.step(next, it) + ".\n"
}

// maintainer lists what only somebody who may sign can do.
func (v *view) maintainer(p *page) {
	var sign, drop []item
	for _, it := range v.open {
		switch {
		case it.State == gates.Removed:
			drop = append(drop, it)
		case !v.forAuthor(it):
			sign = append(sign, it)
		}
	}
	root := v.r.Trust.RootChanged && !v.r.Trust.RootSigned
	if !v.signed() || len(sign)+len(drop) == 0 && !root {
		return
	}
	p.block("**Maintainer** (the author cannot do this)\n")
	n := len(sign) + len(drop)
	if root {
		n++
	}
	agree := ". If you agree: " + codeSpan(v.signCommand()) + "\n"
	last := agree
	if n > 1 {
		last = "\n"
	}
	if root {
		p.line("- `.gatesworn/` changes: who may sign, or the rules. Read that first" + last)
	}
	for i, it := range sign {
		if i == commentItems {
			p.line("- and " + strconv.Itoa(len(sign)-i) + " more to sign: " + inline(labels(sign[i:], titleIDs)) + "\n")
			break
		}
		p.line("- " + v.toSign(it) + last)
	}
	if len(drop) > 0 {
		p.line("- " + inline(labels(drop, titleIDs)) + was(len(drop)) + " removed" + last)
	}
	if n > 1 {
		p.block("If you agree with all of it: " + codeSpan(v.signCommand()) + "\n")
	}
}

// toSign says what a signature would let run, and how it differs from what was signed.
func (v *view) toSign(it item) string {
	name := inline(it.label)
	if it.State == gates.Manual {
		return name + " is ticked with evidence that nobody has signed"
	}
	why, _ := split(it)
	switch {
	case it.Changed == gates.New || it.Changed == "" && it.Was == nil && why == "":
		return name + " is new and has not run: " + codeSpan(shorten(it.Check, 160))
	case it.Was != nil:
		return name + " changed and has not run: " + difference(it)
	}
	return name + " has not run" + dash(shorten(why, 300)) + ": " + codeSpan(shorten(it.Check, 160))
}

// difference shows each changed part of a definition, old then new.
func difference(it item) string {
	var parts []string
	add := func(key, old, now string) {
		if old != now {
			parts = append(parts, key+" "+orNone(old)+" → "+orNone(now))
		}
	}
	add("CHECK", it.Was.Check, it.Check)
	add("EXPECT", it.Was.Expect, it.Expect)
	add("CWD", it.Was.CWD, it.CWD)
	add("outcome", it.Was.Outcome, it.Title)
	if len(parts) == 0 {
		return "an attribute other than CHECK, EXPECT and CWD; " + codeSpan(shorten(it.Check, 160))
	}
	return strings.Join(parts, "; ")
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return codeSpan(shorten(s, 160))
}

// signCommand is the one command that signs whatever waits.
func (v *view) signCommand() string {
	const sign = "gatesworn sign --commit && git push"
	if n := v.r.Subject.PullRequest; n > 0 {
		return "gh pr checkout " + strconv.Itoa(n) + " && " + sign
	}
	return sign
}

// showOld is the command that prints the ledger as the trust ref has it.
func (v *view) showOld(it item) string {
	at, what := v.r.Trust.Commit, "git log -p -- "
	word := it.path
	if hexName.MatchString(at) {
		what, word = "git show ", at[:7]+":"+it.path
	}
	if quoted, ok := escape.ShellQuote(word); ok {
		return what + quoted
	}
	return "git log -p"
}

// What a page offers for copying. A report may come from a fork's artifact: a
// command of any other form is shown as plain text.
var (
	command = lazyregexp.New(`^(gatesworn( (?:[A-Za-z0-9._/:@%+=,-]+|'[ -&(-~]*'))*|gh pr checkout [1-9][0-9]*|git push( -u origin (?:[A-Za-z0-9._/:@%+=,-]+|'[ -&(-~]*'))?|git show (?:[A-Za-z0-9._/:@%+=,-]+|'[ -&(-~]*'))$`)
	gateArg = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._/-]*:[A-Za-z0-9][A-Za-z0-9._-]*$`)
)

func offered(s string) bool {
	for part := range strings.SplitSeq(s, " && ") {
		if !command.MatchString(part) {
			return false
		}
	}
	return true
}

// step renders what to do next: the report's command or advice, else to check
// the gate again.
func (v *view) step(next string, it item) string {
	if next == "" {
		next = "gatesworn check"
		if gateArg.MatchString(it.Name) {
			next += " " + it.Name
		}
	}
	if offered(next) {
		return codeSpan(next)
	}
	return inline(shorten(next, 300))
}

// split takes the advice out of a reason that carries one: "exit 127: …; next: …".
func split(it item) (why, next string) {
	why, next = it.Reason, it.Next
	if w, n, ok := strings.Cut(why, "; next: "); ok {
		why = w
		if next == "" {
			next = n
		}
	}
	return why, next
}

func first(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func dash(why string) string {
	if why == "" {
		return ""
	}
	return " (" + inline(why) + ")"
}

// people joins names once each, sorted, at most three.
func people(names []string) string {
	names = slices.Clone(names)
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) > 3 {
		return strings.Join(names[:3], ", ") + " and " + strconv.Itoa(len(names)-3) + " more"
	}
	return strings.Join(names, ", ")
}
