package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatesworn/gatesworn/gates"
)

// theirs is a repository with signed gates on origin/main, and the person who
// signed them: a key, a git configuration, a pin.
type theirs struct {
	t         *testing.T
	top, home string
	env       []string
	now       func() time.Time
}

func needTools(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			if os.Getenv("REQUIRE_TOOLS") == "1" {
				t.Fatalf("%s is missing", name)
			}
			t.Skipf("%s is missing", name)
		}
	}
}

const signedLedger = `# Gates

- [ ] G1: the tool works
  CHECK: sh tool.sh
  EXPECT: READY
  INPUTS: tool.sh, data/*.txt
- [ ] G2: the part works
  CHECK: echo part; cat note
  EXPECT: part
  CWD: sub
  TIMEOUT: 30
  ENV: FOO
  NEEDS: G1
  READS: sub/**
  WRITES: out/**
- [x] G3: a person looked at it
  EVIDENCE: seen on the first of December by T
`

// newTheirs makes the repository with the commands that a user would type.
func newTheirs(t *testing.T) *theirs {
	t.Helper()
	needTools(t, "git", "ssh-keygen")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &theirs{t: t, top: filepath.Join(dir, "repo"), home: filepath.Join(dir, "home"), now: time.Now}
	r.at(r.home)
	r.sh(`mkdir -p "$HOME/.ssh" "$TOP/sub" "$TOP/data" && cd "$TOP" && git init -q && git remote add origin https://example.org/o/r.git
		ssh-keygen -q -t ed25519 -N "" -C alice -f "$HOME/.ssh/id_ed25519"
		echo 'echo READY' > tool.sh; echo a > data/a.txt; echo note > sub/note; mkdir sub-evil; echo evil > sub-evil/note`)
	r.write("GATES.md", signedLedger)
	r.must("init", "--github")
	r.sh(`git add . && git commit -qm gates`)
	r.must("sign", "--commit", "--yes", "--key", filepath.Join(r.home, ".ssh", "id_ed25519"))
	r.sh(`git update-ref refs/remotes/origin/main HEAD && git switch -qc pr`)
	return r
}

