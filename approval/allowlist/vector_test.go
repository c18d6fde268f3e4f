package allowlist

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatesworn/gatesworn/approval"
)

// vectors are attacks on a signed statement, from the files to the decision. All
// start from a repository in which alice signed G1 and nothing else is wrong.
func TestVectors(t *testing.T) {
	t.Parallel()
	alice, alice2, bob := sharedSigner(t, "ed25519"), sharedSigner(t, "ecdsa384"), sharedSigner(t, "ecdsa256")
	soft, stranger := alice, newSigner(t, "ed25519")
	hard := sharedSigner(t, "sk-ed25519")
	all := line("alice", "", alice.PublicKey()) + line("alice", "", alice2.PublicKey()) + line("bob", "", bob.PublicKey()) + line("carol", "", hard.PublicKey())
	day := 24 * time.Hour
	o := oracle("G1", "make test")
	base := approving(testNow.Add(-day), o)
	with := func(change func(o *approval.Oracle)) approval.Oracle {
		c := o
		change(&c)
		return c
	}
	type env struct {
		f       *files // judged
		trust   *files
		signers string
		req     approval.Request
		ask     approval.Oracle
	}
	signed := func(s approval.Statement) func(e *env) { return func(e *env) { e.f.add(t, s, alice) } }
	edit := func(change func(o *approval.Oracle)) func(e *env) {
		return func(e *env) { e.f.add(t, base, alice); e.ask = with(change) }
	}
	vectors := []struct {
		name   string
		expect approval.Reason
		do     func(e *env)
	}{
		{"as signed", approval.Signed, signed(base)},
		{"nothing is signed", approval.NewHere, func(*env) {}},
		{"CHECK edited", approval.Differs, edit(func(o *approval.Oracle) { c := "make test || true"; o.Check = &c })},
		{"EXPECT edited", approval.Differs, edit(func(o *approval.Oracle) { c := "K"; o.Expect = &c })},
		{"outcome edited", approval.Differs, edit(func(o *approval.Oracle) { o.Outcome = "x" })},
		{"CWD prefix", approval.Differs, edit(func(o *approval.Oracle) { o.CWD = "sub-evil" })},
		{"ENV added", approval.Differs, edit(func(o *approval.Oracle) { o.Env = []string{"X"} })},
		{"TIMEOUT added", approval.Differs, edit(func(o *approval.Oracle) { n := 1; o.Timeout = &n })},
		{"NEEDS added", approval.Differs, edit(func(o *approval.Oracle) { o.Needs = []string{"G2"} })},
		{"another gate", approval.NewHere, edit(func(o *approval.Oracle) { o.Gate = "G2" })},
		{"another ledger", approval.NewHere, edit(func(o *approval.Oracle) { o.Ledger = "sub/GATES.md" })},
		{"another project asks", approval.OtherRoot, edit(func(o *approval.Oracle) { o.Project = "0000000000000000" })},
		{"statement of another project", approval.OtherProject, func(e *env) {
			s := approving(testNow.Add(-day), with(func(o *approval.Oracle) { o.Project = "0000000000000000" }))
			s.Project = "0000000000000000"
			e.f.add(t, s, alice)
		}},
		{"unsigned", approval.TooFewSigners, func(e *env) { e.f.add(t, base) }},
		{"signed by a stranger", approval.TooFewSigners, func(e *env) { e.f.add(t, base, stranger) }},
		{"a stranger's signature named after alice's key", approval.TooFewSigners, func(e *env) {
			p := e.f.add(t, base)
			e.f.m[SignaturePath(p, alice.PublicKey())] = string(sign(t, stranger, []byte(e.f.m[p])))
		}},
		{"a signature of another statement", approval.TooFewSigners, func(e *env) {
			p := e.f.add(t, base)
			e.f.m[SignaturePath(p, alice.PublicKey())] = string(sign(t, alice, mustMarshal(t, approving(testNow, oracle("G1", "true")))))
		}},
		{"a signature for git", approval.TooFewSigners, func(e *env) {
			p := e.f.add(t, base)
			e.f.m[SignaturePath(p, alice.PublicKey())] = string(signAs(t, alice, []byte(e.f.m[p]), "git", "sha512"))
		}},
		{"text around the armor", approval.TooFewSigners, func(e *env) {
			p := e.f.add(t, base)
			e.f.m[SignaturePath(p, alice.PublicKey())] = string(sign(t, alice, []byte(e.f.m[p]))) + "ok\n"
		}},
		{"two armors", approval.TooFewSigners, func(e *env) {
			p := e.f.add(t, base)
			e.f.m[SignaturePath(p, alice.PublicKey())] = strings.Repeat(string(sign(t, alice, []byte(e.f.m[p]))), 2)
		}},
		{"a blank more after signing", approval.Malformed, func(e *env) {
			p := e.f.add(t, base, alice)
			e.f.m[p] = strings.Replace(e.f.m[p], "\"v\": 1", "\"v\":  1", 1)
		}},
		{"a blank more, then signed", approval.Malformed, func(e *env) {
			e.f.addBytes(t, []byte(strings.Replace(string(mustMarshal(t, base)), "\"v\": 1", "\"v\":  1", 1)), testNow, alice)
		}},
		{"bytes changed after signing", approval.TooFewSigners, func(e *env) {
			p := e.f.add(t, base, alice)
			s := base
			s.Note = "altered"
			e.f.m[p] = string(mustMarshal(t, s))
		}},
		{"two keys of one principal", approval.TooFewSigners, func(e *env) {
			e.req.Root.Policy.Threshold = 2
			e.f.add(t, base, alice, alice2)
		}},
		{"two principals", approval.Signed, func(e *env) {
			e.req.Root.Policy.Threshold = 2
			e.f.add(t, base, alice, bob)
		}},
		{"two principals, the same bytes under two names", approval.Signed, func(e *env) {
			e.req.Root.Policy.Threshold = 2
			data := mustMarshal(t, base)
			p := e.f.addBytes(t, data, testNow, alice)
			e.f.m[approval.ApprovalsPath+"copy.approval"] = e.f.m[p]
			e.f.m[SignaturePath(approval.ApprovalsPath+"copy.approval", bob.PublicKey())] = string(sign(t, bob, data))
		}},
		{"threshold 0", approval.BrokenRoot, func(e *env) { e.req.Root.Policy.Threshold = 0; e.f.add(t, base) }},
		{"the key has expired", approval.TooFewSigners, func(e *env) {
			e.signers = line("alice", `valid-before="`+testNow.Add(-time.Minute).Format("20060102150405Z")+`"`, alice.PublicKey())
			e.f.add(t, base, alice)
		}},
		{"the key is not yet valid", approval.TooFewSigners, func(e *env) {
			e.signers = line("alice", `valid-after="`+testNow.Add(time.Minute).Format("20060102150405Z")+`"`, alice.PublicKey())
			e.f.add(t, base, alice)
		}},
		{"keys: hardware, a soft key", approval.NotHardware, func(e *env) {
			e.req.Root.Policy.Keys = approval.KeysHardware
			e.f.add(t, base, soft)
		}},
		{"keys: hardware, a hard key", approval.Signed, func(e *env) {
			e.req.Root.Policy.Keys = approval.KeysHardware
			e.f.add(t, base, hard)
		}},
		{"expired", approval.Expired, func(e *env) {
			s := base
			s.ExpiresAt = testNow
			e.f.add(t, s, alice)
		}},
		{"six minutes ahead", approval.NotYet, signed(approving(testNow.Add(6*time.Minute), o))},
		{"four minutes ahead", approval.Signed, signed(approving(testNow.Add(4*time.Minute), o))},
		{"older than max-age", approval.TooOld, func(e *env) { e.req.Root.Policy.MaxAge = day; e.f.add(t, base, alice) }},
		{"the statement is revoked", approval.StatementRevoked, func(e *env) {
			p := e.f.add(t, base, alice)
			e.req.Revoked = approval.Unite([]string{approval.Digest([]byte(e.f.m[p]))})
		}},
		{"the definition is revoked", approval.Revoked, func(e *env) {
			e.f.add(t, base, alice)
			e.req.Revoked = approval.Unite([]string{o.Digest()})
		}},
		{"reverted to a replaced version", approval.Replaced, func(e *env) {
			e.f.add(t, base, alice)
			s := approving(testNow.Add(-time.Hour), oracle("G1", "stricter"))
			s.Replaces = []string{o.Digest()}
			e.f.add(t, s, alice)
			e.trust = e.f.clone()
		}},
		{"replaced by an unsigned statement", approval.Signed, func(e *env) {
			e.f.add(t, base, alice)
			s := approving(testNow.Add(-time.Hour), oracle("G1", "stricter"))
			s.Replaces = []string{o.Digest()}
			e.f.add(t, s)
			e.trust = e.f.clone()
		}},
		{"approved only at the trust ref", approval.NewHere, func(e *env) {
			e.trust = newFiles()
			e.trust.add(t, base, alice)
		}},
		{"retired instead of approved", approval.NewHere, signed(approval.Statement{Project: testProject, IssuedAt: testNow.Add(-day), Retire: []approval.Oracle{o}})},
	}
	for _, v := range vectors {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			e := env{f: newFiles(), signers: all, ask: o}
			e.req = request(mustOpen(t, newFiles(), nil, mustSigners(t, all)), t, o)
			v.do(&e)
			l := mustOpen(t, e.f, e.trust, mustSigners(t, e.signers))
			e.req.Oracle, e.req.Statements = e.ask, about(t, l, e.ask.Gate, e.ask.Digest())
			if e.ask.Ledger != "GATES.md" {
				var err error
				if e.req.Statements, err = l.About(e.ask.Ledger, e.ask.Gate, e.ask.Digest()); err != nil {
					t.Fatal(err)
				}
			}
			d := approval.Decide(e.req)
			if d.Reason != v.expect || d.Allowed != v.expect.Allows() || d.Text == "" || !d.Allowed && v.expect != approval.OtherRoot && d.Next == "" {
				t.Errorf("expect %s, got %s: %q next %q", v.expect, d.Reason, d.Text, d.Next)
			}
		})
	}
}

