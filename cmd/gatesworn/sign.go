package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/crypto/ssh"

	"github.com/gatesworn/gatesworn/action/judge"
	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/approval/allowlist"
	"github.com/gatesworn/gatesworn/approval/signing"
	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/internal/escape"
	"github.com/gatesworn/gatesworn/internal/safefile"
)

// signFlags are the options of sign.
type signFlags struct {
	signer, key, trustRef, root text
	yes, commit                 toggle
}

func newSign(a *app) *cobra.Command {
	f := signFlags{signer: text{kind: "NAME"}, key: text{kind: "FILE"}, trustRef: text{kind: "REF"}, root: text{kind: "DIR"}}
	cmd := &cobra.Command{
		Use:   "sign",
		Short: "Sign what is new, changed, removed or expiring",
		Long: `Shows every gate of HEAD that needs a signature, old and new side by side, asks
once, and signs with your SSH key: git's signing key, one of the agent's, or
~/.ssh/id_*.pub, whichever .gatesworn/allowed_signers lists. The commands may then
run for pull requests, and on this machine. Nothing is run now.

Exit status: 0 signed, or nothing to sign · 1 declined, or no terminal · 2 it cannot be done.`,
		Example: `  gatesworn sign             # look, answer, then commit .gatesworn yourself
  gatesworn sign --commit    # commits the approval, and only that`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.yes.on && !f.key.set {
				return &exitError{code: 2, err: errors.New("--yes needs an explicit --key FILE, so that nothing signs with a loaded agent by accident"), hint: "gatesworn sign"}
			}
			return a.sign(cmd.Context(), f)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	addToggle(fs, &f.commit, "commit", "commit what was written, and nothing else")
	fs.Var(&f.signer, "signer", "sign as NAME, when several of your keys are listed")
	fs.Var(&f.key, "key", "sign with this key file")
	addToggle(fs, &f.yes, "yes", "do not ask; only with --key FILE")
	fs.Var(&f.trustRef, "trust-ref", "the ref whose signers count (default origin/HEAD)")
	fs.Var(&f.root, "root", "the repository (default: this folder)")
	return cmd
}

// signer is one call of sign.
type signer struct {
	*session
	flags   signFlags
	person  person
	pull    *judge.PullRequest
	sources []gates.Source
	key     signing.Key
	signers allowlist.Signers
	first   bool // judged by HEAD's own root: first set-up
	now     time.Time
}

func (a *app) sign(ctx context.Context, f signFlags) (err error) {
	if err := a.noShell("sign"); err != nil {
		return err
	}
	s := &signer{session: &session{app: a, flags: checkFlags{root: f.root}}, flags: f, now: a.now()}
	defer s.close()
	if err := s.open(); err != nil {
		return err
	}
	if s.person, err = a.person(); err != nil {
		return err
	}
	if err := s.read(ctx); err != nil {
		return err
	}
	offer, err := s.pull.Offer(s.sources, "")
	if err != nil {
		return err
	}
	if len(offer.Items) == 0 {
		return s.nothing(offer)
	}
	if err := s.chooseKey(ctx); err != nil {
		return err
	}
	if offer, err = s.pull.Offer(s.sources, s.key.Signer.Principal); err != nil {
		return err
	}
	items := offer.Items
	s.show(offer)
	if items, err = s.consent(items); err != nil {
		return err
	}
	return s.write(ctx, items)
}

// noShell refuses variables that would make an approval depend on the machine.
func (a *app) noShell(command string) error {
	for _, name := range []string{"GATESWORN_SHELL", "UNLAZY_SHELL"} {
		if a.getenv(name) != "" {
			return withHint(fmt.Errorf("%s cannot be used with %s: the repository's policy names the shell", name, command), "unset "+name)
		}
	}
	return nil
}

// read finds the signers that count and what HEAD holds.
func (s *signer) read(ctx context.Context) error {
	if s.work.Git == nil {
		return withHint(fmt.Errorf("%s is no git repository, and signatures are for a commit", s.work.Top), "git init")
	}
	if _, err := s.work.Git.Head(); err != nil {
		return withHint(errors.New("there is no commit yet, and signatures are for a commit"), "git add GATES.md .gatesworn && git commit")
	}
	trust, first, err := s.work.SigningTrust(ctx, s.flags.trustRef.value)
	if err != nil {
		return withHint(err, "gatesworn sign --trust-ref BRANCH")
	}
	s.first = first
	if s.pull, err = s.work.JudgeHead(ctx, trust, s.now, true, nil); err != nil {
		return err
	}
	if s.pull.Root.State != approval.RootValid {
		if s.work.HasPolicy {
			return withHint(errors.New(".gatesworn/ is not committed, and signatures are for a commit"), "git add .gatesworn && git commit")
		}
		return withHint(fmt.Errorf("%s has no .gatesworn/ with a policy and a signer", trust.Ref), "gatesworn init --github")
	}
	if s.signers, err = allowlist.ParseSigners(approval.SignersPath, s.pull.Root.Signers); err != nil {
		return err
	}
	if s.sources, err = s.pull.Sources(nil); err != nil {
		return err
	}
	if s.job.Sources = s.sources; s.findings() {
		return status(2)
	}
	return s.dirty(ctx)
}

// dirty refuses when what is on disk is not what would be signed.
func (s *signer) dirty(ctx context.Context) error {
	if err := s.pull.CleanDefinitions(ctx, s.sources); err != nil {
		return withHint(err, "git commit, then gatesworn sign")
	}
	loose, err := s.pull.Uncommitted()
	if err != nil {
		return err
	}
	if len(loose) > 0 {
		return withHint(fmt.Errorf("%s is not committed, so nobody sees that it is signed", loose[0]), "git add .gatesworn && git commit")
	}
	if len(s.sources) == 0 && len(s.pull.Guard.Lost()) == 0 {
		return withHint(fmt.Errorf("the commit has no ledger that %s names", approval.PolicyPath), "git add GATES.md && git commit")
	}
	return nil
}

// nothing says that all is signed, or what no signature can help.
func (s *signer) nothing(o judge.Offer) error {
	w := s.app.out
	fmt.Fprintf(w, "nothing to sign: %d of %s signed\n", o.Signed, are(o.Gates))
	for _, h := range o.Hindered {
		fmt.Fprintf(w, "  %s: %s   next: %s\n", h.Name, escape.LogLine(h.Text), escape.LogLine(h.Next))
	}
	return nil
}

func are(n int) string {
	if n == 1 {
		return "1 gate is"
	}
	return fmt.Sprintf("%d gates are", n)
}

// chooseKey finds this person's listed key, or says what to ask of whom.
func (s *signer) chooseKey(ctx context.Context) error {
	p := signing.Places{
		Git: expandHome(s.person.get("user.signingkey"), s.app.home()), GitFormat: s.person.get("gpg.format"),
		Agent: s.app.getenv("SSH_AUTH_SOCK"), Home: s.app.home(), Principal: s.flags.signer.value, Now: s.now,
	}
	if s.flags.key.set {
		p.Flag = s.flags.key.value
		if !filepath.IsAbs(p.Flag) {
			p.Flag = filepath.Join(s.root, expandHome(p.Flag, s.app.home()))
		}
		p.Agent = ""
	}
	keys, err := signing.Find(ctx, p, s.signers)
	if err != nil {
		return withHint(err, "gatesworn sign --key ~/.ssh/id_ed25519")
	}
	s.key, err = signing.Choose(keys, p)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, signing.ErrNotListed):
		return s.notListed(err, keys)
	case errors.Is(err, signing.ErrGPG):
		return withHint(err, "gatesworn sign --key ~/.ssh/id_ed25519, or make one: ssh-keygen -t ed25519")
	case errors.Is(err, signing.ErrNoKey):
		return withHint(err, "ssh-keygen -t ed25519, then gatesworn sign")
	case errors.Is(err, signing.ErrAmbiguous):
		return withHint(err, "gatesworn sign --signer NAME")
	}
	return err
}

