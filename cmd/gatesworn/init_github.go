package main

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/approval/allowlist"
	"github.com/gatesworn/gatesworn/approval/signing"
	"github.com/gatesworn/gatesworn/gates/scope"
	"github.com/gatesworn/gatesworn/internal/escape"
	"github.com/gatesworn/gatesworn/internal/safefile"
)

// workflowTemplate is the two-job workflow of docs/action.md.
//
//go:embed template/gatesworn.yml
var workflowTemplate string

const workflowPath = ".github/workflows/gatesworn.yml"

// attributes keep git from changing signed bytes.
const attributes = "approvals/** -text linguist-generated\n"

// starter is the ledger for a folder in which nothing declares a check yet.
const starter = `# Gates

- [ ] G1: no merge conflict is left in any file
  CHECK: grep -rnE --exclude-dir=.git '^(<<<<<<<|>>>>>>>) ' . ; test $? -eq 1
  EXPECT: /^/
`

// githubFiles writes what a required check needs, changes nothing that is there, and
// pins the root if all of it was written here and now.
type githubFiles struct {
	*session
	branch string
	key    signing.Key
	who    string
	wrote  map[string]bool
}

// initialiseGitHub is init --github: the ledger, .gatesworn/ and the workflow.
func (a *app) initialiseGitHub(ctx context.Context, f initFlags) error {
	s := &session{app: a, flags: checkFlags{root: f.root}}
	defer s.close()
	if err := s.open(); err != nil {
		return err
	}
	if s.root != s.work.Top {
		if real, err := filepath.EvalSymlinks(s.root); err != nil || real != s.work.Top {
			return withHint(fmt.Errorf(".gatesworn/ belongs at the top of the repository, %s", s.work.Top), "cd "+s.work.Top+" && gatesworn init --github")
		}
	}
	g := &githubFiles{session: s, wrote: map[string]bool{}}
	if err := g.signer(ctx); err != nil {
		return err // before anything is written
	}
	if _, err := a.firstLedger(ctx, s); errors.Is(err, errNothingToDraft) {
		err = safefile.Create(filepath.Join(s.work.Top, ledgerName), []byte(starter), 0o644)
		if err != nil {
			return fmt.Errorf("cannot write %s: %w", ledgerName, err)
		}
		fmt.Fprintf(a.out, "wrote %s: 1 gate to begin with\n", ledgerName)
	} else if err != nil {
		return err
	}
	if err := g.write(); err != nil {
		return err
	}
	if err := g.pin(ctx); err != nil {
		return err
	}
	g.next()
	return nil
}

// signer finds the key that the first signer will sign with.
func (g *githubFiles) signer(ctx context.Context) error {
	if _, err := os.Lstat(filepath.Join(g.work.Top, filepath.FromSlash(approval.SignersPath))); err == nil {
		return nil // kept
	}
	p, err := g.app.person()
	if err != nil {
		return err
	}
	keys, err := signing.Find(ctx, signing.Places{
		Git: expandHome(p.get("user.signingkey"), g.app.home()), GitFormat: p.get("gpg.format"), Agent: g.app.getenv("SSH_AUTH_SOCK"), Home: g.app.home(), Now: g.app.now(),
	}, allowlist.Signers{})
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		return withHint(errors.New("there is no SSH key to sign with, neither in git's configuration nor in ~/.ssh or the agent"), "ssh-keygen -t ed25519, then gatesworn init --github")
	}
	g.key = keys[0]
	if g.key.Origin != signing.FromGit {
		g.key = usual(keys)
	}
	if g.who = principal(p.get("user.email")); g.who == "" {
		return withHint(errors.New("git does not know your address, which names you as a signer"), "git config --global user.email you@example.org")
	}
	return nil
}

// usual picks among several keys: a file before one that an agent happens to hold,
// and ssh-keygen's own name before others.
func usual(keys []signing.Key) signing.Key {
	best, rank := keys[0], 0
	for _, k := range keys {
		r := 0
		if k.Origin == signing.FromFile {
			r = 1
		}
		if filepath.Base(k.File) == "id_ed25519.pub" || filepath.Base(k.File) == "id_ed25519" {
			r = 2
		}
		if r > rank {
			best, rank = k, r
		}
	}
	return best
}

// principal is an address as allowed_signers takes it, "" if it does not.
func principal(email string) string {
	if !regexp.MustCompile(`^[A-Za-z0-9._@+-]{1,64}$`).MatchString(email) {
		return ""
	}
	return email
}

// write creates the files, or keeps them.
func (g *githubFiles) write() error {
	policy, says, err := g.policy()
	if err != nil {
		return err
	}
	signers := ""
	if g.key.Public != nil {
		signers = g.key.Line(g.who) + "\n"
	}
	g.branch = g.defaultBranch()
	files := []struct{ path, text, says string }{
		{approval.PolicyPath, policy, says},
		{approval.SignersPath, signers, g.keyText()},
		{approval.RootFolder + "/.gitattributes", attributes, "git leaves signed bytes alone"},
		{workflowPath, workflow(g.branch), `job "gatesworn", actions pinned by commit`},
	}
	for _, f := range files {
		path := filepath.Join(g.work.Top, filepath.FromSlash(f.path))
		if _, err := os.Lstat(path); err == nil {
			fmt.Fprintf(g.app.out, "kept %s\n", f.path)
			continue
		}
		if err := g.folder(filepath.Dir(f.path)); err != nil {
			return err
		}
		if err := safefile.CreateBeneath(g.work.Top, f.path, []byte(f.text), 0o644); err != nil {
			return fmt.Errorf("cannot write %s: %w", f.path, err)
		}
		g.wrote[f.path] = true
		fmt.Fprintf(g.app.out, "wrote %s: %s\n", f.path, escape.LogLine(f.says))
	}
	return nil
}