// at sets the environment for a home.
func (r *theirs) at(home string) {
	r.home = home
	r.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TOP=" + r.top, "MARK=" + home + "/mark", "TMPDIR=" + os.TempDir(),
		"GIT_CONFIG_GLOBAL=" + home + "/.gitconfig", "GIT_CONFIG_NOSYSTEM=1", "KEY=" + home + "/.ssh/id_ed25519",
	}
	if _, err := os.Stat(home + "/.gitconfig"); err != nil {
		if err := os.MkdirAll(home, 0o700); err != nil {
			r.t.Fatal(err)
		}
		config := "[user]\n\tname = Alice\n\temail = alice@example.org\n[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n"
		if err := os.WriteFile(home+"/.gitconfig", []byte(config), 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
}

// clone is the same repository and person in another place, for one test alone.
func (r *theirs) clone(t *testing.T) *theirs {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := &theirs{t: t, top: filepath.Join(dir, "repo"), now: r.now}
	for from, to := range map[string]string{r.top: c.top, r.home: filepath.Join(dir, "home")} {
		if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	c.at(filepath.Join(dir, "home"))
	return c
}

func (r *theirs) write(path, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.top, path), []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// sh runs shell commands in the repository.
func (r *theirs) sh(script string) string {
	r.t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir, cmd.Env = r.top, r.env
	if _, err := os.Stat(r.top); err != nil {
		cmd.Dir = r.home
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("%s\n%v: %s", script, err, out)
	}
	return string(out)
}

// run is gatesworn in this process; the answer is everything it printed.
func (r *theirs) run(args ...string) (status int, text string) {
	var out bytes.Buffer
	status = run(app{
		args: args, in: strings.NewReader(""), out: &out, err: &out, env: r.env,
		dir: func() (string, error) { return r.top, nil }, now: r.now, after: time.After,
	})
	return status, out.String()
}

func (r *theirs) must(args ...string) string {
	r.t.Helper()
	status, text := r.run(args...)
	if status != 0 {
		r.t.Fatalf("gatesworn %s: status %d\n%s", strings.Join(args, " "), status, text)
	}
	return text
}

// report is what check --as-pr says as JSON.
func (r *theirs) report() gates.Report {
	r.t.Helper()
	file := filepath.Join(r.home, "report.json")
	_, text := r.run("check", "--as-pr", "--format", "json", "--output", file)
	data, err := os.ReadFile(file)
	if err != nil {
		return gates.Report{Notices: []string{text}} // refused before there was a report
	}
	var report gates.Report
	if err := json.Unmarshal(data, &report); err != nil {
		r.t.Fatal(err)
	}
	return report
}

// attack is a change of a pull request, or of a clone, that must never be a success.
type attack struct {
	name    string
	do      string   // shell commands
	loose   bool     // not committed: the attack is on the clone
	says    []string // what check --as-pr prints
	explain string   // "GATE: text" that explain prints
	status  int      // of check --as-pr; 0 means 1
}

// sub edits GATES.md.
func edit(from, to string) string {
	return `grep -q -e '` + from + `' GATES.md && sed -i 's~` + from + `~` + to + `~' GATES.md`
}

var attacks = []attack{
	{name: "edited-outcome", do: edit("the tool works", "the tool starts"), says: []string{"NOT SIGNED GATES:G1"}, explain: "G1: not signed: outcome differs from what alice signed"},
	{name: "edited-check", do: edit("CHECK: sh tool.sh", `CHECK: touch "$MARK"; echo READY`), says: []string{"NOT SIGNED GATES:G1", "CHECK differs from what alice signed"}, explain: "G1: CHECK sh tool.sh → touch"},
	{name: "edited-expect", do: edit("EXPECT: READY", "EXPECT: /^/"), says: []string{"EXPECT differs from what alice signed", "was READY, is /^/"}, explain: "G1: next: restore EXPECT, or ask alice: gatesworn sign"},
	{name: "edited-cwd", do: edit("CWD: sub", "CWD: sub-evil"), says: []string{"NOT SIGNED GATES:G2", "CWD differs"}, explain: "G2: CWD sub → sub-evil"},
	{name: "edited-timeout", do: edit("TIMEOUT: 30", "TIMEOUT: 31"), says: []string{"TIMEOUT differs"}, explain: "G2: TIMEOUT 30 → 31"},
	{name: "edited-env", do: edit("ENV: FOO", "ENV: FOO, BAR"), says: []string{"ENV differs"}, explain: "G2: ENV FOO → FOO, BAR"},
	{name: "edited-needs", do: `sed -i '/NEEDS: G1/d' GATES.md`, says: []string{"NEEDS differs"}, explain: "G2: NEEDS G1 → (none)"},
	{name: "edited-reads", do: edit("READS: sub/\\*\\*", "READS: sub/x"), says: []string{"READS differs"}, explain: "G2: READS sub/** → sub/x"},
	{name: "edited-writes", do: `sed -i '/WRITES/d' GATES.md`, says: []string{"WRITES differs"}, explain: "G2: WRITES out/** → (none)"},
	{name: "edited-inputs", do: edit("INPUTS: tool.sh, data/\\*.txt", "INPUTS: tool.sh"), says: []string{"INPUTS and data/a.txt differ"}, explain: "G1: INPUTS tool.sh, data/*.txt → tool.sh"},
	{name: "narrowed-inputs", do: edit("data/\\*.txt", "data/a.txt") + `; echo b > data/b.txt`, says: []string{"INPUTS differs"}, explain: "G1: data/*.txt → tool.sh, data/a.txt"},
	{name: "bound-file-edited", do: `echo 'touch "$MARK"; echo READY' > tool.sh`, says: []string{"tool.sh differs from what alice signed"}, explain: "G1: tool.sh differs"},
	{name: "bound-file-added", do: `echo b > data/b.txt`, says: []string{"data/b.txt was not among the files of what alice signed"}, explain: "G1: data/b.txt differs"},
	{name: "bound-file-removed", do: `echo b > data/b.txt; git rm -q data/a.txt`, says: []string{"NOT SIGNED GATES:G1"}, explain: "G1: data/a.txt differs"},
	{name: "bound-file-renamed", do: `git mv data/a.txt data/c.txt`, says: []string{"data/a.txt and data/c.txt differ"}, explain: "G1: not signed"},
	{name: "bound-file-executable", do: `chmod +x tool.sh`, says: []string{"tool.sh has another mode"}, explain: "G1: tool.sh"},
	{name: "bound-file-link", do: `mv tool.sh real.sh; ln -s real.sh tool.sh`, says: []string{"NOT SIGNED GATES:G1", "symbolic link"}, explain: "G1: not signed"},
	{name: "bound-folder-link", do: `mv data real; ln -s real data`, says: []string{"NOT SIGNED GATES:G1", "symbolic link"}, explain: "G1: not signed"},
	{name: "bound-file-attributes", do: `echo 'tool.sh text eol=crlf' > .gitattributes; git add .; git commit -qm x; rm tool.sh; git checkout -q -- tool.sh`, loose: true, says: []string{"tool.sh"}, status: 2},
	{name: "nothing-matches", do: edit("data/\\*.txt", "nowhere/*.txt"), says: []string{"NOT SIGNED GATES:G1", "matches no file"}, explain: "G1: matches no file"},
	{name: "case-twins", do: `echo A > data/A.txt`, says: []string{"NOT SIGNED GATES:G1"}, explain: "G1: not signed"},
	{name: "runnable-turned-manual", do: `sed -i -e '/CHECK: sh tool.sh/d' -e '/EXPECT: READY/d' -e '/INPUTS/d' -e 's/NEEDS: G1/NEEDS: G3/' -e 's/\[ \] G1: the tool works/[x] G1: the tool works\n  EVIDENCE: seen, believe me/' GATES.md`, says: []string{"REMOVED", "G1", "has a CHECK on origin/main, none here"}},
	{name: "manual-gate-other-evidence", do: edit("seen on the first", "seen on the second"), says: []string{"G3"}, explain: "G3: EVIDENCE differs from what was signed"},
	{name: "manual-gate-other-outcome", do: edit("a person looked at it", "a person glanced at it"), says: []string{"G3"}, explain: "G3: outcome differs"},
	{name: "manual-gate-unsigned", do: `printf -- '- [x] G4: looks fine\n  EVIDENCE: it does\n' >> GATES.md`, says: []string{"G4"}, explain: "G4: its evidence is signed by nobody"},
	{name: "new-gate", do: `printf -- '- [ ] G4: new\n  CHECK: touch "$MARK"\n  EXPECT: /^/\n' >> GATES.md`, says: []string{"NOT SIGNED GATES:G4"}, explain: "G4: not signed: new, and signed by nobody"},
	{name: "removed-gate", do: `sed -i '/G3/,$d' GATES.md`, says: []string{"REMOVED GATES:G3", "on origin/main, not here", "put it back, or ask alice: gatesworn sign"}},
	{name: "renamed-gate", do: edit("G3: a person", "G9: a person"), says: []string{"REMOVED GATES:G3", "G9"}, explain: "G9: not signed"},
	{name: "abandoned-gate", do: `printf '\nABANDON: G1 too hard\n' >> GATES.md`, says: []string{"HANDOFF REQUIRED: 1 abandoned"}},
	{name: "deleted-ledger", do: `git rm -q GATES.md; echo x > other`, says: []string{"REMOVED GATES:G1", "REMOVED GATES:G2", "REMOVED GATES:G3"}},
	{name: "ledger-is-a-link", do: `mv GATES.md real.md; ln -s real.md GATES.md`, says: []string{"cannot read ledger"}, status: 2},
	{name: "ledger-unparsable", do: `printf -- '- [ ] no id\n' >> GATES.md`, says: []string{"has no id"}, status: 2},
	{name: "ledger-unparsable-before", do: `cp GATES.md good; printf -- '- [ ] no id\n' >> GATES.md; git commit -qam x; git update-ref refs/remotes/origin/main HEAD; sed '/G3/,$d' good > GATES.md; rm good`, says: []string{"GATES.md cannot be read on origin/main: what it promised there is not known", "not green yet"}},
	{name: "statement-one-space", do: `sed -i '1s/$/ /' .gatesworn/approvals/*.approval`, says: []string{"This PR edits .gatesworn/approvals/", "NOT SIGNED GATES:G1"}, explain: "G1: is no valid approval"},
	{name: "statement-key-case", do: `sed -i 's/"note"/"Note"/' .gatesworn/approvals/*.approval`, says: []string{"NOT SIGNED GATES:G1"}, explain: "G1: is no valid approval"},
	{name: "statement-edited", do: `sed -i 's/"timeout": 30/"timeout": 31/' .gatesworn/approvals/*.approval; sed -i 's/TIMEOUT: 30/TIMEOUT: 31/' GATES.md; git diff --quiet -- .gatesworn && exit 1 || true`, says: []string{"NOT SIGNED GATES:G2"}, explain: "G2: signature does not count"},
	{name: "approval-deleted", do: `git rm -q .gatesworn/approvals/*`, says: []string{"This PR edits .gatesworn/approvals/", "NOT SIGNED GATES:G1"}, explain: "G1: signed by nobody"},
	{name: "signature-deleted", do: `git rm -q .gatesworn/approvals/*.sig`, says: []string{"This PR edits"}},
	{name: "signature-text-around", do: `for f in .gatesworn/approvals/*.sig; do echo hello >> $f; done; git diff --quiet && exit 1 || true`, says: []string{"This PR edits"}},
	{name: "signature-other-namespace", do: edit("the tool works", "the tool runs") + `; ` + resign("file"), says: []string{"NOT SIGNED GATES:G1"}, explain: "G1: signature does not count"},
	{name: "signature-other-key", do: edit("the tool works", "the tool runs") + `; ssh-keygen -q -t ed25519 -N "" -f mallory; KEY=mallory; ` + resign("gatesworn-approval"), says: []string{"NOT SIGNED GATES:G1"}, explain: "G1: signature does not count"},
	{name: "signers-changed", do: `ssh-keygen -q -t ed25519 -N "" -f mallory; echo "mallory@example.org namespaces=\"gatesworn-approval\" $(cut -d' ' -f1,2 mallory.pub)" >> .gatesworn/allowed_signers; ` + edit("the tool works", "the tool runs") + `; KEY=mallory; ` + resign("gatesworn-approval"), says: []string{"This PR edits .gatesworn/allowed_signers: judged by origin/main's", "NOT SIGNED GATES:G1"}, explain: "G1: signature does not count"},
	{name: "policy-changed", do: `echo 'removal: allow' >> .gatesworn/policy.yml; sed -i '/G3/,$d' GATES.md`, says: []string{"This PR edits .gatesworn/policy.yml", "REMOVED GATES:G3"}},
	{name: "policy-changed-alone", do: `echo 'manual: evidence' >> .gatesworn/policy.yml`, says: []string{"This PR edits .gatesworn/policy.yml", "not green yet"}},
	{name: "root-deleted", do: `git rm -rq .gatesworn`, says: []string{"This PR edits", "NOT SIGNED GATES:G1"}},
	{name: "root-link", do: `mv .gatesworn/allowed_signers real; ln -s ../real .gatesworn/allowed_signers`, says: []string{"symbolic link"}, status: 2},
	{name: "root-folder-link", do: `mv .gatesworn real; ln -s real .gatesworn`, says: []string{"link"}, status: 2},
	{name: "root-submodule", do: `rm -r .gatesworn/approvals; git rm -rq --cached .gatesworn/approvals; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),.gatesworn/approvals; git commit -qm x; mkdir .gatesworn/approvals`, loose: true, says: []string{"submodule"}, status: 2},
	{name: "revoked-malformed", do: `echo nonsense > .gatesworn/revoked`, says: []string{".gatesworn/revoked:1"}, status: 2},
	{name: "dirty-tree", do: `echo 'touch "$MARK"; echo READY' > tool.sh`, loose: true, says: []string{"tool.sh differs from commit"}, status: 2},
	{name: "dirty-ledger", do: `echo >> GATES.md`, loose: true, says: []string{"GATES.md differs from commit"}, status: 2},
	{name: "dirty-other-file", do: `echo x > sub/note`, loose: true, says: []string{"sub/note differs from commit"}, status: 2},
	{name: "dirty-but-staged", do: `echo x > sub/note; git add sub/note`, loose: true, says: []string{"sub/note differs from commit"}, status: 2},
	{name: "skip-worktree", do: `git update-index --skip-worktree tool.sh; echo 'touch "$MARK"; echo READY' > tool.sh; test -z "$(git status --porcelain)"`, loose: true, says: []string{"tool.sh differs from commit"}, status: 2},
	{name: "assume-unchanged", do: `git update-index --assume-unchanged tool.sh; echo 'touch "$MARK"; echo READY' > tool.sh`, loose: true, says: []string{"tool.sh differs from commit"}, status: 2},
	{name: "untracked-input", do: `echo b > data/b.txt`, loose: true, says: []string{"data/b.txt differs from commit", "untracked, and INPUTS matches it"}, status: 2},
	{name: "ignored-input", do: `echo 'data/b.txt' > .git/info/exclude; echo b > data/b.txt`, loose: true, says: []string{"data/b.txt"}, status: 2},
	{name: "policy-unknown-key", do: `echo 'removals: allow' >> .gatesworn/policy.yml; git commit -qam x; git update-ref refs/remotes/origin/main HEAD`, loose: true, says: []string{".gatesworn/policy.yml:4"}, status: 2},
	{name: "policy-repeated-key", do: `echo 'version: 1' >> .gatesworn/policy.yml; git commit -qam x; git update-ref refs/remotes/origin/main HEAD`, loose: true, says: []string{".gatesworn/policy.yml:4"}, status: 2},
	{name: "policy-threshold-zero", do: `echo 'approvals: {threshold: 0}' >> .gatesworn/policy.yml; git commit -qam x; git update-ref refs/remotes/origin/main HEAD`, loose: true, says: []string{".gatesworn/policy.yml:4"}, status: 2},
	{name: "no-root", do: `git rm -rq .gatesworn; git commit -qm x; git update-ref refs/remotes/origin/main HEAD`, loose: true, says: []string{"which has no .gatesworn/ yet", "NOT SIGNED GATES:G1"}},
	{name: "empty-signers", do: `: > .gatesworn/allowed_signers; git commit -qam x; git update-ref refs/remotes/origin/main HEAD`, loose: true, says: []string{"which has no .gatesworn/ yet", "NOT SIGNED GATES:G1"}},
	{name: "tag-named-like-the-branch", do: edit("CHECK: sh tool.sh", `CHECK: touch "$MARK"; echo READY`) + `; git commit -qam x; git tag origin/main; git tag main; git tag refs/remotes/origin/main`, loose: true, says: []string{"NOT SIGNED GATES:G1"}},
	{name: "replace-ref", do: `old=$(git rev-parse HEAD:tool.sh); new=$(printf 'touch "$MARK"; echo READY\n' | git hash-object -w --stdin); git replace $old $new; git checkout -q HEAD -- . ; rm tool.sh; git checkout -q -- tool.sh; grep -q MARK tool.sh`, loose: true, says: []string{"tool.sh differs from commit"}, status: 2},
	{name: "tampered-object", do: `oid=$(git rev-parse HEAD:GATES.md); f=.git/objects/$(echo $oid | cut -c1-2)/$(echo $oid | cut -c3-); new=$(echo '- [x] G1: x' | git hash-object -w --stdin); chmod u+w $f; cp .git/objects/$(echo $new | cut -c1-2)/$(echo $new | cut -c3-) $f`, loose: true, says: []string{"corrupt"}, status: 2},
	{name: "alternates", do: `git clone -q --bare . "$HOME/store.git"; echo "$HOME/store.git/objects" > .git/objects/info/alternates; oid=$(git rev-parse HEAD:GATES.md); rm -f .git/objects/$(echo $oid | cut -c1-2)/$(echo $oid | cut -c3-)`, loose: true, says: []string{"borrow"}, status: 2},
	{name: "ci-environment", do: ``, loose: true, says: []string{"not pinned"}},
	{name: "unpinned-clone", do: `rm -r "$HOME/.local/state/gatesworn/pins"`, loose: true, says: []string{"NOT SIGNED GATES:G1", "not pinned on this machine", "gatesworn trust"}},
	{name: "other-remote", do: `git remote set-url origin https://example.org/mallory/r.git`, loose: true, says: []string{"not pinned on this machine"}},
	{name: "pinned-signers-changed", do: `ssh-keygen -q -t ed25519 -N "" -f mallory; echo "mallory@example.org namespaces=\"gatesworn-approval\" $(cut -d' ' -f1,2 mallory.pub)" > .gatesworn/allowed_signers; ` + edit("CHECK: sh tool.sh", `CHECK: touch "$MARK"; echo READY`) + `; git add -A; git commit -qm x; git update-ref refs/remotes/origin/main HEAD`, loose: true, says: []string{"not those that were pinned", "gatesworn trust"}},
	{name: "revocation-lost", do: `echo "sha256:$(printf %064d 1)" > .gatesworn/revoked; git add .; git commit -qm r; git update-ref refs/remotes/origin/main HEAD; git rm -q .gatesworn/revoked; git commit -qm x`, loose: true, says: []string{"This PR edits .gatesworn/revoked"}},
	{name: "index-differs", do: `git update-index --cacheinfo 100644,$(echo x | git hash-object -w --stdin),tool.sh; echo x > tool.sh`, loose: true, says: []string{"tool.sh differs from commit"}, status: 2},
}

// resign has the key in $KEY sign an edited statement over the changed ledger.
func resign(namespace string) string {
	return `f=$(ls .gatesworn/approvals/*.approval); n=.gatesworn/approvals/2026-01-01-aaaaaaaaaaaa.approval; sed -e 's/the tool works/the tool runs/' $f > $n; ssh-keygen -q -Y sign -n ` + namespace + ` -f "$KEY" $n 2>/dev/null; mv $n.sig $n.aaaaaaaa.sig`
}

// TestNeverAccepted plays every attack on a real repository with real keys.
func TestNeverAccepted(t *testing.T) {
	t.Parallel()
	base := newTheirs(t)
	if status, text := base.run("check", "--as-pr"); status != 0 || !strings.Contains(text, "ALL MET (3 met)") {
		t.Fatalf("without an attack: status %d\n%s", status, text)
	}
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			base.clone(t).suffer(a)
		})
	}
}

