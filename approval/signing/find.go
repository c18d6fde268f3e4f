package signing

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/gatesworn/gatesworn/approval/allowlist"
)

// MaxKeyFile is the largest public key file read, in bytes.
const MaxKeyFile = 64 << 10

// What can stand in the way of a key.
var (
	ErrNotListed = errors.New("not a listed signer")
	ErrNoKey     = errors.New("no SSH key to sign with")
	ErrGPG       = errors.New("git signs with GPG here; gatesworn needs an SSH key")
	ErrAmbiguous = errors.New("several keys are listed")
)

// Origin says where a key was found, in the order in which they are preferred.
type Origin int

// Origins. The zero value is none.
const (
	NoOrigin Origin = iota
	FromFlag        // --key FILE
	FromGit         // git's user.signingkey
	FromAgent
	FromFile // ~/.ssh/id_*.pub
)

// Key is a key that may sign.
type Key struct {
	Public ssh.PublicKey
	Origin Origin
	// File is what -f is given: a private key file, or a public one whose private
	// half the agent or a security key holds. "" for a key known by its bytes only.
	File string
	// Signer is the key's line in allowed_signers; its zero value if it is not listed.
	Signer allowlist.Signer
}

// Listed reports whether allowed_signers has the key.
func (k Key) Listed() bool { return k.Public != nil && k.Signer.Principal != "" }

// Line is the line a listed signer must add for this key and principal.
func (k Key) Line(principal string) string {
	return fmt.Sprintf(`%s namespaces="%s" %s`, principal, allowlist.Namespace,
		strings.TrimSpace(string(ssh.MarshalAuthorizedKey(k.Public))))
}

// Places is where keys are looked for. All are values; nothing is read from the environment.
type Places struct {
	Flag string // --key FILE: only this key is looked at
	// Git is the user's own user.signingkey: a file, or a key as "key::ssh-ed25519 …"
	// or "ssh-ed25519 …". GitFormat is gpg.format; anything but "ssh" means GPG.
	Git, GitFormat string
	Agent          string // SSH_AUTH_SOCK, "" without an agent
	Home           string // absolute; "" looks at no files
	Principal      string // --signer NAME: keys of others do not count, "" for any
	Now            time.Time
}

// Find returns the keys of those places, listed or not, the preferred first and
// each once. Unreadable files are left out, except for Flag.
func Find(ctx context.Context, p Places, signers allowlist.Signers) ([]Key, error) {
	c := collector{signers: signers, seen: map[string]int{}}
	if p.Flag != "" {
		pub, file, err := readKey(p.Flag)
		if err != nil {
			return nil, err
		}
		c.add(Key{Public: pub, Origin: FromFlag, File: file})
		return c.keys, nil
	}
	if p.Git != "" && p.GitFormat == "ssh" {
		c.git(p)
	}
	inAgent := agentKeys(ctx, p.Agent)
	for _, k := range inAgent {
		c.add(Key{Public: k, Origin: FromAgent})
	}
	if p.Home != "" {
		files, _ := filepath.Glob(filepath.Join(escapeGlob(p.Home), ".ssh", "id_*.pub"))
		sort.Strings(files)
		for _, f := range files {
			if pub, file, err := readKey(f); err == nil {
				c.add(Key{Public: pub, Origin: FromFile, File: file})
			}
		}
	}
	return c.keys, nil
}

func escapeGlob(s string) string {
	return strings.NewReplacer(`*`, `[*]`, `?`, `[?]`, `[`, `[[]`).Replace(s)
}

type collector struct {
	signers allowlist.Signers
	seen    map[string]int
	keys    []Key
}

func (c *collector) add(k Key) {
	id := string(k.Public.Marshal())
	if i, ok := c.seen[id]; ok {
		if c.keys[i].File == "" {
			c.keys[i].File = k.File
		}
		return
	}
	k.Signer, _ = c.signers.ByKey(k.Public)
	c.seen[id] = len(c.keys)
	c.keys = append(c.keys, k)
}

// git reads user.signingkey as git does: literal keys by their prefix, else a file.
func (c *collector) git(p Places) {
	text, literal := strings.CutPrefix(p.Git, "key::")
	if literal || strings.HasPrefix(text, "ssh-") || strings.HasPrefix(text, "ecdsa-") || strings.HasPrefix(text, "sk-") {
		if pub, err := parseLine(text); err == nil {
			c.add(Key{Public: pub, Origin: FromGit})
		}
		return
	}
	if rest, ok := strings.CutPrefix(text, "~/"); ok && p.Home != "" {
		text = filepath.Join(p.Home, rest)
	}
	if !filepath.IsAbs(text) {
		return
	}
	if pub, file, err := readKey(text); err == nil {
		c.add(Key{Public: pub, Origin: FromGit, File: file})
	}
}