// notListed prints the line that a listed signer must add.
func (s *signer) notListed(err error, keys []signing.Key) error {
	for _, k := range keys {
		if k.Listed() { // listed, but for somebody else, or not valid now
			return fmt.Errorf("%w (%s, %s)", err, k.Signer.Principal, strings.TrimSpace("valid"+validity(k.Signer)))
		}
	}
	who := s.flags.signer.value
	if who == "" {
		who = plainName(s.person.get("user.email"))
	}
	if who == "" {
		who = "you@example.org"
	}
	s.app.complain(err)
	where := s.pull.Root.Ref
	fmt.Fprintf(s.app.err, "gatesworn: hint: ask %s to add this line to %s on %s:\n%s\n",
		strings.Join(s.pull.Root.Principals, " or "), approval.SignersPath, where, escape.LogLine(keys[0].Line(who)))
	return status(2)
}

// consent asks the one question.
func (s *signer) consent(items []judge.Item) ([]judge.Item, error) {
	if s.flags.yes.on {
		return items, nil
	}
	if !terminal(s.app.in) {
		return nil, noTerminal("gatesworn sign")
	}
	q := s.app.question()
	answer, err := q.ask(fmt.Sprintf("\nSign %s as %s with %s? [y/N/choose]", summary(items), s.key.Signer.Principal, ssh.FingerprintSHA256(s.key.Public)))
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix("choose", answer) && answer != "" {
		var chosen []judge.Item
		for _, i := range items {
			if answer, err = q.ask(fmt.Sprintf("%s %s: sign? [y/N]", i.Kind, i.Name)); err != nil {
				return nil, err
			}
			if yes(answer) {
				chosen = append(chosen, i)
			}
		}
		items, answer = chosen, "y"
	}
	if !yes(answer) || len(items) == 0 {
		return nil, &exitError{code: 1, err: errDeclined}
	}
	return items, nil
}

