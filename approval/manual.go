package approval

import "fmt"

// manual decides whether a manual gate's evidence counts in a pull request.
func (j judge) manual() Decision {
	if j.policy.Manual == ManualEvidence {
		if j.r.Claimed {
			return Decision{Allowed: true, Reason: EvidenceClaimed, Text: "claimed, not verified", Source: SourceAllowlist}
		}
		return refuse(NoEvidence, "needs a tick and evidence by hand", "do what it says, then tick it and write EVIDENCE")
	}
	if !j.r.Claimed {
		return refuse(NoEvidence, "has no evidence to sign", "tick it and write EVIDENCE, then "+j.askNext())
	}
	var all []Considered
	for _, s := range j.r.Statements {
		for _, e := range s.Evidence {
			if e.Ledger != j.r.Oracle.Ledger || e.Gate != j.r.Oracle.Gate {
				continue
			}
			all = append(all, j.evidence(s, e))
		}
	}
	j.rank(all)
	d := refuse(NoEvidence, "its evidence is signed by nobody", j.askNext())
	if len(all) > 0 {
		first := all[0]
		d.Reason, d.Text = first.Reason, first.Text
		if first.Reason == EvidenceSigned {
			d = Decision{
				Allowed: true, Reason: EvidenceSigned, Source: SourceAllowlist, By: first.By, ID: first.ID, Issued: first.Issued,
				Text: fmt.Sprintf("evidence signed by %s on %s", j.people(first.By, "and"), day(first.Issued)),
			}
		}
	}
	d.Considered = all
	return d
}

// evidence applies the checks to one signed entry.
func (j judge) evidence(s Statement, e SignedEvidence) Considered {
	c := Considered{ID: s.ID, By: s.signers(j.policy.Keys), Issued: s.IssuedAt}
	if c.Reason, c.Text = j.valid(s); c.Reason != Undecided {
		return c
	}
	if c.Reason, c.Text = j.denied(s, j.digest); c.Reason != Undecided {
		return c
	}
	c.Reason = OtherEvidence
	c.Same = e.Outcome == j.r.Oracle.Outcome && e.Text == j.r.Evidence
	switch {
	case e.Outcome != j.r.Oracle.Outcome:
		c.Text = "the outcome differs from the one whose evidence was signed"
	case e.Text != j.r.Evidence || e.Text == "":
		c.Text = "EVIDENCE differs from what was signed on " + day(s.IssuedAt)
	case e.Tree != "" && !contains(j.r.Trees, e.Tree):
		c.Text = "the evidence was signed for another tree"
	case e.Tree == "" && e.ExpiresAt.IsZero():
		c.Text = "the signed evidence names neither a tree nor an end"
	case e.Tree == "" && e.ExpiresAt.After(s.IssuedAt.Add(MaxEvidenceLife)):
		c.Text = "the signed evidence lasts longer than 14 days"
	case !e.ExpiresAt.IsZero() && !j.r.Now.Before(e.ExpiresAt):
		c.Text = "the signed evidence expired on " + day(e.ExpiresAt)
	default:
		if c.Reason, c.Text = j.threshold(s); c.Reason == Undecided {
			c.Reason, c.Text = EvidenceSigned, "counts"
		}
	}
	return c
}
