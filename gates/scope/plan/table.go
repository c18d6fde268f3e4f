package plan

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"

	"github.com/gatesworn/gatesworn/gates/scope"
	"github.com/gatesworn/gatesworn/internal/lazyregexp"
)

// rowState is where a row of the plan says its task stands.
type rowState string

// The states of a task.
const (
	waiting   rowState = "WAITING"
	ready     rowState = "READY"
	inFlight  rowState = "IN-FLIGHT"
	verified  rowState = "VERIFIED"
	abandoned rowState = "ABANDONED"
)

// task is one row of the plan with what ACCESS.json adds.
type task struct {
	id     string
	owns   []string
	needs  []string
	wave   int
	state  rowState
	reads  []string // globs
	using  []string // resources read
	making []string // resources written
}

// table is a plan that has been read.
type table struct {
	revision int
	tasks    []*task // by id
	byID     map[string]*task
}

var (
	revisionLine = lazyregexp.New(`^Contract revision: ([1-9][0-9]{0,8})(?:[.\s]|$)`)
	anyRevision  = lazyregexp.New(`^Contract revision:`)
	fence        = lazyregexp.New("^ {0,3}(`{3,}|~{3,})(.*)$")
	separator    = lazyregexp.New(`^:?-{3,}:?$`)
	columns      = []string{"Leaf", "Owns", "Needs", "Tier", "Planned wave", "State"}
)

// parseTable reads PLAN.md. The error is for people and says what to look at.
func parseTable(text string) (table, error) {
	lines := live(text)
	t := table{byID: map[string]*task{}}
	start := -1
	for i, l := range lines {
		if anyRevision.MatchString(l) {
			m := revisionLine.FindStringSubmatch(l)
			if m == nil || t.revision != 0 {
				return t, fmt.Errorf("PLAN.md needs exactly one line Contract revision: N")
			}
			t.revision, _ = strconv.Atoi(m[1]) // at most nine digits
		}
		c := cells(l)
		if len(c) == 0 || c[0] != columns[0] {
			continue
		}
		if !slices.Equal(c, columns) {
			return t, fmt.Errorf("PLAN.md: the table's columns must be %s", strings.Join(columns, ", "))
		}
		if start >= 0 {
			return t, fmt.Errorf("PLAN.md has two tables of leaves")
		}
		start = i
	}
	switch {
	case t.revision == 0:
		return t, fmt.Errorf("PLAN.md needs exactly one line Contract revision: N")
	case start < 0:
		return t, fmt.Errorf("PLAN.md has no table of leaves")
	}
	if err := t.rows(lines[start+1:]); err != nil {
		return t, fmt.Errorf("PLAN.md: %w", err)
	}
	sort.Slice(t.tasks, func(i, j int) bool { return t.tasks[i].id < t.tasks[j].id })
	return t, t.graph()
}

// live is the text without fenced blocks.
func live(text string) []string {
	var out []string
	open := ""
	for l := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		m := fence.FindStringSubmatch(l)
		switch {
		case open == "" && m != nil && (m[1][0] == '~' || !strings.Contains(m[2], "`")):
			open = m[1]
		case open == "":
			out = append(out, l)
		case m != nil && m[1][0] == open[0] && len(m[1]) >= len(open) && strings.TrimSpace(m[2]) == "":
			open = ""
		}
	}
	return out
}

// cells splits a table's line, nil if it is none.
func cells(line string) []string {
	line = strings.TrimSpace(line)
	if len(line) < 2 || line[0] != '|' || line[len(line)-1] != '|' {
		return nil
	}
	c := strings.Split(line[1:len(line)-1], "|")
	for i := range c {
		c[i] = strings.TrimSpace(c[i])
	}
	return c
}

func (t *table) rows(lines []string) error {
	if len(lines) == 0 {
		return fmt.Errorf("the table has no separator")
	}
	sep := cells(lines[0])
	if len(sep) != len(columns) || slices.ContainsFunc(sep, func(c string) bool { return !separator.MatchString(c) }) {
		return fmt.Errorf("the table has no separator")
	}
	for _, l := range lines[1:] {
		c := cells(l)
		if c == nil {
			break
		}
		if len(c) != len(columns) {
			return fmt.Errorf("a row has %d cells: %.60s", len(c), l)
		}
		r, err := row(c)
		if err != nil {
			return err
		}
		if t.byID[r.id] != nil {
			return fmt.Errorf("%s is there twice", r.id)
		}
		t.byID[r.id] = r
		t.tasks = append(t.tasks, r)
	}
	if len(t.tasks) == 0 {
		return fmt.Errorf("the table has no leaves")
	}
	return nil
}

