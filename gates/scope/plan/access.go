package plan

import (
	"fmt"
	"strconv"

	"github.com/gatesworn/gatesworn/internal/jsontext"
	"github.com/gatesworn/gatesworn/internal/lazyregexp"
)

var resourceID = lazyregexp.New(`^[a-z0-9][a-z0-9:._/-]*$`)

// readAccess adds what ACCESS.json declares to the tasks. Nothing is inferred: a
// leaf that is not declared complete is an error.
func (t table) readAccess(data []byte) error {
	if err := t.access(data); err != nil {
		return fmt.Errorf("ACCESS.json: %w", err)
	}
	return nil
}

func (t table) access(data []byte) error {
	ms, err := jsontext.Object(data)
	if err != nil {
		return err
	}
	got := map[string]jsontext.Member{}
	for _, m := range ms {
		got[m.Name] = m
	}
	revision, err := strconv.Atoi(string(got["contractRevision"].Value))
	if err != nil || string(got["schema"].Value) != "1" || revision < 1 || revision > t.revision {
		return fmt.Errorf("schema and contractRevision must be the plan's (1, at most %d)", t.revision)
	}
	leaves, err := jsontext.Object(got["leaves"].Value)
	if err != nil {
		return fmt.Errorf("leaves %w", err)
	}
	if len(leaves) != len(t.tasks) {
		return fmt.Errorf("it declares %d leaves, the plan has %d", len(leaves), len(t.tasks))
	}
	for _, l := range leaves {
		r := t.byID[l.Name]
		if r == nil {
			return fmt.Errorf("leaf %.60q is not in the plan", l.Name)
		}
		if err := r.access(l.Value); err != nil {
			return fmt.Errorf("%s: %w", r.id, err)
		}
	}
	return nil
}

func (r *task) access(raw []byte) error {
	ms, err := jsontext.Object(raw)
	if err != nil {
		return err
	}
	lists := map[string][]string{}
	complete := false
	for _, m := range ms {
		switch m.Name {
		case "complete":
			complete = string(m.Value) == "true"
		case "reads", "resourceReads", "resourceWrites":
			if lists[m.Name], err = jsontext.Strings(m.Value); err != nil {
				return fmt.Errorf("%s %w", m.Name, err)
			}
		default:
			return fmt.Errorf("%.40q is not known", m.Name)
		}
	}
	if !complete || len(lists) != 3 {
		return fmt.Errorf("its access is not declared complete")
	}
	if r.reads, err = patterns(lists["reads"]); err != nil {
		return fmt.Errorf("reads: %w", err)
	}
	r.using, r.making = lists["resourceReads"], lists["resourceWrites"]
	for _, list := range [][]string{r.using, r.making} {
		if twice(list) {
			return fmt.Errorf("a resource is there twice")
		}
		for _, id := range list {
			if !resourceID.MatchString(id) {
				return fmt.Errorf("resource %.60q is no lower-case name", id)
			}
		}
	}
	return nil
}
