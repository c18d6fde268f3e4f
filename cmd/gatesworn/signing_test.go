package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// key is the signer's.
func (r *theirs) key() string { return filepath.Join(r.home, ".ssh", "id_ed25519") }

// sign signs without asking.
func (r *theirs) sign() string { return r.must("sign", "--commit", "--yes", "--key", r.key()) }

func contains(t *testing.T, text string, all ...string) {
	t.Helper()
	for _, s := range all {
		if !strings.Contains(text, s) {
			t.Errorf("lacks %q:\n%s", s, text)
		}
	}
}

// TestSigning follows what signers do after the first signature.
func TestSigning(t *testing.T) {
	t.Parallel()
	base := newTheirs(t)
	for name, test := range map[string]func(r *theirs){
		"a bound file's change is shown": func(r *theirs) {
			r.sh(`printf 'echo first\necho READY\n' > tool.sh; git commit -qam x`)
			contains(r.t, r.sign(), "changed  GATES:G1", "file     tool.sh", "+echo first", " echo READY")
		},
		"authors who sign alone are named": func(r *theirs) {
			r.sh(`printf -- '- [ ] G4: new\n  CHECK: echo ok\n  EXPECT: ok\n' >> GATES.md; git commit -qam x`)
			r.sign()
			contains(r.t, r.must("check", "--as-pr"), "G4: signed by nobody but the authors of these commits", "ALL MET (4 met)")
		},
		"others' commits are not named": func(r *theirs) {
			r.sh(`printf -- '- [ ] G4: new\n  CHECK: echo ok\n  EXPECT: ok\n' >> GATES.md; git -c user.email=bob@example.org commit -qam x`)
			r.must("sign", "--yes", "--key", r.key())
			r.sh(`git add .gatesworn; git -c user.email=bob@example.org commit -qm signed`)
			if text := r.must("check", "--as-pr"); strings.Contains(text, "signed by nobody") {
				r.t.Error(text)
			}
		},
		"approvals age and are renewed": func(r *theirs) {
			r.sh(`printf 'approvals:\n  threshold: 1\n  max-age: 180d\n' >> .gatesworn/policy.yml; git commit -qam x; git update-ref refs/remotes/origin/main HEAD`)
			at := func(days int) {
				r.now = func() time.Time { return time.Now().Add(time.Duration(days) * 24 * time.Hour) }
			}
			at(100)
			contains(r.t, r.sign(), "evidence GATES:G3")
			at(200)
			_, text := r.run("explain", "G1")
			contains(r.t, text, "older than 180 days", "next: ask alice: gatesworn sign")
			at(175)
			contains(r.t, r.sign(), "renewal  GATES:G1", "ends on")
			at(200)
			_, text = r.run("explain", "G1")
			contains(r.t, text, "signed by alice")
		},
		"a clock that is behind": func(r *theirs) {
			r.now = func() time.Time { return time.Now().Add(-time.Hour) }
			_, text := r.run("check", "--as-pr")
			contains(r.t, text, "in the future", "NOT SIGNED GATES:G1")
		},
		"evidence lasts 14 days": func(r *theirs) {
			r.now = func() time.Time { return time.Now().Add(15 * 24 * time.Hour) }
			_, text := r.run("explain", "G3")
			contains(r.t, text, "the signed evidence expired on")
		},
		"changed rules are offered and then green": func(r *theirs) {
			r.sh(`echo 'jobs: 2' >> .gatesworn/policy.yml; git commit -qam x`)
			contains(r.t, r.sign(), "root     .gatesworn  signing agrees to the new rules and signers", "edits    .gatesworn/policy.yml", "+jobs: 2")
			contains(r.t, r.must("check", "--as-pr"), "This PR edits .gatesworn/policy.yml: signed by origin/main's signers", "ALL MET (3 met)")
		},
		"another project's approvals": func(r *theirs) {
			r.sh(`sed -i 's/^project: .*/project: 0123456789abcdef/' .gatesworn/policy.yml; git commit -qam x; git update-ref refs/remotes/origin/main HEAD`)
			_, text := r.run("explain", "G1")
			contains(r.t, text, "it was signed for another project")
		},
		"--commit leaves alone what is staged": func(r *theirs) {
			r.sh(`printf -- '- [ ] G4: new\n  CHECK: echo ok\n  EXPECT: ok\n' >> GATES.md; git commit -qam x; echo s > staged; git add staged`)
			r.sign()
			if got := r.sh(`git show --stat --format= HEAD | grep -c '|'; git status --porcelain`); got != "2\nA  staged\n" {
				r.t.Errorf("%q", got)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(base.clone(t))
		})
	}
}

// TestSignRefuses: what is on disk must be what would be signed.
func TestSignRefuses(t *testing.T) {
	t.Parallel()
	base := newTheirs(t)
	for name, a := range map[string]attack{
		"dirty ledger":         {do: `echo >> GATES.md`, says: []string{"GATES.md differs from commit"}},
		"dirty bound file":     {do: `echo >> tool.sh`, says: []string{"tool.sh differs from commit"}},
		"hidden from git":      {do: `git update-index --skip-worktree tool.sh; echo >> tool.sh`, says: []string{"tool.sh differs from commit"}},
		"untracked bound file": {do: `echo b > data/b.txt`, says: []string{"data/b.txt differs from commit"}},
		"dirty rules":          {do: `echo >> .gatesworn/policy.yml`, says: []string{".gatesworn/policy.yml differs from commit"}},
		"malformed ledger":     {do: `echo '- [ ] none' >> GATES.md; git commit -qam x`, says: []string{"has no id"}},
		"broken root":          {do: `echo nonsense > .gatesworn/allowed_signers; git commit -qam x; git update-ref refs/remotes/origin/main HEAD`, says: []string{".gatesworn/allowed_signers:1"}},
		"a key of nobody":      {do: `ssh-keygen -q -t ed25519 -N "" -f "$HOME/.ssh/other"; mv "$HOME/.ssh/other" "$KEY"; mv "$HOME/.ssh/other.pub" "$KEY.pub"; printf -- '- [ ] G4: new\n  CHECK: echo ok\n  EXPECT: ok\n' >> GATES.md; git commit -qam x`, says: []string{"not a listed signer", "ask alice@example.org to add this line"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := base.clone(t)
			r.sh(a.do)
			before := r.sh(`git rev-parse HEAD; ls .gatesworn/approvals`)
			status, text := r.run("sign", "--commit", "--yes", "--key", r.key())
			if status != 2 {
				t.Errorf("status %d\n%s", status, text)
			}
			contains(t, text, a.says...)
			if now := r.sh(`git rev-parse HEAD; ls .gatesworn/approvals`); now != before {
				t.Error("something was written")
			}
		})
	}
}
