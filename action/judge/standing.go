package judge

import (
	"fmt"
	"strings"
	"time"

	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/gates"
)

// Statements returns every approval of the judged commit, verified.
func (p *PullRequest) Statements() ([]approval.Statement, error) { return p.list.All() }

// Stray lists files beneath approvals that count for nothing.
func (p *PullRequest) Stray() []string { return p.list.Stray() }

// SignaturesOf lists the signature files of the statement at path in the judged commit.
func (p *PullRequest) SignaturesOf(path string) []string {
	var out []string
	for _, e := range p.judged.Entries() {
		if strings.HasPrefix(e.Path, path+".") && strings.HasSuffix(e.Path, ".sig") {
			out = append(out, e.Path)
		}
	}
	return out
}

// Standing says in a word or two whether a statement as a whole counts now. Whether
// a definition is still the one that it approves is another question: Decide's.
func (p *PullRequest) Standing(s approval.Statement) string {
	by := counted(s)
	switch policy := p.Root.Policy; {
	case s.Fault != "":
		return "malformed"
	case s.Project != policy.Project:
		return "other project"
	case p.revoked.Has(s.ID):
		return "revoked"
	case s.IssuedAt.After(p.now.Add(approval.Skew)):
		return "in the future"
	case !s.ExpiresAt.IsZero() && !p.now.Before(s.ExpiresAt):
		return "expired " + s.ExpiresAt.UTC().Format(time.DateOnly)
	case policy.MaxAge > 0 && !p.now.Before(s.IssuedAt.Add(policy.MaxAge)):
		return "too old"
	case len(by) == 0:
		return "not signed"
	case len(by) < policy.Threshold:
		return fmt.Sprintf("%d of %d: %s", len(by), policy.Threshold, strings.Join(by, " "))
	default:
		return strings.Join(by, " ")
	}
}

// Needed returns the ids of the statements that a gate of the judged commit, its
// removal from the trust ref, or a change of the root rests on; those that wait
// for further signatures are needed as well.
func (p *PullRequest) Needed(sources []gates.Source) (map[string]bool, error) {
	current := map[string]bool{}
	evidence := map[[4]string]bool{}
	for _, src := range sources {
		for _, g := range src.Doc.Gates {
			o, err := approval.Build(p.judged, p.Root.Policy.Project, src.Path, g)
			if err == nil {
				current[o.Digest()] = true
			}
			evidence[[4]string{src.Path, g.ID, g.Outcome, g.Evidence}] = true
		}
	}
	retired := map[string]bool{}
	for _, r := range p.Guard.Removed {
		retired[r.Oracle.Digest()] = true
	}
	all, err := p.list.All()
	if err != nil {
		return nil, err
	}
	needed := map[string]bool{}
	for _, s := range all {
		for _, o := range s.Approve {
			needed[s.ID] = needed[s.ID] || current[o.Digest()]
		}
		for _, o := range s.Retire {
			needed[s.ID] = needed[s.ID] || retired[o.Digest()]
		}
		for _, e := range s.Evidence {
			live := evidence[[4]string{e.Ledger, e.Gate, e.Outcome, e.Text}] && (e.ExpiresAt.IsZero() || p.now.Before(e.ExpiresAt))
			needed[s.ID] = needed[s.ID] || live
		}
		if s.Root != nil && !s.Trusted {
			needed[s.ID] = true
		}
	}
	return needed, nil
}