// folder makes the folders of a path beneath the top; CreateBeneath refuses links in it.
func (g *githubFiles) folder(rel string) error {
	at := g.work.Top
	for part := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
		at = filepath.Join(at, part)
		if err := os.Mkdir(at, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if info, err := os.Lstat(at); err != nil || !info.IsDir() {
			return fmt.Errorf("%s is no folder", at)
		}
	}
	return nil
}

// policy drafts policy.yml: three keys, and the ledgers where they are not GATES.md.
func (g *githubFiles) policy() (policy, says string, err error) {
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		return "", "", err
	}
	text := fmt.Sprintf("version: 1\nproject: %s\nrepository: %s\n", hex.EncodeToString(id[:]), g.repository())
	ledgers := []string{ledgerName}
	targets, err := g.work.Discover(scope.Options{})
	if err == nil {
		var found []string
		for _, l := range targets.Ledgers {
			if !strings.HasPrefix(l.Path, ".unlazy/") {
				found = append(found, l.Path)
			}
		}
		if len(found) > 0 && (len(found) > 1 || found[0] != ledgerName) {
			ledgers = found
			text += "ledgers: [" + quoteAll(found) + "]\n"
		}
	}
	if _, err := approval.ParsePolicy(approval.PolicyPath, []byte(text)); err != nil {
		return "", "", err
	}
	return text, "ledgers: [" + strings.Join(ledgers, ", ") + "]", nil
}

func quoteAll(paths []string) string {
	var q []string
	for _, p := range paths {
		q = append(q, `"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(p)+`"`)
	}
	return strings.Join(q, ", ")
}

var repositoryForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+$`)

// repository is owner/name of the remote; a folder without a remote gets a stand-in.
func (g *githubFiles) repository() string {
	if _, name, ok := strings.Cut(g.place("").Remote, "/"); ok && repositoryForm.MatchString(name) {
		return name
	}
	base := regexp.MustCompile(`[^A-Za-z0-9._-]+`).ReplaceAllString(filepath.Base(g.work.Top), "-")
	return "owner/" + strings.Trim(base, ".-")
}

func (g *githubFiles) keyText() string {
	if g.key.Public == nil {
		return ""
	}
	text := g.who + " " + ssh.FingerprintSHA256(g.key.Public)
	if g.key.File != "" {
		text += " (" + g.key.File + ")"
	}
	return text
}

// defaultBranch is the remote's, else the one that is checked out, else main.
func (g *githubFiles) defaultBranch() string {
	if g.work.Git == nil {
		return "main"
	}
	name := ""
	if ref, err := g.work.Git.Default(); err == nil {
		_, name, _ = strings.Cut(strings.TrimPrefix(ref.Name, "refs/remotes/"), "/")
	} else if head, err := g.work.Git.Head(); err == nil {
		name = strings.TrimPrefix(head.Name, "refs/heads/")
	}
	if !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]*$`).MatchString(name) {
		return "main"
	}
	return name
}

// workflow fills in the template.
func workflow(branch string) string {
	commit := ownCommit()
	said := "gatesworn " + version()
	if commit == "" {
		commit, said = strings.Repeat("0", 40), "put the commit of a gatesworn release here"
	}
	return strings.NewReplacer("{{branch}}", branch, "{{commit}}", commit, "{{version}}", said).Replace(workflowTemplate)
}

// ownCommit is the commit this program was built from, "" if it does not know.
func ownCommit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}

// pin pins a root that was written here: whoever ran init chose its signers.
func (g *githubFiles) pin(ctx context.Context) error {
	if !g.wrote[approval.PolicyPath] || !g.wrote[approval.SignersPath] {
		return nil
	}
	tree, err := approval.NewWorkTree(g.work.Top, []string{approval.PolicyPath, approval.SignersPath})
	if err != nil {
		return err
	}
	root := approval.ReadTrustRoot("here", "", tree, allowlist.Formats{})
	if root.State != approval.RootValid {
		return fmt.Errorf("the files that were written are not valid: %w", root.Err)
	}
	pin, err := approval.NewWrittenPin(g.place(root.Policy.Project), root, g.app.now())
	if err != nil {
		return err
	}
	folder, err := g.app.pinFolder()
	if err == nil {
		err = approval.SavePin(ctx, folder, pin)
	}
	if err != nil {
		g.app.warn("the signers are not pinned on this machine (gatesworn trust does that later): %v", err)
	}
	return nil
}

// next prints what a person has to do by hand.
func (g *githubFiles) next() {
	w := g.app.out
	if strings.HasPrefix(g.repository(), "owner/") && g.wrote[approval.PolicyPath] {
		fmt.Fprintf(w, "note: there is no remote on GitHub yet; put its name into repository: of %s, then gatesworn trust\n", approval.PolicyPath)
	}
	if g.wrote[workflowPath] && ownCommit() == "" {
		fmt.Fprintf(w, "note: this build does not know its commit; put a release's into %s\n", workflowPath)
	}
	owner, _, _ := strings.Cut(g.repository(), "/")
	fmt.Fprintf(w, "add to .github/CODEOWNERS, so that changes of the rules need a review:\n  /.github/ @%s\n  /.gatesworn/ @%s\n  /%s @%s\n", owner, owner, ledgerName, owner)
	commands := "git add " + ledgerName + " .gatesworn .github && git commit -m gates && gatesworn sign --commit"
	if g.work.Git == nil {
		commands = "git init && " + commands
	}
	fmt.Fprintf(w, "next: add your set-up steps to the workflow, then %s\n", commands)
}
