package allowlist

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"

	"github.com/gatesworn/gatesworn/approval"
)

// MaxSignature is the largest signature file, in bytes; RSA of 16384 bits needs 6 KiB.
const MaxSignature = 16 << 10

// Fault says why a signature does not count. The zero value does not count
// either. Apart from it, the order is that of the checks.
type Fault int

// Faults of a signature.
const (
	Unverified    Fault = iota // nothing was checked
	NotArmored                 // not exactly one armored signature, or text around it
	Malformed                  // armored, but no well-formed SSH signature
	OtherUse                   // made for another namespace
	WeakAlgorithm              // SHA-1, a short RSA key, a certificate or an unknown kind of key
	UnknownKey                 // no signer has that key
	KeyNotYet                  // the signer's key is not valid yet
	KeyExpired                 // the signer's key is no longer valid
	NoTouch                    // a hardware key that nobody touched
	WrongBytes                 // does not sign these bytes
	Counts                     // no fault
)

// String is a stable short name.
func (f Fault) String() string {
	names := []string{
		"unverified", "not-armored", "malformed", "other-use", "weak-algorithm", "unknown-key",
		"key-not-yet", "key-expired", "no-touch", "wrong-bytes", "counts",
	}
	if f < 0 || int(f) >= len(names) {
		return names[0]
	}
	return names[f]
}

// says is the fault as a clause for people: "key expired on 2026-10-01"; "" for Counts.
func (f Fault) says(s Signer, key string) string {
	switch f {
	case Counts:
		return ""
	case NotArmored:
		return "it is not exactly one armored SSH signature"
	case Malformed:
		return "it is no well-formed SSH signature"
	case OtherUse:
		return fmt.Sprintf("it was made for another purpose than %s", Namespace)
	case WeakAlgorithm:
		return "its kind of key or hash is not accepted"
	case UnknownKey:
		return fmt.Sprintf("no listed signer has the key %s", key)
	case KeyNotYet:
		return "key not valid before " + s.ValidAfter.UTC().Format(time.DateOnly)
	case KeyExpired:
		return "key expired on " + s.ValidBefore.UTC().Format(time.DateOnly)
	case NoTouch:
		return "the hardware key was not touched"
	case WrongBytes:
		return "it does not sign this file's bytes"
	}
	return "it was not verified"
}

// Verify checks one signature file over a statement's bytes: exact armor, the
// namespace, the algorithms, then the key, which alone says who signed, its
// validity at now, and the signature itself. The first result says the same as the
// second, in approval's terms. Whatever Counts here, `ssh-keygen -Y verify` accepts.
func Verify(armored, statement []byte, signers Signers, now time.Time) (approval.Signature, Fault) {
	var out approval.Signature
	raw, ok := unarmor(armored)
	if !ok {
		return fault(out, Signer{}, NotArmored)
	}
	sig, f := parseSignature(raw)
	if f != Counts {
		return fault(out, Signer{}, f)
	}
	out.Key = ssh.FingerprintSHA256(sig.PublicKey)
	signer, ok := signers.ByKey(sig.PublicKey)
	if !ok {
		return fault(out, Signer{}, UnknownKey)
	}
	out.Principal = signer.Principal
	switch {
	case !signer.ValidAfter.IsZero() && now.Before(signer.ValidAfter):
		return fault(out, signer, KeyNotYet)
	case !signer.ValidBefore.IsZero() && !now.Before(signer.ValidBefore):
		return fault(out, signer, KeyExpired)
	}
	if signer.Hardware() && !touched(sig.Signature) {
		return fault(out, signer, NoTouch)
	}
	if err := sshsig.Verify(bytes.NewReader(statement), sig, signer.Key, sig.HashAlgorithm, Namespace); err != nil {
		return fault(out, signer, WrongBytes)
	}
	out.Hardware = signer.Hardware()
	return out, Counts
}

func fault(s approval.Signature, by Signer, f Fault) (approval.Signature, Fault) {
	s.Fault = f.says(by, s.Key)
	return s, f
}

const (
	armorBegin = "-----BEGIN SSH SIGNATURE-----\n"
	armorEnd   = "\n-----END SSH SIGNATURE-----\n"
	maxColumn  = 76
)

