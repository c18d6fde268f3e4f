package allowlist

import (
	"sort"
	"time"

	"github.com/gatesworn/gatesworn/approval"
)

// Older returns the digests, sorted, that a new statement approving digest for
// the gate has to list in replaces: of every other version that somebody signed,
// that has not expired and that nothing newer replaces already.
func (l *List) Older(ledger, gate, digest string) ([]string, error) {
	all, err := l.About(ledger, gate)
	if err != nil {
		return nil, err
	}
	latest, replaced := map[string]time.Time{}, map[string]time.Time{}
	for _, s := range all {
		if s.Fault != "" || !signedByAny(s) {
			continue
		}
		own := map[string]bool{}
		for _, o := range s.Approve {
			d := o.Digest()
			own[d] = true
			valid := s.ExpiresAt.IsZero() || l.opts.Now.Before(s.ExpiresAt)
			if valid && o.Ledger == ledger && o.Gate == gate && latest[d].Before(s.IssuedAt) {
				latest[d] = s.IssuedAt
			}
		}
		for _, d := range s.Replaces {
			if !own[d] && replaced[d].Before(s.IssuedAt) {
				replaced[d] = s.IssuedAt
			}
		}
	}
	var out []string
	for d, at := range latest {
		if d != digest && at.After(replaced[d]) {
			out = append(out, d)
		}
	}
	sort.Strings(out)
	return out, nil
}

func signedByAny(s approval.Statement) bool {
	for _, g := range s.Signatures {
		if g.Fault == "" && g.Principal != "" {
			return true
		}
	}
	return false
}
