package allowlist

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"math/big"
	mrand "math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

// Whatever counts here, `ssh-keygen -Y verify` accepts: every kind of key, both
// hashes, both ways of wrapping, with the options that allowed_signers may have.
func TestAcceptedByOpenSSH(t *testing.T) {
	t.Parallel()
	data := []byte("{\n  \"v\": 1\n}\n")
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			key := sharedSigner(t, kind)
			after := testNow.Add(-48 * time.Hour).Format("20060102Z")
			before := testNow.Add(48 * time.Hour).Format("20060102150405Z")
			allowed := "# signers\n\n" + line("bob@example.org", "", sharedSigner(t, "ecdsa256").PublicKey())
			if kind == "ecdsa256" {
				allowed = ""
			}
			allowed += line("a.l-i_c+e@x", `namespaces="`+Namespace+`",valid-after="`+after+`",valid-before="`+before+`"`, key.PublicKey())
			signers := mustSigners(t, allowed)
			for _, h := range []sshsig.HashAlgorithm{sshsig.HashSHA256, sshsig.HashSHA512} {
				sig := signAs(t, key, data, Namespace, h)
				raw, _ := unarmor(sig)
				parsed, _ := parseSignature(raw)
				for name, text := range map[string][]byte{"70": sig, "64": sshsig.Armor(parsed)} {
					got, f := Verify(text, data, signers, testNow)
					if f != Counts || got.Principal != "a.l-i_c+e@x" || got.Fault != "" || got.Key != ssh.FingerprintSHA256(key.PublicKey()) {
						t.Errorf("%s %s: %v %+v", h, name, f, got)
					}
					if got.Hardware != strings.HasPrefix(kind, "sk-") {
						t.Errorf("hardware: %+v", got)
					}
					if ok, out := openssh(t, allowed, "a.l-i_c+e@x", text, data); !ok {
						t.Errorf("%s %s: ssh-keygen refuses: %s", h, name, out)
					}
				}
			}
		})
	}
}

// What ssh-keygen itself makes counts.
func TestMadeByOpenSSH(t *testing.T) {
	t.Parallel()
	data := []byte("statement")
	_, ed, _ := ed25519.GenerateKey(rand.Reader)
	ec, _ := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	rs, _ := rsa.GenerateKey(rand.Reader, 2048)
	for _, key := range []any{&ed, ec, rs} {
		pub, err := ssh.NewSignerFromKey(deref(key))
		if err != nil {
			t.Fatal(err)
		}
		sig := keygenSign(t, key, data)
		if _, f := Verify(sig, data, mustSigners(t, line("a", "", pub.PublicKey())), testNow); f != Counts {
			t.Errorf("%T: %v", key, f)
		}
	}
}

func deref(key any) any {
	if p, ok := key.(*ed25519.PrivateKey); ok {
		return *p
	}
	return key
}

// reblob changes a signature's parts and wraps it again.
func reblob(t *testing.T, sig []byte, change func(s *sshsig.Signature)) []byte {
	t.Helper()
	raw, ok := unarmor(sig)
	if !ok {
		t.Fatal("no armor")
	}
	s, err := sshsig.ParseSignature(raw)
	if err != nil {
		t.Fatal(err)
	}
	change(s)
	return armored(s.Marshal())
}

