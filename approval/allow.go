package approval

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"
)

// decideAllowlist: the root must be there, then deny before allow, then the
// first statement that counts.
func decideAllowlist(r Request) Decision {
	switch {
	case r.Root.State == RootMissing:
		return refuse(NoRoot, fmt.Sprintf("%s has no .gatesworn/ with a policy and a signer", r.Root.Ref), "merge the set-up first: gatesworn init --github")
	case r.Root.State != RootValid || !r.Root.Policy.Valid():
		text := fmt.Sprintf("the rules on %s cannot be read", r.Root.Ref)
		if r.Root.Err != nil {
			text += ": " + firstLine(r.Root.Err.Error())
		}
		d := refuse(BrokenRoot, text, "correct them on "+r.Root.Ref)
		d.Err = r.Root.Err
		if d.Err == nil {
			d.Err = fmt.Errorf("%s", text)
		}
		return d
	case r.Oracle.Project != r.Root.Policy.Project:
		return refuse(OtherRoot, "the definition is of another project", "")
	}
	j := newJudge(r)
	if !r.Oracle.Runnable() {
		return j.manual()
	}
	if r.Root.Policy.Inputs != InputsOptional && r.Oracle.Inputs == nil {
		return refuse(InputsMissing, "this repository binds the files of every check, and the gate has no INPUTS", "name the script that CHECK runs: INPUTS: PATH, then "+j.askNext())
	}
	return j.command()
}

// judge holds what the checks of one gate's statements share.
type judge struct {
	r        Request
	policy   Policy
	digest   string // of the oracle in front of us
	replaced map[string]time.Time
}

func newJudge(r Request) judge {
	j := judge{r: r, policy: r.Root.Policy, digest: r.Oracle.Digest()}
	j.replaced = j.replacements()
	return j
}

func (j judge) command() Decision {
	var all []Considered
	allowed := -1
	for i, s := range j.r.Statements {
		c := j.consider(s)
		if c.Reason == Undecided {
			continue // the statement does not name the gate
		}
		all = append(all, c)
		if c.Reason == Signed && (allowed < 0 || j.r.Statements[i].IssuedAt.After(j.r.Statements[allowed].IssuedAt)) {
			allowed = i
		}
	}
	j.rank(all)
	if j.r.Revoked.Has(j.digest) {
		d := refuse(Revoked, "this definition was revoked", "change it, then "+j.askNext())
		d.Considered = all
		return d
	}
	if allowed >= 0 {
		s := j.r.Statements[allowed]
		by := s.signers(j.policy.Keys)
		return Decision{
			Allowed: true, Reason: Signed, Text: fmt.Sprintf("signed by %s on %s", j.people(by, "and"), day(s.IssuedAt)),
			Source: SourceAllowlist, By: by, ID: s.ID, Issued: s.IssuedAt, Expires: s.ExpiresAt, Considered: all,
		}
	}
	d := refuse(NewHere, "new, and signed by nobody", j.askNext())
	if len(all) > 0 {
		d.Reason, d.Text, d.Next = all[0].Reason, all[0].Text, j.cure(all[0])
	}
	d.Considered = all
	return d
}

// consider applies the checks in the documented order and stops at the first
// that fails. Undecided means that the statement does not approve this gate.
func (j judge) consider(s Statement) Considered {
	c := Considered{ID: s.ID, By: s.signers(j.policy.Keys), Issued: s.IssuedAt}
	closest, named := j.closest(s)
	if !named && s.Fault == "" {
		return c
	}
	digest := closest.Digest()
	c.Same = named && digest == j.digest
	if c.Reason, c.Text = j.valid(s); c.Reason != Undecided {
		return c
	}
	if c.Reason, c.Text = j.denied(s, digest); c.Reason != Undecided {
		if c.Reason == Revoked && !c.Same {
			c.Text = fmt.Sprintf("another version, signed on %s, was revoked", day(s.IssuedAt))
		}
		return c
	}
	if !c.Same {
		c.Reason, c.Changes = Differs, Diff(closest, j.r.Oracle)
		c.Text = Sentence(c.Changes, j.whatSigned(c, s))
		return c
	}
	if c.Reason, c.Text = j.threshold(s); c.Reason != Undecided {
		return c
	}
	c.Reason, c.Text = Signed, "counts"
	return c
}

