package signing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/approval/allowlist"
	"github.com/gatesworn/gatesworn/internal/safefile"
)

// DefaultProgram is what signs when git's gpg.ssh.program is not set.
const DefaultProgram = "ssh-keygen"

// What can go wrong with signing itself.
var (
	ErrProgram  = errors.New("signing program failed")
	ErrRejected = errors.New("the signature does not count")
)

// Program is how the signing program is run.
type Program struct {
	// Name is the user's own gpg.ssh.program, "" for ssh-keygen. A name without a
	// slash is looked up in the absolute folders of PATH in Env.
	Name string
	Env  []string // the whole environment, NAME=value: PATH, HOME, SSH_AUTH_SOCK, SSH_ASKPASS, …
	// Stdin is the terminal for programs that ask there; ssh-keygen opens its own.
	Stdin io.Reader
	// Stderr gets what the program says ("Confirm user presence for key …"); nil drops it.
	Stderr io.Writer
	Temp   string // an existing folder for temporary files; "" is the system's
}

// Result is a signature that counts.
type Result struct {
	Armored   []byte // content of the signature file
	Signature approval.Signature
}

// Sign has statement signed with k and verifies the result as everybody else
// will. The program is called as git calls it for commits: -Y sign -n NAMESPACE
// -f KEY [-U] FILE, and leaves FILE.sig. Cancelling ctx ends it.
func Sign(ctx context.Context, p Program, k Key, statement []byte, signers allowlist.Signers, now time.Time) (Result, error) {
	if !k.Listed() {
		return Result{}, fmt.Errorf("%w: key %s", ErrNotListed, fingerprint(k))
	}
	dir, err := os.MkdirTemp(p.Temp, "gatesworn-sign-")
	if err != nil {
		return Result{}, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // holds nothing secret
	file := filepath.Join(dir, "statement")
	if err := os.WriteFile(file, statement, 0o600); err != nil {
		return Result{}, err
	}
	args := []string{"-Y", "sign", "-n", allowlist.Namespace, "-f", k.File}
	if k.File == "" {
		pub := filepath.Join(dir, "key.pub")
		if err := os.WriteFile(pub, ssh.MarshalAuthorizedKey(k.Public), 0o600); err != nil {
			return Result{}, err
		}
		args[len(args)-1] = pub
		args = append(args, "-U") // the private half is in the agent
	}
	if err := p.run(ctx, dir, append(args, file)); err != nil {
		return Result{}, err
	}
	sig, err := safefile.Read(file+".sig", allowlist.MaxSignature)
	if err != nil {
		return Result{}, fmt.Errorf("%w: it left no signature: %v", ErrProgram, err)
	}
	return check(sig.Data, k, statement, signers, now)
}

// check refuses a signature that would not count, or by a key that was not asked for.
func check(armored []byte, k Key, statement []byte, signers allowlist.Signers, now time.Time) (Result, error) {
	got, fault := allowlist.Verify(armored, statement, signers, now)
	if fault != allowlist.Counts {
		return Result{}, fmt.Errorf("%w: %s", ErrRejected, got.Fault)
	}
	if got.Key != fingerprint(k) {
		return Result{}, fmt.Errorf("%w: made with key %s instead of %s", ErrRejected, got.Key, fingerprint(k))
	}
	return Result{Armored: armored, Signature: got}, nil
}

func fingerprint(k Key) string {
	if k.Public == nil {
		return "(none)"
	}
	return ssh.FingerprintSHA256(k.Public)
}

func (p Program) run(ctx context.Context, dir string, args []string) error {
	name, err := p.path()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, p.Env, p.Stdin
	if cmd.Env == nil {
		cmd.Env = []string{} // nil would mean our own
	}
	cmd.WaitDelay = 2 * time.Second
	var said bytes.Buffer
	cmd.Stdout = io.Discard
	cmd.Stderr = &said
	if p.Stderr != nil {
		cmd.Stderr = io.MultiWriter(p.Stderr, &said)
	}
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%w: %s: %v: %.300s", ErrProgram, filepath.Base(name), err, strings.TrimSpace(said.String()))
	}
	return nil
}

// path finds the program without the current folder, in which a repository's
// author could have put one.
func (p Program) path() (string, error) {
	name := p.Name
	if name == "" {
		name = DefaultProgram
	}
	if strings.ContainsAny(name, `/\`) {
		if !filepath.IsAbs(name) {
			return "", fmt.Errorf("%w: %q is neither a name nor an absolute path", ErrProgram, name)
		}
		return name, nil
	}
	for _, e := range p.Env {
		value, ok := strings.CutPrefix(e, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(value) {
			if !filepath.IsAbs(dir) {
				continue
			}
			if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				return found, nil
			}
		}
	}
	return "", fmt.Errorf("%w: %s was not found", ErrProgram, name)
}
