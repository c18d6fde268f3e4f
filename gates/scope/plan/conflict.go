package plan

import "strings"

// paths finds patterns that may match a common path: those of which one's literal
// folders are a prefix of the other's (as schedule.Overlap, in time that does not
// grow with the number of patterns).
type paths struct {
	at    map[string][]string // owners of a pattern that ends here
	under map[string][]string // owners of a pattern that ends here or deeper
}

// literals are the folders of a pattern before its first wildcard, case folded.
func literals(pattern string) []string {
	parts := strings.Split(strings.ToLower(pattern), "/")
	for i, p := range parts {
		if strings.ContainsAny(p, `*?[{\`) {
			return parts[:i]
		}
	}
	return parts
}

// keep adds an owner; two different ones are enough to find another than any one.
func keep(owners []string, owner string) []string {
	if len(owners) > 1 || len(owners) == 1 && owners[0] == owner {
		return owners
	}
	return append(owners, owner)
}

func (p *paths) add(owner string, patterns []string) {
	if p.at == nil {
		p.at, p.under = map[string][]string{}, map[string][]string{}
	}
	for _, pattern := range patterns {
		key := ""
		p.under[key] = keep(p.under[key], owner)
		for _, l := range literals(pattern) {
			key += "/" + l
			p.under[key] = keep(p.under[key], owner)
		}
		p.at[key] = keep(p.at[key], owner)
	}
}

// other returns an owner, not except, of a pattern that overlaps one of these; "" if there is none.
func (p *paths) other(except string, patterns []string) string {
	if p.at == nil {
		return ""
	}
	for _, pattern := range patterns {
		key := ""
		found := another(p.at[key], except)
		for _, l := range literals(pattern) {
			key += "/" + l
			if found == "" {
				found = another(p.at[key], except)
			}
		}
		if found == "" {
			found = another(p.under[key], except)
		}
		if found != "" {
			return found
		}
	}
	return ""
}

func another(owners []string, except string) string {
	for _, o := range owners {
		if o != except {
			return o
		}
	}
	return ""
}

// claims are what a set of tasks (or leases) reads and writes.
type claims struct {
	writes, reads paths
	making, using map[string][]string
}

func (c *claims) add(r *task) {
	c.writes.add(r.id, r.owns)
	c.reads.add(r.id, r.reads)
	if c.making == nil {
		c.making, c.using = map[string][]string{}, map[string][]string{}
	}
	for _, m := range r.making {
		c.making[m] = keep(c.making[m], r.id)
	}
	for _, u := range r.using {
		c.using[u] = keep(c.using[u], r.id)
	}
}

// against returns a task among the claims that must not run beside r, "" if none:
// neither may write what the other reads or writes (Bernstein).
func (c *claims) against(r *task) string {
	for _, found := range []string{c.writes.other(r.id, r.owns), c.reads.other(r.id, r.owns), c.writes.other(r.id, r.reads)} {
		if found != "" {
			return found
		}
	}
	for _, m := range r.making {
		if o := another(c.making[m], r.id); o != "" {
			return o
		}
		if o := another(c.using[m], r.id); o != "" {
			return o
		}
	}
	for _, u := range r.using {
		if o := another(c.making[u], r.id); o != "" {
			return o
		}
	}
	return ""
}