// write signs, writes statement and signatures, and records the local approvals.
func (s *signer) write(ctx context.Context, items []judge.Item) error {
	files := map[string][]byte{}
	var order []string
	add := func(path string, data []byte) {
		files[path] = data
		order = append(order, path)
	}
	statement, ok, err := s.pull.Statement(items)
	if err != nil {
		return err
	}
	if ok {
		data, err := allowlist.Marshal(statement)
		if err != nil {
			return err
		}
		path := allowlist.StatementPath(statement.IssuedAt, approval.Digest(data))
		if err := s.signed(ctx, path, data, add); err != nil {
			return err
		}
		order = append([]string{path}, order...)
		files[path] = data
	}
	for _, i := range items {
		if i.Kind == judge.OfferSecond {
			if err := s.signed(ctx, i.Statement.Path, i.Data, add); err != nil {
				return err
			}
		}
	}
	if err := s.save(order, files); err != nil {
		return err
	}
	s.recordHere(ctx, items)
	return s.done(ctx, items, order, files)
}

// signed has one statement's bytes signed.
func (s *signer) signed(ctx context.Context, path string, data []byte, add func(string, []byte)) error {
	r, err := signing.Sign(ctx, s.app.program(s.person), s.key, data, s.signers, s.now)
	if err != nil {
		return withHint(err, "gatesworn sign --key FILE")
	}
	add(allowlist.SignaturePath(path, s.key.Public), r.Armored)
	return nil
}

// save writes new files beneath .gatesworn/approvals, through no link.
func (s *signer) save(order []string, files map[string][]byte) error {
	folder := filepath.Join(s.work.Top, filepath.FromSlash(strings.TrimSuffix(approval.ApprovalsPath, "/")))
	if err := os.Mkdir(folder, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	for _, path := range order {
		if err := safefile.CreateBeneath(s.work.Top, path, files[path], 0o644); err != nil {
			return fmt.Errorf("cannot write the approval: %w", err)
		}
	}
	return nil
}

// done commits if that was asked for and says what comes next.
func (s *signer) done(ctx context.Context, items []judge.Item, order []string, files map[string][]byte) error {
	what := "wrote " + order[0]
	if len(order) > 1 {
		what += " and its .sig"
	}
	message := message(items)
	if !s.flags.commit.on {
		quoted, _ := escape.ShellQuote(message)
		fmt.Fprintf(s.app.out, "%s; nothing was run\nnext: git add .gatesworn && git commit -m %s && git push     (--commit does the first two)\n", what, quoted)
		return nil
	}
	name, email := plainName(s.person.get("user.name")), plainName(s.person.get("user.email"))
	if email == "" {
		name, email = s.key.Signer.Principal, s.key.Signer.Principal
	}
	made, err := signing.Commit{
		Repo: s.work.Git, Files: files, Message: message, Name: name, Email: email,
		Sign: strings.EqualFold(s.person.get("commit.gpgsign"), "true"), Now: s.now,
	}.Make(ctx, s.app.program(s.person))
	if err != nil {
		fmt.Fprintf(s.app.out, "%s; nothing was run\n", what)
		return withHint(err, "git add .gatesworn && git commit")
	}
	next := "git push"
	if s.first {
		next = "gatesworn check --as-pr --trust-ref HEAD"
	}
	fmt.Fprintf(s.app.out, "%s; committed as %s; nothing was run\nnext: %s\n", what, cut(made), next)
	return nil
}