// closest returns the oracle of the statement that is ours, or else the one of
// our ledger and gate that differs least.
func (j judge) closest(s Statement) (best Oracle, named bool) {
	least := 0
	for _, o := range s.Approve {
		if o.Ledger != j.r.Oracle.Ledger || o.Gate != j.r.Oracle.Gate {
			continue
		}
		n := len(Diff(o, j.r.Oracle))
		if !named || n < least {
			best, least, named = o, n, true
		}
	}
	return best, named
}

// valid applies the checks on the statement as a whole, before any oracle is compared.
func (j judge) valid(s Statement) (Reason, string) {
	now := j.r.Now
	switch {
	case s.Fault != "":
		return Malformed, fmt.Sprintf("%s is no valid approval: %s", s.Path, s.Fault)
	case s.ID == "" || s.IssuedAt.IsZero():
		return Malformed, fmt.Sprintf("%s is no valid approval", s.Path)
	case s.Project != j.policy.Project:
		return OtherProject, "it was signed for another project"
	case s.IssuedAt.After(now.Add(Skew)):
		return NotYet, fmt.Sprintf("the approval is dated %s, in the future", s.IssuedAt.UTC().Format(time.RFC3339))
	case !s.ExpiresAt.IsZero() && !now.Before(s.ExpiresAt):
		return Expired, fmt.Sprintf("the approval expired on %s", day(s.ExpiresAt))
	case j.policy.MaxAge > 0 && !now.Before(s.IssuedAt.Add(j.policy.MaxAge)):
		return TooOld, fmt.Sprintf("the approval of %s is older than %d days", day(s.IssuedAt), int(j.policy.MaxAge.Hours()/24))
	}
	return Undecided, ""
}

// denied applies revocations and the rule against rollback.
func (j judge) denied(s Statement, digest string) (Reason, string) {
	switch {
	case j.r.Revoked.Has(s.ID):
		return StatementRevoked, fmt.Sprintf("the approval of %s was revoked", day(s.IssuedAt))
	case j.r.Revoked.Has(digest):
		return Revoked, "this definition was revoked"
	}
	if at, ok := j.replaced[digest]; ok && !s.IssuedAt.After(at) {
		return Replaced, fmt.Sprintf("this is an older version: it was replaced on %s", day(at))
	}
	return Undecided, ""
}

// replacements maps the oracles that statements of the trust ref took out of use
// to the last time that was done. That such a statement has expired or was revoked
// since does not bring the older version back. A renewal lists the oracle it
// approves again; that replaces nothing.
func (j judge) replacements() map[string]time.Time {
	replaced := map[string]time.Time{}
	for _, t := range j.r.Statements {
		if !t.Trusted || t.Fault != "" || t.Project != j.policy.Project || len(t.Replaces) == 0 {
			continue
		}
		if len(t.signers(j.policy.Keys)) < j.policy.Threshold {
			continue
		}
		renewed := map[string]bool{}
		for _, o := range t.Approve {
			if o.Ledger == j.r.Oracle.Ledger && o.Gate == j.r.Oracle.Gate {
				renewed[o.Digest()] = true
			}
		}
		for _, d := range t.Replaces {
			if !renewed[d] && t.IssuedAt.After(replaced[d]) {
				replaced[d] = t.IssuedAt
			}
		}
	}
	return replaced
}