// Refusals, each with the fault and with what ssh-keygen says: where that is true
// we refuse more than it does, and docs/approvals.md lists it.
func TestSignatureRefusals(t *testing.T) {
	t.Parallel()
	data := []byte("statement\n")
	ed, ec, rs := sharedSigner(t, "ed25519"), sharedSigner(t, "ecdsa256"), sharedSigner(t, "rsa2048")
	sk, skec := newHardware(t, "sk-ed25519"), newHardware(t, "sk-ecdsa")
	good := string(sign(t, ed, data))
	untouched := *sk
	untouched.flags = 0
	past, future := testNow.Add(-time.Hour).Format("20060102150405Z"), testNow.Add(time.Hour).Format("20060102150405Z")
	all := line("ed", "", ed.PublicKey()) + line("ec", "", ec.PublicKey()) + line("rs", "", rs.PublicKey()) +
		line("sk", "", sk.PublicKey()) + line("skec", "", skec.PublicKey())
	stranger := newSigner(t, "ed25519")
	body := strings.TrimSuffix(strings.TrimPrefix(good, armorBegin), armorEnd)
	wrap := func(b string) string { return armorBegin + b + armorEnd }
	weak, _ := rsa.GenerateKey(rand.Reader, 1024)
	short, err := ssh.NewSignerFromKey(weak)
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name    string
		sig     string
		signers string
		who     string
		want    Fault
		openssh bool
	}{
		{"text before", "x\n" + good, all, "ed", NotArmored, false},
		{"a blank line before", "\n" + good, all, "ed", NotArmored, false},
		{"text after", good + "x\n", all, "ed", NotArmored, true},
		{"a blank line after", good + "\n", all, "ed", NotArmored, true},
		{"two armors", good + good, all, "ed", NotArmored, true},
		{"no final newline", strings.TrimSuffix(good, "\n"), all, "ed", NotArmored, true},
		{"CRLF", strings.ReplaceAll(good, "\n", "\r\n"), all, "ed", NotArmored, false},
		{"a header", wrap("Comment: x\n\n" + body), all, "ed", NotArmored, false},
		{"a blank line inside", wrap(strings.Replace(body, "\n", "\n\n", 1)), all, "ed", NotArmored, true},
		{"a blank inside", wrap(body[:5] + " " + body[5:]), all, "ed", NotArmored, true},
		{"uneven lines", wrap(strings.Replace(body, "\n", "", 1)), all, "ed", NotArmored, true},
		{"empty", "", all, "ed", NotArmored, false},
		{"no body", armorBegin + armorEnd, all, "ed", NotArmored, false},
		{"PEM of another kind", strings.ReplaceAll(good, "SSH SIGNATURE", "PGP SIGNATURE"), all, "ed", NotArmored, false},
		{"too large", wrap(strings.Repeat(body, 200)), all, "ed", NotArmored, false},
		{"another namespace", string(signAs(t, ed, data, "file", sshsig.HashSHA512)), all, "ed", OtherUse, false},
		{"git's namespace", string(signAs(t, ed, data, "git", sshsig.HashSHA512)), all, "ed", OtherUse, false},
		{"a longer namespace", string(signAs(t, ed, data, Namespace+"s", sshsig.HashSHA512)), all, "ed", OtherUse, false},
		{"namespace renamed afterwards", string(reblob(t, signAs(t, ed, data, "file", sshsig.HashSHA512), func(s *sshsig.Signature) { s.Namespace = Namespace })), all, "ed", WrongBytes, false},
		{"another file", string(sign(t, ed, []byte("statement"))), all, "ed", WrongBytes, false},
		{"another key", string(sign(t, stranger, data)), all, "ed", UnknownKey, false},
		{"a key that is swapped in", string(reblob(t, sign(t, stranger, data), func(s *sshsig.Signature) { s.PublicKey = ed.PublicKey() })), all, "ed", WrongBytes, false},
		{"hash renamed", string(reblob(t, []byte(good), func(s *sshsig.Signature) { s.HashAlgorithm = sshsig.HashSHA256 })), all, "ed", WrongBytes, false},
		{"hash sha1", string(reblob(t, []byte(good), func(s *sshsig.Signature) { s.HashAlgorithm = "sha1" })), all, "ed", WeakAlgorithm, false},
		{"rsa with SHA-1", string(reblob(t, sign(t, rs, data), func(s *sshsig.Signature) { s.Signature.Format = ssh.KeyAlgoRSA })), all, "rs", WeakAlgorithm, false},
		{"short rsa", string(sign(t, short, data)), line("short", "", short.PublicKey()), "short", WeakAlgorithm, true},
		{"format of another kind", string(reblob(t, []byte(good), func(s *sshsig.Signature) { s.Signature.Format = ssh.KeyAlgoECDSA256 })), all, "ed", WeakAlgorithm, false},
		{"version 2", string(reblob(t, []byte(good), func(s *sshsig.Signature) { s.Version = 2 })), all, "ed", Malformed, false},
		{"bytes after the signature", string(reblob(t, []byte(good), func(s *sshsig.Signature) { s.Signature.Rest = []byte{1} })), all, "ed", Malformed, false},
		{"a long ed25519 signature", string(reblob(t, []byte(good), func(s *sshsig.Signature) { s.Signature.Blob = append(s.Signature.Blob, 0) })), all, "ed", Malformed, false},
		{"negative ecdsa numbers", string(reblob(t, sign(t, ec, data), negate)), all, "ec", Malformed, false},
		{"no touch", string(sign(t, &untouched, data)), all, "sk", NoTouch, true},
		{"touch claimed afterwards", string(reblob(t, sign(t, &untouched, data), func(s *sshsig.Signature) { s.Signature.Rest[0] = 1 })), all, "sk", WrongBytes, false},
		{"counter cut", string(reblob(t, sign(t, skec, data), func(s *sshsig.Signature) { s.Signature.Rest = s.Signature.Rest[:4] })), all, "skec", Malformed, false},
		{"expired", good, line("ed", `valid-before="`+past+`"`, ed.PublicKey()), "ed", KeyExpired, false},
		{"not yet valid", good, line("ed", `valid-after="`+future+`"`, ed.PublicKey()), "ed", KeyNotYet, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			signers := Signers{}
			if c.name != "short rsa" { // no list of ours can hold it
				signers = mustSigners(t, c.signers)
			}
			got, f := Verify([]byte(c.sig), data, signers, testNow)
			if f != c.want || got.Fault == "" || got.Hardware {
				t.Errorf("%v, want %v; %+v", f, c.want, got)
			}
			if ok, out := openssh(t, c.signers, c.who, []byte(c.sig), data); ok != c.openssh {
				t.Errorf("ssh-keygen accepts: %v\n%s", ok, out)
			}
		})
	}
}