func (r *theirs) suffer(a attack) {
	r.sh(a.do)
	if !a.loose {
		r.sh(`git add -A && git commit -qm attack`)
	}
	if a.name == "ci-environment" {
		r.sh(`rm -r "$HOME/.local/state/gatesworn/pins"`)
		r.env = append(r.env, "CI=true", "GITHUB_ACTIONS=true", "GATESWORN_TRUST=1", "GITHUB_ACTOR=alice")
	}
	status, text := r.run("check", "--as-pr")
	if want := max(a.status, 1); status != want {
		r.t.Errorf("status %d, want %d", status, want)
	}
	for _, s := range a.says {
		if !strings.Contains(text, s) {
			r.t.Errorf("says nothing of %q", s)
		}
	}
	if report := r.report(); report.Conclusion == gates.Success || report.Conclusion == "" {
		r.t.Errorf("the conclusion is %q", report.Conclusion)
	}
	if _, err := os.Stat(filepath.Join(r.home, "mark")); err == nil {
		r.t.Error("the attacker's command ran")
	}
	if gate, want, ok := strings.Cut(a.explain, ": "); ok {
		if status, said := r.run("explain", "GATES:"+gate); status != 1 || !strings.Contains(said, want) || !strings.Contains(said, "next: ") {
			r.t.Errorf("explain: status %d, want 1 and %q\n%s", status, want, said)
		}
	}
	if r.t.Failed() {
		r.t.Log(text)
	}
}
