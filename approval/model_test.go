package approval_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gatesworn/gatesworn/approval"
)

// TestDecideModel compares Decide with the rule written down once more, as one
// expression and without order: a statement counts if all conditions hold.
func TestDecideModel(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	versions := []approval.Oracle{baseOracle(), baseOracle(), baseOracle(), gateEdit{Expect: ptr("B")}.oracle(), gateEdit{Check: ptr("c")}.oracle(), gateEdit{ID: ptr("G2")}.oracle()}
	hours := rapid.SampledFrom([]time.Duration{-800 * time.Hour, -48 * time.Hour, -time.Hour, -time.Hour, 0, 5 * time.Minute, 6 * time.Minute})
	who := rapid.SampledFrom([]string{"", "alice@example.org", "bob@example.org", "alice@example.org", "bob@example.org"})
	allowed := 0
	for range 10 {
		rapid.Check(t, func(t *rapid.T) { allowed += model(t, now, versions, hours, who) })
	}
	if allowed < 50 {
		t.Errorf("allowed %d times: nothing was tried", allowed)
	}
}

func model(t *rapid.T, now time.Time, versions []approval.Oracle, hours *rapid.Generator[time.Duration], who *rapid.Generator[string]) int {
	r := approval.Request{Mode: approval.ModeAllowlist, Now: now, Oracle: versions[0], Root: validRoot()}
	p := &r.Root.Policy
	p.Threshold = rapid.IntRange(1, 2).Draw(t, "threshold")
	p.MaxAge = rapid.SampledFrom([]time.Duration{0, 24 * time.Hour}).Draw(t, "max-age")
	p.Keys = rapid.SampledFrom([]approval.Keys{approval.KeysAny, approval.KeysHardware}).Draw(t, "keys")
	for i := range rapid.IntRange(0, 4).Draw(t, "statements") {
		s := approval.Statement{ID: approval.Digest([]byte{byte(i)}), Project: p.Project, IssuedAt: now.Add(hours.Draw(t, "issued"))}
		s.Trusted = rapid.Bool().Draw(t, "trusted")
		s.Approve = rapid.SliceOfN(rapid.SampledFrom(versions), 1, 3).Draw(t, "approve")
		if rapid.IntRange(0, 9).Draw(t, "fault") == 0 {
			s.Fault = "x"
		}
		if rapid.IntRange(0, 9).Draw(t, "project") == 0 {
			s.Project = "aaaaaaaaaaaa"
		}
		if rapid.IntRange(0, 2).Draw(t, "expires") == 0 {
			s.ExpiresAt = now.Add(hours.Draw(t, "at"))
		}
		for _, v := range rapid.SliceOfN(rapid.SampledFrom(versions), 0, 2).Draw(t, "replaces") {
			s.Replaces = append(s.Replaces, v.Digest())
		}
		for range rapid.IntRange(1, 4).Draw(t, "signatures") {
			g := approval.Signature{Principal: who.Draw(t, "who"), Hardware: rapid.IntRange(0, 3).Draw(t, "hardware") > 0}
			if rapid.IntRange(0, 5).Draw(t, "bad") == 0 {
				g.Fault = "bad"
			}
			s.Signatures = append(s.Signatures, g)
		}
		r.Statements = append(r.Statements, s)
	}
	if len(r.Statements) > 0 && rapid.IntRange(0, 3).Draw(t, "revoke") == 0 {
		r.Revoked = approval.Unite([]string{rapid.SampledFrom([]string{r.Statements[0].ID, versions[0].Digest(), versions[3].Digest()}).Draw(t, "revoked")})
	}
	want := false
	for _, s := range r.Statements {
		want = want || counts(r, s)
	}
	d := approval.Decide(r)
	if d.Allowed != want {
		t.Fatalf("allowed %v (%s: %s), the model says %v", d.Allowed, d.Reason, d.Text, want)
	}
	if d.Allowed {
		return 1
	}
	return 0
}

func has(oracles []approval.Oracle, digest string) bool {
	for _, o := range oracles {
		if o.Digest() == digest {
			return true
		}
	}
	return false
}

func enough(r approval.Request, s approval.Statement) bool {
	people := map[string]bool{}
	for _, g := range s.Signatures {
		if g.Fault == "" && g.Principal != "" && (r.Root.Policy.Keys == approval.KeysAny || g.Hardware) {
			people[g.Principal] = true
		}
	}
	return len(people) >= r.Root.Policy.Threshold
}

func counts(r approval.Request, s approval.Statement) bool {
	p, digest := r.Root.Policy, r.Oracle.Digest()
	ok := s.Fault == "" && s.Project == p.Project &&
		!s.IssuedAt.After(r.Now.Add(5*time.Minute)) &&
		(s.ExpiresAt.IsZero() || r.Now.Before(s.ExpiresAt)) &&
		(p.MaxAge == 0 || r.Now.Before(s.IssuedAt.Add(p.MaxAge))) &&
		!r.Revoked.Has(s.ID) && !r.Revoked.Has(digest) &&
		has(s.Approve, digest) && enough(r, s)
	for _, t := range r.Statements {
		replaces := false
		for _, d := range t.Replaces {
			replaces = replaces || d == digest
		}
		if t.Trusted && t.Fault == "" && t.Project == p.Project && enough(r, t) && replaces && !has(t.Approve, digest) && !s.IssuedAt.After(t.IssuedAt) {
			ok = false
		}
	}
	return ok
}
