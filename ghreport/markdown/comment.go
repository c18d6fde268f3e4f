package markdown

import (
	"strconv"
	"strings"

	"github.com/gatesworn/gatesworn/gates"
)

// Caps of the comment. It is read in a mail client and on a phone: past these it
// names what is left and the check run has the rest.
const (
	commentRows  = 20
	commentItems = 8
)

// Comment renders the sticky comment in at most budget bytes, without the hidden
// marker by which it is found again.
func Comment(r *gates.Report, at Place, budget int) string {
	v := newView(r, at)
	p := newPage(budget)
	v.body(p)
	return p.String()
}

// body is what the comment and the job summary share.
func (v *view) body(p *page) {
	v.head(p)
	if v.bootstrap() {
		v.setUp(p)
		return
	}
	v.findings(p)
	v.folded(p)
	v.author(p)
	v.maintainer(p)
}

// head writes the warnings, the verdict and one line of context.
func (v *view) head(p *page) {
	for _, n := range v.r.Notices {
		if v.bootstrap() && strings.Contains(n, "no .gatesworn/ yet") {
			continue // setUp says it at length
		}
		if n = strings.TrimSpace(strings.TrimPrefix(n, "⚠")); n != "" {
			p.block("⚠ " + inline(n) + "\n")
		}
	}
	p.block("### " + v.heading() + "\n")
	if c := v.context(); c != "" {
		p.line(c + "\n")
	}
}

func (v *view) heading() string {
	switch {
	case len(v.broken()) > 0 || v.r.Verdict == gates.VerdictError || v.r.Verdict == "" || v.bootstrap() || v.total == 0:
		return inline(v.title())
	case len(v.open) == 0:
		return inline(v.metTitle())
	}
	return strconv.Itoa(len(v.met)) + " of " + strconv.Itoa(v.total) + " gates met"
}

func (v *view) context() string {
	var parts []string
	if c := v.changes(); c != "" {
		parts = append(parts, c)
	}
	if sha := v.commit(v.r.Trust.Commit); sha != "" && v.signed() && !v.bootstrap() {
		parts = append(parts, "judged by "+codeSpan(v.trustName())+" at "+sha)
	}
	sha := v.r.Subject.HeadSHA
	if sha == "" {
		sha = v.r.Subject.JudgedCommit
	}
	if c := v.commit(sha); c != "" {
		parts = append(parts, "commit "+c)
	}
	if v.at.Note != "" {
		parts = append(parts, inline(v.at.Note))
	}
	if u := link("log", v.at.Log); u != "" && strings.HasPrefix(v.at.Log, strings.TrimSuffix(v.at.Server, "/")+"/") {
		parts = append(parts, u)
	}
	return strings.Join(parts, " · ")
}