// unarmor accepts exactly what ssh-keygen writes: the two marker lines, between
// them strict base64 in lines of one width (70 there, 64 in PEM), nothing around.
func unarmor(data []byte) ([]byte, bool) {
	if len(data) > MaxSignature {
		return nil, false
	}
	body, ok := strings.CutPrefix(string(data), armorBegin)
	if !ok {
		return nil, false
	}
	if body, ok = strings.CutSuffix(body, armorEnd); !ok {
		return nil, false
	}
	lines := strings.Split(body, "\n")
	for i, l := range lines {
		last := i == len(lines)-1
		if l == "" || len(l) > maxColumn || !last && len(l) != len(lines[0]) || last && len(l) > len(lines[0]) {
			return nil, false
		}
	}
	text := strings.Join(lines, "")
	raw, err := base64.StdEncoding.Strict().DecodeString(text)
	// The decoder skips carriage returns: writing it again shows any.
	if err != nil || base64.StdEncoding.EncodeToString(raw) != text {
		return nil, false
	}
	return raw, true
}

// parseSignature checks everything that needs neither signers nor the statement.
func parseSignature(raw []byte) (*sshsig.Signature, Fault) {
	sig, err := sshsig.ParseSignature(raw)
	if err != nil {
		return nil, weakOrMalformed(raw)
	}
	switch {
	case !bytes.Equal(sig.Marshal(), raw): // text after it, reserved fields, other spellings
		return nil, Malformed
	case sig.Namespace != Namespace:
		return nil, OtherUse
	case !keyType(sig.PublicKey.Type()) || strong(sig.PublicKey) != nil || sig.HashAlgorithm.Available() != nil:
		return nil, WeakAlgorithm
	}
	want := sig.PublicKey.Type()
	format := sig.Signature.Format
	switch {
	case want == ssh.KeyAlgoRSA && format != ssh.KeyAlgoRSASHA256 && format != ssh.KeyAlgoRSASHA512,
		want != ssh.KeyAlgoRSA && format != want:
		return nil, WeakAlgorithm
	case !wellFormed(sig):
		return nil, Malformed
	}
	return sig, Counts
}

// weakOrMalformed looks at what sshsig would not parse: an ssh-rsa signature is
// SHA-1's, for which there is a better word.
func weakOrMalformed(raw []byte) Fault {
	var blob struct {
		Magic     [6]byte
		Version   uint32
		PublicKey string
		Namespace string
		Reserved  string
		Hash      string
		Signature string
	}
	var sig ssh.Signature
	if ssh.Unmarshal(raw, &blob) != nil || string(blob.Magic[:]) != "SSHSIG" || ssh.Unmarshal([]byte(blob.Signature), &sig) != nil {
		return Malformed
	}
	key, err := ssh.ParsePublicKey([]byte(blob.PublicKey))
	if err != nil {
		return WeakAlgorithm
	}
	if key.Type() == ssh.KeyAlgoRSA || blob.Hash != "sha256" && blob.Hash != "sha512" {
		return WeakAlgorithm
	}
	return Malformed
}

// wellFormed refuses spellings of a signature that OpenSSH refuses and
// x/crypto/ssh does not: bytes after it, numbers with needless zeros.
func wellFormed(sig *sshsig.Signature) bool {
	s := sig.Signature
	if isHardware(sig.PublicKey) {
		if len(s.Rest) != 5 { // flags and counter
			return false
		}
	} else if len(s.Rest) != 0 {
		return false
	}
	switch sig.PublicKey.Type() {
	case ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoSKECDSA256:
		var rs struct{ R, S *big.Int }
		return ssh.Unmarshal(s.Blob, &rs) == nil && rs.R.Sign() > 0 && rs.S.Sign() > 0 && bytes.Equal(ssh.Marshal(rs), s.Blob)
	case ssh.KeyAlgoED25519, ssh.KeyAlgoSKED25519:
		return len(s.Blob) == 64
	}
	return true
}

// touched reports the user-presence flag (PROTOCOL.u2f).
func touched(s *ssh.Signature) bool { return len(s.Rest) == 5 && s.Rest[0]&1 != 0 }
