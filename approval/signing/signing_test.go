package signing

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/gatesworn/gatesworn/approval/allowlist"
)

var now = time.Now().UTC().Truncate(time.Second)

// home is a person's ~/.ssh.
type home struct {
	t   *testing.T
	dir string
}

func newHome(t *testing.T) home {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	return home{t, dir}
}

func needKeygen(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		if os.Getenv("REQUIRE_TOOLS") == "1" {
			t.Fatal("ssh-keygen is missing")
		}
		t.Skip("ssh-keygen is missing")
	}
}

func generate(t *testing.T, kind string) (crypto.Signer, ssh.PublicKey) {
	t.Helper()
	var key crypto.Signer
	var err error
	if kind == "rsa" {
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	} else {
		_, key, err = ed25519.GenerateKey(rand.Reader)
	}
	if err != nil {
		t.Fatal(err)
	}
	pub, err := ssh.NewPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return key, pub
}

// key writes a key pair to ~/.ssh.
func (h home) key(name, kind, passphrase string) (crypto.Signer, ssh.PublicKey) {
	h.t.Helper()
	key, pub := generate(h.t, kind)
	var block *pem.Block
	var err error
	if passphrase == "" {
		block, err = ssh.MarshalPrivateKey(key, "")
	} else {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(key, "", []byte(passphrase))
	}
	if err != nil {
		h.t.Fatal(err)
	}
	h.write(name, pem.EncodeToMemory(block))
	h.write(name+".pub", ssh.MarshalAuthorizedKey(pub))
	return key, pub
}

func (h home) path(name string) string { return filepath.Join(h.dir, ".ssh", name) }

func (h home) write(name string, data []byte) {
	h.t.Helper()
	if err := os.WriteFile(h.path(name), data, 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func listed(t *testing.T, who ...any) allowlist.Signers {
	t.Helper()
	var b strings.Builder
	for i := 0; i < len(who); i += 2 {
		name, _ := who[i].(string)
		key, ok := who[i+1].(ssh.PublicKey)
		if !ok {
			t.Fatal("no key")
		}
		b.WriteString(Key{Public: key}.Line(name) + "\n")
	}
	s, err := allowlist.ParseSigners("allowed_signers", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func program() Program {
	return Program{Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"}}
}

func find(t *testing.T, p Places, s allowlist.Signers) (Key, error) {
	t.Helper()
	p.Now = now
	keys, err := Find(t.Context(), p, s)
	if err != nil {
		return Key{}, err
	}
	return Choose(keys, p)
}

func TestSignWithFiles(t *testing.T) {
	t.Parallel()
	needKeygen(t)
	data := []byte("a statement\n")
	for _, kind := range []string{"ed25519", "rsa"} {
		h := newHome(t)
		_, pub := h.key("id_"+kind, kind, "")
		signers := listed(t, "alice@example.org", pub)
		for name, p := range map[string]Places{
			"flag, private":   {Flag: h.path("id_" + kind)},
			"flag, public":    {Flag: h.path("id_" + kind + ".pub")},
			"git":             {Git: h.path("id_" + kind), GitFormat: "ssh"},
			"git, home":       {Git: "~/.ssh/id_" + kind + ".pub", GitFormat: "ssh", Home: h.dir},
			"git, a literal":  {Git: "key::" + string(ssh.MarshalAuthorizedKey(pub)), GitFormat: "ssh", Home: h.dir},
			"home":            {Home: h.dir},
			"home, by signer": {Home: h.dir, Principal: "alice@example.org"},
		} {
			k, err := find(t, p, signers)
			if err != nil || k.Signer.Principal != "alice@example.org" {
				t.Errorf("%s: %+v %v", name, k, err)
				continue
			}
			r, err := Sign(t.Context(), program(), k, data, signers, now)
			if err != nil || r.Signature.Principal != "alice@example.org" || r.Signature.Fault != "" {
				t.Errorf("%s: %+v %v", name, r, err)
			}
			if _, f := allowlist.Verify(r.Armored, data, signers, now); f != allowlist.Counts {
				t.Errorf("%s: %v", name, f)
			}
		}
	}
}

func TestKeyWithoutPublicFile(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for _, pass := range []string{"", "secret"} {
		_, pub := h.key("mine", "ed25519", pass)
		os.Remove(h.path("mine.pub"))
		k, err := find(t, Places{Flag: h.path("mine")}, listed(t, "a", pub))
		if err != nil || !bytes.Equal(k.Public.Marshal(), pub.Marshal()) {
			t.Error(k, err)
		}
	}
	h.write("odd", []byte("no key"))
	for _, name := range []string{"odd", "nope", "nope.pub"} {
		if _, err := find(t, Places{Flag: h.path(name)}, allowlist.Signers{}); err == nil {
			t.Error(name)
		}
	}
}

// serve runs an agent that holds a key.
func serve(t *testing.T, key crypto.Signer) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("agents listen on pipes there")
	}
	dir, err := os.MkdirTemp("", "agent") // t.TempDir can be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	ring := agent.NewKeyring()
	if err := ring.Add(agent.AddedKey{PrivateKey: key}); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); _ = agent.ServeAgent(ring, c) }()
		}
	}()
	return filepath.Join(dir, "s")
}

