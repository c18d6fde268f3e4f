package ledger

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/gatesworn/gatesworn/internal/lazyregexp"
)

// MaxTimeout is the longest TIMEOUT in seconds.
const MaxTimeout = 86400

var decimal = lazyregexp.New(`^[1-9][0-9]{0,5}$`)

// storeOptional reads the attributes that older checkers ignore.
func (p *scan) storeOptional(s spot, key Key, value string, g *Gate) {
	if key == Timeout {
		n, err := strconv.Atoi(value)
		if err != nil || !decimal.MatchString(value) || n > MaxTimeout {
			p.add(s, Finding{
				Rule: "timeout", Gate: g.ID,
				Message: fmt.Sprintf("TIMEOUT is a whole number of seconds from 1 to %d in plain digits, not %s", MaxTimeout, quote(value)),
			})
			return
		}
		g.Timeout = n
		return
	}
	list := p.list(s, key, value, g)
	switch key {
	case Needs:
		g.Needs = list
	case Env:
		g.Env = list
	case Inputs:
		g.Inputs = list
	case Depends:
		g.Depends = list
	case Reads:
		g.Reads = list
	case Writes:
		g.Writes = list
	}
}

// list splits a value at its commas and checks each item.
func (p *scan) list(s spot, key Key, value string, g *Gate) []string {
	items := strings.Split(value, ",")
	seen := make(map[string]bool, len(items))
	for i, item := range items {
		item = trim(item)
		items[i] = item
		rule, problem := "list", ""
		switch {
		case item == "" && len(items) == 1:
			problem = "is empty"
		case item == "":
			problem = "has an empty item; one comma between two items"
		case seen[item]:
			problem = "names " + quote(item) + " twice"
		default:
			rule, problem = checkItem(key, item, g)
		}
		seen[item] = true
		if problem != "" {
			p.add(s, Finding{Rule: rule, Gate: g.ID, Message: fmt.Sprintf("%s %s", key, problem)})
		}
	}
	return items
}

var resourceName = lazyregexp.New(`^@[A-Za-z0-9][A-Za-z0-9._-]*$`)

// checkItem says what is wrong with one item of a list, "" if nothing is.
func checkItem(key Key, item string, g *Gate) (rule, problem string) {
	switch key {
	case Needs:
		switch {
		case item == g.ID:
			return "needs-self", "names " + item + " itself"
		case !validID(item):
			return "list", fmt.Sprintf("takes ids, and %s is not one", quote(item))
		}
		return "", ""
	case Env:
		if reason, ok := EnvNameAllowed(item); !ok {
			return "env", fmt.Sprintf("cannot name %s: %s", quote(item), reason)
		}
		return "", ""
	case Reads, Writes:
		if strings.HasPrefix(item, "@") {
			if !resourceName.MatchString(item) {
				return "list", fmt.Sprintf("takes @names of letters, digits, `.`, `_` and `-`, not %s", quote(item))
			}
			return "", ""
		}
	}
	if problem := checkGlob(item); problem != "" {
		return "glob", quote(item) + " " + problem
	}
	return "", ""
}

var drive = lazyregexp.New(`^[A-Za-z]:`)

// maxStars bounds the ** parts of a pattern: the time of a match grows with the
// depth of a path to the power of their number.
const maxStars = 3

// checkGlob says what is wrong with a pattern, "" if nothing is. A pattern that
// could never match a listed path (./a, a//b, a/) is wrong too: it would bind nothing.
func checkGlob(g string) string {
	switch {
	case strings.ContainsAny(g, "{}"):
		return "holds a brace; lists are split at commas, so write the alternatives as two patterns"
	case strings.Contains(g, `\`):
		return "holds a backslash; paths are written with /"
	case strings.HasPrefix(g, "/"), drive.MatchString(g), g == "~", strings.HasPrefix(g, "~/"):
		return "is not relative to the repository's top"
	case strings.HasSuffix(g, "/"):
		return "names a folder; write " + g + "** for what is in it"
	}
	for part := range strings.SplitSeq(g, "/") {
		switch part {
		case "..":
			return "leaves the repository with .."
		case ".", "":
			return "has a `.` or an empty part, and would match nothing"
		}
		if part != "**" && strings.Contains(part, "**") {
			return "has ** beside other text; ** stands alone between slashes"
		}
		if !doublestar.ValidatePattern(part) { // also a class that spans a slash
			return "is not a valid pattern"
		}
	}
	if strings.Count("/"+g+"/", "/**/") > maxStars || strings.Contains(g, "**/**") {
		return "has too many **; three will do, and not one after the other"
	}
	return ""
}