func (j judge) threshold(s Statement) (Reason, string) {
	need := j.policy.Threshold
	by := s.signers(j.policy.Keys)
	if need > 0 && len(by) >= need {
		return Undecided, ""
	}
	if j.policy.Keys == KeysHardware && len(s.signers(KeysAny)) >= need {
		return NotHardware, "it was not signed with a hardware key and a touch, as this repository asks"
	}
	for _, g := range s.Signatures {
		if g.Fault != "" && len(by) == 0 {
			return TooFewSigners, "its signature does not count: " + g.Fault
		}
	}
	if len(by) == 0 {
		return TooFewSigners, "no listed signer signed it"
	}
	return TooFewSigners, fmt.Sprintf("signed by %s; %d of %d signers", j.people(by, "and"), len(by), need)
}

// rank puts first what a person would want to hear of: the same definition
// before another one, the latest check reached, the fewest differences, the newest.
func (j judge) rank(all []Considered) {
	sort.SliceStable(all, func(a, b int) bool {
		x, y := all[a], all[b]
		if px, py := weight(x), weight(y); px != py {
			return px > py
		}
		if len(x.Changes) != len(y.Changes) {
			return len(x.Changes) < len(y.Changes)
		}
		if !x.Issued.Equal(y.Issued) {
			return x.Issued.After(y.Issued)
		}
		return x.ID < y.ID
	})
}

// weight orders what was considered: approvals of this very definition by how
// far they came, then those of another version that are valid, then the rest.
func weight(c Considered) int {
	switch {
	case c.Same:
		return 100 + int(c.Reason)
	case c.Reason == Differs:
		return 90
	}
	return int(c.Reason)
}

func (j judge) whatSigned(c Considered, s Statement) string {
	who := "what was signed"
	if len(c.By) > 0 {
		who = fmt.Sprintf("what %s signed", j.people(c.By, "and"))
	}
	return who + " on " + day(s.IssuedAt)
}

// people names principals: without the part after "@" where that stays unique.
func (j judge) people(principals []string, word string) string {
	short := map[string]int{}
	for _, p := range j.r.Root.Principals {
		short[before(p)]++
	}
	named := make([]string, 0, len(principals))
	for _, p := range principals {
		if n := before(p); n != "" && short[n] <= 1 {
			p = n
		}
		named = append(named, p)
	}
	slices.Sort(named)
	switch len(named) {
	case 0:
		return "nobody"
	case 1:
		return named[0]
	}
	last := len(named) - 1
	if len(named) > 4 {
		return fmt.Sprintf("%s %s %d more", strings.Join(named[:3], ", "), word, len(named)-3)
	}
	return fmt.Sprintf("%s %s %s", strings.Join(named[:last], ", "), word, named[last])
}

func before(principal string) string {
	name, _, _ := strings.Cut(principal, "@")
	return name
}

// askNext is the cure that needs a signer.
func (j judge) askNext() string {
	return fmt.Sprintf("ask %s: gatesworn sign", j.people(j.r.Root.Principals, "or"))
}

func (j judge) cure(c Considered) string {
	switch c.Reason {
	case Differs:
		if len(c.Changes) == 1 && !c.Changes[0].File && c.Changes[0].Old != "" {
			return fmt.Sprintf("restore %s, or %s", c.Changes[0].Field, j.askNext())
		}
		return "restore it, or " + j.askNext()
	case Revoked:
		if !c.Same {
			return j.askNext()
		}
		return "change it, then " + j.askNext()
	case NotYet:
		return "set the clock of the machine that signed, then " + j.askNext()
	case TooFewSigners:
		if left := without(j.r.Root.Principals, c.By); len(c.By) > 0 && len(left) > 0 {
			return fmt.Sprintf("ask %s: gatesworn sign", j.people(left, "or"))
		}
	}
	return j.askNext()
}

func without(all, some []string) []string {
	var left []string
	for _, a := range all {
		if !contains(some, a) {
			left = append(left, a)
		}
	}
	return left
}
