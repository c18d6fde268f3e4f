package markdown

import (
	"strconv"
	"strings"

	"github.com/gatesworn/gatesworn/gates"
)

// titleIDs is how many ids a title names before it counts the rest.
const titleIDs = 4

// Title is the one line of the merge box: which gates, what is wrong, how many
// are met. It is plain text of at most MaxTitle bytes.
func Title(r *gates.Report) string {
	v := newView(r, Place{})
	return cutRunes(oneLine(v.title()), MaxTitle)
}

func (v *view) title() string {
	switch bad := v.broken(); {
	case len(bad) == 1:
		return bad[0].path + ":" + strconv.Itoa(bad[0].Line) + " cannot be read"
	case len(bad) > 1:
		return bad[0].path + ":" + strconv.Itoa(bad[0].Line) + " and " + plural(len(bad)-1, "more place") + " cannot be read"
	case v.r.Verdict == gates.VerdictError || v.r.Verdict == "":
		if len(v.r.Notices) > 0 {
			return "the gates could not be judged: " + v.r.Notices[0]
		}
		return "the gates could not be judged"
	case v.bootstrap() && v.r.Trust.PolicySHA256 != "":
		return v.trustName() + " has no valid signer in .gatesworn/"
	case v.bootstrap():
		return v.trustName() + " has no .gatesworn/ yet: merge the set-up first"
	case v.total == 0:
		return "no gates, so nothing was shown"
	case len(v.open) == 0:
		return v.metTitle()
	}
	return v.openTitle() + " (" + v.count() + ")"
}

func (v *view) count() string {
	return strconv.Itoa(len(v.met)) + " of " + strconv.Itoa(v.total) + " met"
}

func (v *view) metTitle() string {
	s := strconv.Itoa(len(v.met)) + " of " + strconv.Itoa(v.total) + " gates met"
	switch {
	case v.r.Conclusion == gates.Success:
		return s
	case v.r.Trust.RootChanged && !v.r.Trust.RootSigned:
		return s + ", but .gatesworn/ changes: waiting for a maintainer to sign it"
	case v.signed() && !v.r.Trust.Governed:
		return s + ", but " + v.r.Subject.Base + " is not a governed branch"
	}
	if waves := len(v.r.Pending) + len(v.r.Handoffs); waves > 0 {
		return s + ", but " + plural(waves, "wave") + " not resolved"
	}
	return s + ", but not passed"
}

func (v *view) openTitle() string {
	groups := v.groups()
	if len(groups) == 1 {
		g := groups[0]
		few := labels(g.items, shown(len(g.items)))
		switch {
		case g.state == gates.Unapproved && v.signed():
			return "waiting for a maintainer to sign " + few
		case g.state == gates.Removed && onePath(g.items):
			return few + was(len(g.items)) + " removed from " + g.items[0].path
		case g.state == gates.Failed && claimed(g.items):
			if len(g.items) == 1 {
				return g.items[0].label + " is ticked but fails"
			}
			return few + " are ticked but fail"
		}
		return few + " " + v.word(g.state)
	}
	room := shown(len(v.open))
	rest := len(v.open) - room
	var parts []string
	for _, g := range groups {
		n := min(room, len(g.items))
		if n == 0 {
			break
		}
		room -= n
		parts = append(parts, labels(g.items[:n], n)+" "+v.word(g.state))
	}
	if rest > 0 {
		return strings.Join(parts, ", ") + " and " + strconv.Itoa(rest) + " more not met"
	}
	return strings.Join(parts, ", ")
}

func onePath(items []item) bool {
	for _, it := range items {
		if it.path != items[0].path {
			return false
		}
	}
	return true
}

// shown says how many ids of n are written out: all, or three and a count.
func shown(n int) int {
	if n > titleIDs {
		return titleIDs - 1
	}
	return n
}

func was(n int) string {
	if n == 1 {
		return " was"
	}
	return " were"
}

func claimed(items []item) bool {
	for _, it := range items {
		if it.Claimed != gates.ClaimedMet {
			return false
		}
	}
	return true
}

type group struct {
	state gates.State
	items []item
}

// order is the order of states in titles and lists: the most telling first.
var order = [...]gates.State{gates.Failed, gates.Blocked, gates.Removed, gates.Unapproved, gates.Manual, gates.Abandoned, gates.NotRun}

// groups sorts what is not met by state. A state this package does not know
// counts as not run.
func (v *view) groups() []group {
	by := map[gates.State][]item{}
	for _, it := range v.open {
		by[known(it.State)] = append(by[known(it.State)], it)
	}
	var out []group
	for _, s := range order {
		if len(by[s]) > 0 {
			out = append(out, group{s, by[s]})
		}
	}
	return out
}

func known(s gates.State) gates.State {
	for _, k := range order {
		if s == k {
			return s
		}
	}
	return gates.NotRun
}

// word says in two words what a state means.
func (v *view) word(s gates.State) string {
	switch known(s) {
	case gates.Failed:
		return "failed"
	case gates.Blocked:
		return "blocked"
	case gates.Removed:
		return "removed"
	case gates.Unapproved:
		if v.signed() {
			return "not signed"
		}
		return "not approved"
	case gates.Manual:
		return "without evidence"
	case gates.Abandoned:
		return "abandoned"
	}
	return "not run"
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