// changes says what the request does to the gates themselves.
func (v *view) changes() string {
	by := map[string][]item{}
	all := append(append([]item(nil), v.open...), v.met...)
	for _, it := range all {
		switch {
		case it.State == gates.Removed:
			by["removed"] = append(by["removed"], it)
		case it.Changed == gates.Changed:
			by["changed"] = append(by["changed"], it)
		case it.Changed == gates.New:
			by["new"] = append(by["new"], it)
		}
	}
	var parts []string
	for _, k := range [...]string{"changed", "new", "removed"} {
		if len(by[k]) > 0 {
			parts = append(parts, k+" "+inline(labels(by[k], shown(len(by[k])))))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	who := "This run sees other gates:"
	if v.r.Subject.PullRequest > 0 {
		who = "This PR changes gates:"
	}
	return "**" + who + "** " + strings.Join(parts, ", ")
}

// setUp explains the first pull request, which is red by design.
func (v *view) setUp(p *page) {
	name := codeSpan(v.trustName())
	if v.r.Trust.PolicySHA256 != "" {
		p.block(name + " has a `.gatesworn/` without a signer that is valid now, so nothing vouches for these commands and nothing was run.\n")
	} else {
		p.block(name + " has no `.gatesworn/` yet, so nothing vouches for these commands and nothing was run.\n")
	}
	signed, by := 0, []string{}
	for _, it := range append(append([]item(nil), v.open...), v.met...) {
		if it.Approval != nil {
			signed++
			by = append(by, it.Approval.By...)
		}
	}
	if signed == 0 {
		p.block("**Maintainer**\n- Nothing is signed yet: " + codeSpan(v.signCommand()) + ", then merge.\n")
	} else {
		p.block("Once merged: " + strconv.Itoa(signed) + " of " + plural(v.total, "gate") + isAre(signed) + " signed by " + inline(people(by)) + ".\n")
	}
	p.block("Preview: `gatesworn check --as-pr --trust-ref HEAD`\n")
}

func isAre(n int) string {
	if n == 1 {
		return " is"
	}
	return " are"
}

// findings lists what could not be read, with the line that would do.
func (v *view) findings(p *page) {
	bad := v.broken()
	if len(bad) == 0 {
		return
	}
	p.block("**Author**\n")
	for i, f := range bad {
		if i == commentItems {
			p.line("- and " + strconv.Itoa(len(bad)-i) + " more: `gatesworn lint`\n")
			break
		}
		p.line("- " + codeSpan(f.path+":"+strconv.Itoa(f.Line)+":"+strconv.Itoa(f.Column)) + " " + inline(f.Message) + "\n")
		if f.Fix != "" {
			p.fence(2, "", f.Fix)
		}
	}
}

const tableHead = "|  | Gate | Author says | Measured | Signed by |\n|--|:--|:--|:--|:--|\n"

// folded writes the table: a row for each gate that is not met, one for the rest.
func (v *view) folded(p *page) {
	if v.total == 0 || len(v.open) == 0 {
		return
	}
	head := tableHead
	row := func(s string) bool {
		ok := false
		if head != "" {
			ok = p.block(head + s)
			head = ""
		} else {
			ok = p.line(s)
		}
		return ok
	}
	for i, it := range v.open {
		if i == commentRows {
			rest := v.open[i:]
			row("| … | " + plural(len(rest), "more gate") + " not met: " + cell(labels(rest, titleIDs)) + " | | | |\n")
			break
		}
		row("| " + mark(it.State) + " | " + v.name(it) + " " + cell(shorten(it.Title, 160)) + " | " + says(it) + " | " + measured(it) + " | " + v.signers(it) + " |\n")
	}
	if n := len(v.met); n > 0 {
		more := " more: "
		if len(v.open) == 0 {
			more = ": "
		}
		row("| ✅ | " + strconv.Itoa(n) + more + cell(labels(v.met, 8)) + " | " + claims(v.met) + " | met | " + cell(people(signersOf(v.met))) + " |\n")
	}
}

// mark is one of the four marks; no other picture is used anywhere.
func mark(s gates.State) string {
	switch s {
	case gates.Met:
		return "✅"
	case gates.Failed, gates.Blocked:
		return "❌"
	case gates.Removed:
		return "➖"
	}
	return "✋"
}

func says(it item) string {
	switch {
	case it.State == gates.Removed:
		return "removed"
	case it.State == gates.Abandoned:
		return "abandoned"
	case it.Claimed == gates.ClaimedMet:
		return "met"
	case it.Claimed == gates.ClaimedStale:
		return "ticked, not bound"
	}
	return "unmet"
}

func claims(items []item) string {
	n := 0
	for _, it := range items {
		if it.Claimed == gates.ClaimedMet {
			n++
		}
	}
	switch n {
	case len(items):
		return "met"
	case 0:
		return "unmet"
	}
	return strconv.Itoa(n) + " met"
}

func measured(it item) string {
	r := it.Run
	switch {
	case it.State == gates.Met && r == nil:
		return "met"
	case it.State == gates.Manual && it.Claimed == gates.ClaimedMet:
		return "evidence, not signed"
	case it.State == gates.Manual:
		return "no evidence"
	case r == nil || it.State == gates.Removed:
		if it.State == gates.Blocked {
			return "not run (blocked)"
		}
		return "not run"
	}
	how := ending(it)
	if it.State != gates.Met {
		how = "**" + how + "**"
	} else {
		how = "met"
	}
	if r.Reused != nil {
		return how + ", reused"
	}
	return how + ", " + seconds(r.DurationMS)
}

// ending says how a run ended, in a few safe words.
func ending(it item) string {
	r := it.Run
	switch {
	case r.TimedOut:
		return "timed out"
	case r.Exit != nil && *r.Exit == 0 && !r.Matched:
		return "exit 0, no match"
	case r.Exit != nil:
		return "exit " + strconv.Itoa(*r.Exit)
	case r.Signal != "":
		return "killed by signal " + cell(r.Signal)
	}
	return "did not finish"
}

func (v *view) signers(it item) string {
	switch {
	case it.Approval != nil && it.Approval.Source == "local":
		return "approved here"
	case it.Approval != nil:
		return cell(people(it.Approval.By))
	case it.State == gates.Unapproved:
		return "nobody"
	}
	return ""
}

func signersOf(items []item) []string {
	var out []string
	for _, it := range items {
		if it.Approval != nil && it.Approval.Source != "local" {
			out = append(out, it.Approval.By...)
		}
	}
	return out
}