// Signed evidence counts for its text, outcome, gate and tree only.
func TestEvidenceVectors(t *testing.T) {
	t.Parallel()
	alice := sharedSigner(t, "ed25519")
	signers := mustSigners(t, line("alice", "", alice.PublicKey()))
	tree := strings.Repeat("ab", 20)
	manual := oracle("M1", "")
	manual.Check, manual.Expect, manual.Outcome = nil, nil, "somebody looked"
	good := approval.SignedEvidence{Ledger: "GATES.md", Gate: "M1", Outcome: manual.Outcome, Text: "photo 3", Tree: tree}
	for name, c := range map[string]struct {
		change func(e *approval.SignedEvidence)
		expect approval.Reason
	}{
		"as signed":       {func(*approval.SignedEvidence) {}, approval.EvidenceSigned},
		"another text":    {func(e *approval.SignedEvidence) { e.Text = "photo 4" }, approval.OtherEvidence},
		"another outcome": {func(e *approval.SignedEvidence) { e.Outcome = "x" }, approval.OtherEvidence},
		"another tree":    {func(e *approval.SignedEvidence) { e.Tree = strings.Repeat("cd", 20) }, approval.OtherEvidence},
		"another gate":    {func(e *approval.SignedEvidence) { e.Gate = "M2" }, approval.NoEvidence},
		"until tomorrow":  {func(e *approval.SignedEvidence) { e.Tree, e.ExpiresAt = "", testNow.Add(24*time.Hour) }, approval.EvidenceSigned},
		"until yesterday": {func(e *approval.SignedEvidence) { e.Tree, e.ExpiresAt = "", testNow.Add(-time.Minute) }, approval.OtherEvidence},
	} {
		e := good
		c.change(&e)
		f := newFiles()
		f.add(t, approval.Statement{Project: testProject, IssuedAt: testNow.Add(-time.Hour), Evidence: []approval.SignedEvidence{e}}, alice)
		r := request(mustOpen(t, f, nil, signers), t, manual)
		r.Claimed, r.Evidence, r.Trees = true, "photo 3", []string{tree}
		if d := approval.Decide(r); d.Reason != c.expect {
			t.Errorf("%s: expect %s, got %s: %s", name, c.expect, d.Reason, d.Text)
		}
	}
	if !slices.Contains(kinds, "sk-ecdsa") {
		t.Error("kinds")
	}
}