// readKey finds the public half of a key file: the file itself, or file.pub, or
// what a private key in OpenSSH's format says of itself. The returned name is the
// private file unless only the public one was named.
func readKey(name string) (ssh.PublicKey, string, error) {
	private, isPublic := strings.CutSuffix(name, ".pub")
	data, err := readFile(private + ".pub")
	if errors.Is(err, fs.ErrNotExist) && !isPublic {
		return publicOf(private)
	}
	if err != nil {
		return nil, "", fmt.Errorf("read key %q: %w", name, err)
	}
	pub, err := parseLine(string(data))
	if err != nil {
		return nil, "", fmt.Errorf("read key %q: %w", name, err)
	}
	return pub, name, nil
}

// publicOf reads the public half out of a private key file; the private half is
// not kept and stays encrypted if it is.
func publicOf(name string) (ssh.PublicKey, string, error) {
	data, err := readFile(name)
	if err != nil {
		return nil, "", fmt.Errorf("read key %q: %w", name, err)
	}
	var locked *ssh.PassphraseMissingError
	signer, err := ssh.ParsePrivateKey(data)
	switch {
	case err == nil:
		return signer.PublicKey(), name, nil
	case errors.As(err, &locked) && locked.PublicKey != nil:
		return locked.PublicKey, name, nil
	}
	return nil, "", fmt.Errorf("read key %q: there is no %q, and it is no private key", name, name+".pub")
}

// readFile reads a file of the user's own, which may well be a link.
func readFile(name string) ([]byte, error) {
	fi, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() || fi.Size() > MaxKeyFile {
		return nil, fmt.Errorf("no regular file of at most %d bytes", MaxKeyFile)
	}
	return os.ReadFile(name)
}

func parseLine(text string) (ssh.PublicKey, error) {
	fields := strings.Fields(text)
	if len(fields) < 2 {
		return nil, fmt.Errorf("no public key")
	}
	return allowlist.ParseKey(fields[0], fields[1])
}

// agentKeys asks the agent which keys it holds. An agent that does not answer holds none.
func agentKeys(ctx context.Context, socket string) []ssh.PublicKey {
	if socket == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	list, err := agent.NewClient(conn).List()
	if err != nil {
		return nil
	}
	var keys []ssh.PublicKey
	for _, k := range list {
		if pub, err := parseLine(k.String()); err == nil {
			keys = append(keys, pub)
		}
	}
	return keys
}

// Choose picks the key to sign with: the preferred one that is listed, valid at
// p.Now and, if p.Principal is set, that principal's. The errors are ErrNotListed
// (the keys found are in the message), ErrNoKey and ErrGPG; ErrAmbiguous if keys of
// several principals are left and none comes from --key or from git.
func Choose(keys []Key, p Places) (Key, error) {
	var listed []Key
	for _, k := range keys {
		if k.Listed() && (p.Principal == "" || k.Signer.Principal == p.Principal) && valid(k.Signer, p.Now) {
			listed = append(listed, k)
		}
	}
	switch {
	case len(listed) > 0 && (listed[0].Origin == FromFlag || listed[0].Origin == FromGit):
		return listed[0], nil
	case len(listed) > 0:
		for _, k := range listed[1:] {
			if k.Signer.Principal != listed[0].Signer.Principal {
				return Key{}, fmt.Errorf("%w: %s and %s; --signer NAME chooses", ErrAmbiguous, listed[0].Signer.Principal, k.Signer.Principal)
			}
		}
		return listed[0], nil
	case len(keys) > 0:
		var prints []string
		for _, k := range keys {
			prints = append(prints, "key "+ssh.FingerprintSHA256(k.Public))
		}
		return Key{}, fmt.Errorf("%w: %s", ErrNotListed, strings.Join(prints, ", "))
	case p.Git != "" && p.GitFormat != "ssh":
		return Key{}, ErrGPG
	}
	return Key{}, ErrNoKey
}

func valid(s allowlist.Signer, now time.Time) bool {
	return (s.ValidAfter.IsZero() || !now.Before(s.ValidAfter)) && (s.ValidBefore.IsZero() || now.Before(s.ValidBefore))
}
