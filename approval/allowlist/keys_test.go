package allowlist

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/pem"
	"io"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

// testNow is near the real time, because ssh-keygen verifies at that.
var testNow = time.Now().UTC().Truncate(time.Second)

// newSigner makes a fresh key of a kind.
func newSigner(t testing.TB, kind string) ssh.Signer {
	t.Helper()
	var key crypto.Signer
	var err error
	switch kind {
	case "ed25519":
		_, key, err = ed25519.GenerateKey(rand.Reader)
	case "ecdsa256":
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "ecdsa384":
		key, err = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case "ecdsa521":
		key, err = ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	case "rsa2048", "rsa3072":
		bits := 2048
		if kind == "rsa3072" {
			bits = 3072
		}
		key, err = rsa.GenerateKey(rand.Reader, bits)
	case "sk-ed25519", "sk-ecdsa":
		return newHardware(t, kind)
	default:
		t.Fatal(kind)
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := ssh.NewSignerFromSigner(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var kinds = []string{"ed25519", "ecdsa256", "ecdsa384", "ecdsa521", "rsa2048", "rsa3072", "sk-ed25519", "sk-ecdsa"}

// hardware imitates a security key (PROTOCOL.u2f): it signs the hash of the
// application, flags, a counter and the hash of the message.
type hardware struct {
	pub   ssh.PublicKey
	ed    ed25519.PrivateKey
	ec    *ecdsa.PrivateKey
	flags byte
}

func newHardware(t testing.TB, kind string) *hardware {
	t.Helper()
	h := &hardware{flags: 1}
	var raw []byte
	var err error
	if kind == "sk-ed25519" {
		var pub ed25519.PublicKey
		pub, h.ed, err = ed25519.GenerateKey(rand.Reader)
		raw = ssh.Marshal(struct {
			Name string
			Key  []byte
			App  string
		}{ssh.KeyAlgoSKED25519, pub, "ssh:"})
	} else {
		h.ec, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		point, perr := h.ec.PublicKey.Bytes()
		err = perr
		raw = ssh.Marshal(struct {
			Name, Curve string
			Key         []byte
			App         string
		}{ssh.KeyAlgoSKECDSA256, "nistp256", point, "ssh:"})
	}
	if err != nil {
		t.Fatal(err)
	}
	if h.pub, err = ssh.ParsePublicKey(raw); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *hardware) PublicKey() ssh.PublicKey { return h.pub }

func (h *hardware) Sign(_ io.Reader, data []byte) (*ssh.Signature, error) {
	app, msg := sha256.Sum256([]byte("ssh:")), sha256.Sum256(data)
	rest := []byte{h.flags, 0, 0, 0, 7}
	signed := bytes.Join([][]byte{app[:], rest, msg[:]}, nil)
	sig := &ssh.Signature{Format: h.pub.Type(), Rest: rest}
	if h.ed != nil {
		sig.Blob = ed25519.Sign(h.ed, signed)
		return sig, nil
	}
	digest := sha256.Sum256(signed)
	r, s, err := ecdsa.Sign(rand.Reader, h.ec, digest[:])
	sig.Blob = ssh.Marshal(struct{ R, S *big.Int }{r, s})
	return sig, err
}

// sign makes the armored signature ssh-keygen would make.
func sign(t testing.TB, s ssh.Signer, data []byte) []byte {
	t.Helper()
	return signAs(t, s, data, Namespace, sshsig.HashSHA512)
}

func signAs(t testing.TB, s ssh.Signer, data []byte, namespace string, h sshsig.HashAlgorithm) []byte {
	t.Helper()
	sig, err := sshsig.Sign(bytes.NewReader(data), s, h, namespace)
	if err != nil {
		t.Fatal(err)
	}
	return armored(sig.Marshal())
}

// armored wraps as OpenSSH does, at 70 columns.
func armored(raw []byte) []byte {
	text := base64.StdEncoding.EncodeToString(raw)
	var b strings.Builder
	b.WriteString("-----BEGIN SSH SIGNATURE-----\n")
	for len(text) > 70 {
		b.WriteString(text[:70] + "\n")
		text = text[70:]
	}
	b.WriteString(text + "\n-----END SSH SIGNATURE-----\n")
	return []byte(b.String())
}

func line(principal, options string, k ssh.PublicKey) string {
	return strings.Join(strings.Fields(principal+" "+options+" "+string(ssh.MarshalAuthorizedKey(k))), " ") + "\n"
}

func mustSigners(t testing.TB, text string) Signers {
	t.Helper()
	s, err := ParseSigners("allowed_signers", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func needKeygen(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		if os.Getenv("REQUIRE_TOOLS") == "1" {
			t.Fatal("ssh-keygen is missing")
		}
		t.Skip("ssh-keygen is missing")
	}
}

// openssh asks ssh-keygen, exactly as docs/approvals.md tells an auditor to.
func openssh(t testing.TB, allowed, principal string, sig, data []byte) (bool, string) {
	t.Helper()
	needKeygen(t)
	dir := t.TempDir()
	for name, content := range map[string][]byte{"as": []byte(allowed), "sig": sig} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("ssh-keygen", "-Y", "verify", "-f", "as", "-I", principal, "-n", Namespace, "-s", "sig")
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(data)
	out, err := cmd.CombinedOutput()
	return err == nil, string(out)
}

// keygenSign signs with the real program.
func keygenSign(t testing.TB, key crypto.PrivateKey, data []byte) []byte {
	t.Helper()
	needKeygen(t)
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "key"), pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "x"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("ssh-keygen", "-Y", "sign", "-f", "key", "-n", Namespace, "x")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	sig, err := os.ReadFile(filepath.Join(dir, "x.sig"))
	if err != nil {
		t.Fatal(err)
	}
	return sig
}

// shared keys, because RSA keys take long to make.
var shared sync.Map

func sharedSigner(t testing.TB, kind string) ssh.Signer {
	t.Helper()
	once, _ := shared.LoadOrStore(kind, sync.OnceValue(func() ssh.Signer { return newSigner(t, kind) }))
	f, ok := once.(func() ssh.Signer)
	if !ok {
		t.Fatalf("%T", once)
	}
	return f()
}