func row(c []string) (*task, error) {
	r := &task{id: c[0], state: rowState(c[5])}
	if !scope.ValidID(r.id) || strings.HasPrefix(r.id, leafPrefix) {
		return nil, fmt.Errorf("%.60q is no leaf's bare id", r.id)
	}
	var err error
	if r.owns, err = patterns(commas(c[1])); err != nil || len(r.owns) == 0 {
		return nil, fmt.Errorf("%s: Owns must name paths: %v", r.id, err)
	}
	r.needs = commas(c[2])
	if twice(r.needs) {
		return nil, fmt.Errorf("%s: Needs names a leaf twice", r.id)
	}
	if c[3] != "judgment" && c[3] != "mechanical" {
		return nil, fmt.Errorf("%s: Tier must be judgment or mechanical", r.id)
	}
	if r.wave, err = strconv.Atoi(c[4]); err != nil || r.wave < 1 || c[4] != strconv.Itoa(r.wave) {
		return nil, fmt.Errorf("%s: Planned wave must be a positive number", r.id)
	}
	switch r.state {
	case waiting, ready, inFlight, verified, abandoned:
		return r, nil
	}
	return nil, fmt.Errorf("%s: State %.30q is not known", r.id, c[5])
}

func commas(cell string) []string {
	if cell == "-" {
		return nil
	}
	list := strings.Split(cell, ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

func twice(list []string) bool {
	seen := map[string]bool{}
	for _, l := range list {
		if seen[l] {
			return true
		}
		seen[l] = true
	}
	return false
}

// patterns normalises path patterns as OWNS is and refuses placeholders.
func patterns(list []string) ([]string, error) {
	out := make([]string, 0, len(list))
	for _, p := range list {
		q := strings.TrimPrefix(strings.ReplaceAll(p, `\`, "/"), "./")
		if strings.HasPrefix(q, "/") || len(q) > 1 && q[1] == ':' || strings.ContainsAny(q, "<>|") || strings.ContainsFunc(q, unicode.IsControl) {
			return nil, fmt.Errorf("%.60q is no relative path", p)
		}
		var kept []string
		for s := range strings.SplitSeq(q, "/") {
			if s == ".." {
				return nil, fmt.Errorf("%.60q leaves the root", p)
			}
			if s != "" && s != "." {
				kept = append(kept, s)
			}
		}
		if len(kept) == 0 {
			return nil, fmt.Errorf("%.60q is blank", p)
		}
		out = append(out, strings.Join(kept, "/"))
	}
	if twice(out) {
		return nil, fmt.Errorf("a path is there twice")
	}
	return out, nil
}

// graph checks the declared dependencies: known, in an earlier wave, without a cycle.
func (t table) graph() error {
	left := map[string]int{}
	after := map[string][]string{}
	for _, r := range t.tasks {
		for _, n := range r.needs {
			switch {
			case n == r.id:
				return fmt.Errorf("PLAN.md: %s needs itself", r.id)
			case t.byID[n] == nil:
				return fmt.Errorf("PLAN.md: %s needs %.60q, which is not in the plan", r.id, n)
			}
			left[r.id]++
			after[n] = append(after[n], r.id)
		}
	}
	var free []string
	for _, r := range t.tasks {
		if left[r.id] == 0 {
			free = append(free, r.id)
		}
	}
	done := 0
	for ; len(free) > 0; done++ { // Kahn
		id := free[0]
		free = free[1:]
		for _, a := range after[id] {
			if left[a]--; left[a] == 0 {
				free = append(free, a)
			}
		}
	}
	if done < len(t.tasks) {
		for _, r := range t.tasks {
			if left[r.id] > 0 {
				return fmt.Errorf("PLAN.md: a cycle of Needs holds up %s", r.id)
			}
		}
	}
	for _, r := range t.tasks {
		for _, n := range r.needs {
			if t.byID[n].wave >= r.wave {
				return fmt.Errorf("PLAN.md: %s needs %s, which is not in an earlier Planned wave", r.id, n)
			}
		}
	}
	return nil
}