func negate(s *sshsig.Signature) {
	var rs struct{ R, S *big.Int }
	if ssh.Unmarshal(s.Signature.Blob, &rs) != nil {
		return
	}
	rs.S.Neg(rs.S)
	s.Signature.Blob = ssh.Marshal(rs)
}

// Altered bytes are not accepted: any change of the armor or of what is signed.
func TestAlteredBytes(t *testing.T) {
	t.Parallel()
	rnd := mrand.New(mrand.NewPCG(3, 4))
	data := []byte(strings.Repeat("some statement ", 10))
	for _, kind := range kinds {
		key := sharedSigner(t, kind)
		allowed := line("a", "", key.PublicKey())
		signers := mustSigners(t, allowed)
		sig := sign(t, key, data)
		raw, _ := unarmor(sig)
		for range 150 {
			bad := bytes.Clone(raw)
			bad[rnd.IntN(len(bad))] ^= 1 << rnd.IntN(8)
			if _, f := Verify(armored(bad), data, signers, testNow); f == Counts {
				// Only a second valid spelling could be: then OpenSSH must accept it, too.
				if ok, out := openssh(t, allowed, "a", armored(bad), data); !ok {
					t.Fatalf("%s: accepted, ssh-keygen says %s", kind, out)
				}
			}
			text := bytes.Clone(sig)
			text[rnd.IntN(len(text))] ^= 1 << rnd.IntN(8)
			if _, f := Verify(text, data, signers, testNow); f == Counts {
				t.Fatalf("%s: altered armor accepted", kind)
			}
			other := bytes.Clone(data)
			other[rnd.IntN(len(other))] ^= 1 << rnd.IntN(8)
			if _, f := Verify(sig, other, signers, testNow); f != WrongBytes {
				t.Fatalf("%s: altered statement: %v", kind, f)
			}
		}
	}
}

func TestZeroValues(t *testing.T) {
	t.Parallel()
	var f Fault
	if f == Counts || f.String() != "unverified" || Fault(99).String() != "unverified" || f.says(Signer{}, "") == "" {
		t.Error("the zero Fault counts")
	}
	if got, f := Verify(nil, nil, Signers{}, time.Time{}); f == Counts || got.Fault == "" {
		t.Error(got, f)
	}
}