func TestSignWithAgent(t *testing.T) {
	t.Parallel()
	needKeygen(t)
	key, pub := generate(t, "ed25519")
	socket := serve(t, key)
	signers := listed(t, "alice", pub)
	p := program()
	p.Env = append(p.Env, "SSH_AUTH_SOCK="+socket)
	for name, places := range map[string]Places{
		"agent":       {Agent: socket},
		"git literal": {Git: strings.TrimSpace(string(ssh.MarshalAuthorizedKey(pub))), GitFormat: "ssh", Agent: socket},
	} {
		k, err := find(t, places, signers)
		if err != nil {
			t.Fatal(name, err)
		}
		if _, err := Sign(t.Context(), p, k, []byte("x"), signers, now); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The key is listed, but nobody holds it.
	k, err := find(t, Places{Agent: socket}, signers)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Sign(t.Context(), program(), k, []byte("x"), signers, now); !errors.Is(err, ErrProgram) {
		t.Error(err)
	}
	if k, err := find(t, Places{Agent: filepath.Join(t.TempDir(), "none")}, signers); !errors.Is(err, ErrNoKey) {
		t.Error(k, err)
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	_, a := h.key("id_a", "ed25519", "")
	_, b := h.key("id_b", "ed25519", "")
	_, c := h.key("id_c", "ed25519", "")
	h.write("id_broken.pub", []byte("x"))
	os.Symlink(h.path("id_a.pub"), h.path("id_link.pub"))
	for _, test := range []struct {
		name   string
		places Places
		list   allowlist.Signers
		want   string
		err    error
	}{
		{"one listed of three", Places{Home: h.dir}, listed(t, "bob", b), "bob", nil},
		{"none listed", Places{Home: h.dir}, listed(t, "x", newKey(t)), "", ErrNotListed},
		{"two people", Places{Home: h.dir}, listed(t, "ann", a, "bob", b), "", ErrAmbiguous},
		{"two people, one asked for", Places{Home: h.dir, Principal: "bob"}, listed(t, "ann", a, "bob", b), "bob", nil},
		{"two people, git decides", Places{Home: h.dir, Git: h.path("id_b"), GitFormat: "ssh"}, listed(t, "ann", a, "bob", b), "bob", nil},
		{"two keys of one", Places{Home: h.dir}, listed(t, "ann", a, "ann", c), "ann", nil},
		{"somebody else asked for", Places{Home: h.dir, Principal: "eve"}, listed(t, "ann", a), "", ErrNotListed},
		{"flag not listed", Places{Home: h.dir, Flag: h.path("id_b")}, listed(t, "ann", a), "", ErrNotListed},
		{"git not listed, a file is", Places{Home: h.dir, Git: h.path("id_b"), GitFormat: "ssh"}, listed(t, "ann", a), "ann", nil},
		{"GPG and no key", Places{Git: "0xABCD", GitFormat: "openpgp"}, listed(t, "ann", a), "", ErrGPG},
		{"GPG by default and no key", Places{Git: "0xABCD"}, listed(t, "ann", a), "", ErrGPG},
		{"GPG and a key", Places{Git: "0xABCD", Home: h.dir}, listed(t, "ann", a), "ann", nil},
		{"nothing", Places{}, listed(t, "ann", a), "", ErrNoKey},
		{"a relative file of git's", Places{Git: "id_a", GitFormat: "ssh"}, listed(t, "ann", a), "", ErrNoKey},
	} {
		k, err := find(t, test.places, test.list)
		if !errors.Is(err, test.err) || k.Signer.Principal != test.want {
			t.Errorf("%s: %q %v", test.name, k.Signer.Principal, err)
		}
		if err == nil && !k.Listed() {
			t.Errorf("%s: chosen and not listed", test.name)
		}
	}
	expired := `ann valid-before="20200101Z" ` + string(ssh.MarshalAuthorizedKey(a))
	s, err := allowlist.ParseSigners("as", []byte(expired))
	if err != nil {
		t.Fatal(err)
	}
	if k, err := find(t, Places{Home: h.dir}, s); !errors.Is(err, ErrNotListed) {
		t.Error(k, err)
	}
}

func newKey(t *testing.T) ssh.PublicKey { _, pub := generate(t, "ed25519"); return pub }

// script is a signing program that does what somebody else wants.
func script(t *testing.T, text string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("shell script")
	}
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestProgram(t *testing.T) {
	t.Parallel()
	needKeygen(t)
	h := newHome(t)
	_, pub := h.key("id_a", "ed25519", "")
	h.key("id_other", "ed25519", "")
	signers := listed(t, "ann", pub, "oth", otherPub(t, h))
	k, err := find(t, Places{Flag: h.path("id_a")}, signers)
	if err != nil {
		t.Fatal(err)
	}
	keygen, _ := exec.LookPath("ssh-keygen")
	log := filepath.Join(h.dir, "log")
	// eval makes the last argument, the file, available as $f.
	const f = "for f; do :; done\n"
	for _, test := range []struct {
		name, text string
		want       error
	}{
		{"passes it on", "echo \"$@\" > " + log + "\npwd >> " + log + "\nenv >> " + log + "\nexec " + keygen + ` "$@"`, nil},
		{"fails", "echo no key >&2; exit 3", ErrProgram},
		{"does nothing", "exit 0", ErrProgram},
		{"another key", f + keygen + " -Y sign -n gatesworn-approval -f " + h.path("id_other") + ` "$f"`, ErrRejected},
		{"another namespace", f + keygen + " -Y sign -n file -f " + h.path("id_a") + ` "$f"`, ErrRejected},
		{"another file", f + `echo x > "$f"; ` + keygen + " -Y sign -n gatesworn-approval -f " + h.path("id_a") + ` "$f"`, ErrRejected},
		{"text around", f + keygen + ` "$@" && echo hello >> "$f.sig"`, ErrRejected},
		{"a link", f + `echo x > "$f.x"; ln -s "$f.x" "$f.sig"`, ErrProgram},
		{"a huge file", f + `head -c 100000 /dev/zero > "$f.sig"`, ErrProgram},
	} {
		p := program()
		p.Name = script(t, test.text)
		var said bytes.Buffer
		p.Stderr = &said
		if _, err := Sign(t.Context(), p, k, []byte("data"), signers, now); !errors.Is(err, test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
		if test.name == "fails" && !strings.Contains(said.String(), "no key") {
			t.Error(said.String())
		}
	}
	seen, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"-Y sign -n gatesworn-approval -f " + h.path("id_a") + " ", "gatesworn-sign-", "HOME=/nonexistent"} {
		if !strings.Contains(string(seen), want) {
			t.Errorf("%s misses %q", seen, want)
		}
	}
	for name, p := range map[string]Program{
		"relative":  {Name: "./ssh-keygen"},
		"not there": {Name: "no-such-program", Env: program().Env},
		"no PATH":   {},
		"dot PATH":  {Env: []string{"PATH=.:"}},
	} {
		if _, err := Sign(t.Context(), p, k, nil, signers, now); !errors.Is(err, ErrProgram) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Sign(t.Context(), program(), Key{Public: newKey(t)}, nil, signers, now); !errors.Is(err, ErrNotListed) {
		t.Error(err)
	}
	if _, err := Sign(t.Context(), program(), Key{}, nil, signers, now); !errors.Is(err, ErrNotListed) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Sign(ctx, program(), k, nil, signers, now); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func otherPub(t *testing.T, h home) ssh.PublicKey {
	t.Helper()
	pub, _, err := readKey(h.path("id_other"))
	if err != nil {
		t.Fatal(err)
	}
	return pub
}
