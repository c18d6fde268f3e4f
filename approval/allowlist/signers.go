package allowlist

import (
	"bytes"
	"crypto/rsa"
	"encoding/base64"
	"fmt"
	"sort"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/crypto/ssh"

	"github.com/gatesworn/gatesworn/approval"

	"github.com/gatesworn/gatesworn/internal/lazyregexp"
)

// Namespace is what signatures are made for; one for anything else does not count.
const Namespace = "gatesworn-approval"

// Limits of the root files.
const (
	MaxSigners = 1000
	MinRSABits = 2048
	MaxRSABits = 16384 // OpenSSH's own
	maxLine    = 16 << 10
)

// Signer is one line of allowed_signers.
type Signer struct {
	Principal   string
	Key         ssh.PublicKey
	Fingerprint string    // SHA256:…, as ssh-keygen -l prints it
	ValidAfter  time.Time // zero: since ever
	ValidBefore time.Time // zero: for ever
	Line        int
}

// Hardware reports a key that lives in a security key (sk-*).
func (s Signer) Hardware() bool { return isHardware(s.Key) }

func isHardware(k ssh.PublicKey) bool {
	return k.Type() == ssh.KeyAlgoSKED25519 || k.Type() == ssh.KeyAlgoSKECDSA256
}

// Signers is a parsed allowed_signers file. The zero value lists nobody.
type Signers struct {
	list  []Signer
	byKey map[string]int // wire form of the key
}

// List returns the lines in the file's order. The caller must not change it.
func (s Signers) List() []Signer { return s.list }

// Principals returns the distinct principals, sorted.
func (s Signers) Principals() []string {
	var out []string
	seen := map[string]bool{}
	for _, one := range s.list {
		if !seen[one.Principal] {
			seen[one.Principal] = true
			out = append(out, one.Principal)
		}
	}
	sort.Strings(out)
	return out
}

// ByKey returns the line of a public key.
func (s Signers) ByKey(k ssh.PublicKey) (Signer, bool) {
	i, ok := s.byKey[string(k.Marshal())]
	if !ok {
		return Signer{}, false
	}
	return s.list[i], true
}

var principalForm = lazyregexp.New(`^[A-Za-z0-9._@+-]{1,64}$`)

// ParseSigners reads the strict subset of OpenSSH's format: one principal a line,
// taken literally, at most the options namespaces="gatesworn-approval",
// valid-after and valid-before, a key that no other line has, perhaps a comment.
// Every other line is an error that begins with path:line.
func ParseSigners(name string, data []byte) (Signers, error) {
	s := Signers{byKey: map[string]int{}}
	err := eachLine(name, data, func(n int, line string) error {
		one, err := parseSigner(line)
		if err != nil {
			return err
		}
		key := string(one.Key.Marshal())
		if at, ok := s.byKey[key]; ok {
			return fmt.Errorf("the key %s is on line %d already (%s)", one.Fingerprint, s.list[at].Line, s.list[at].Principal)
		}
		if len(s.list) >= MaxSigners {
			return fmt.Errorf("more than %d signers", MaxSigners)
		}
		one.Line = n
		s.byKey[key] = len(s.list)
		s.list = append(s.list, one)
		return nil
	})
	if err != nil {
		return Signers{}, err
	}
	return s, nil
}

// eachLine calls fn for every line that is neither blank nor a comment, and gives
// its error the position.
func eachLine(name string, data []byte, fn func(n int, line string) error) error {
	at := func(n int, format string, a ...any) error {
		return fmt.Errorf("%s:%d: %s", name, n, fmt.Sprintf(format, a...))
	}
	if len(data) > approval.MaxRootFile {
		return at(1, "more than %d bytes", approval.MaxRootFile)
	}
	n := 0
	for raw := range bytes.Lines(data) {
		n++
		line := strings.TrimSuffix(string(raw), "\n")
		switch {
		case len(line) > maxLine:
			return at(n, "more than %d bytes in a line", maxLine)
		case !utf8.ValidString(line) || strings.IndexFunc(line, hidden) >= 0:
			return at(n, "holds a control or invisible character (a carriage return?) or is not UTF-8")
		case line == "" || line[0] == '#':
			continue
		}
		if err := fn(n, line); err != nil {
			return at(n, "%s", err)
		}
	}
	return nil
}

func hidden(r rune) bool {
	return unicode.IsControl(r) && r != '\t' || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
}

func parseSigner(line string) (Signer, error) {
	fields := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
	if line[0] == ' ' || line[0] == '\t' || len(fields) < 3 {
		return Signer{}, fmt.Errorf("write: principal [options] key-type key")
	}
	s := Signer{Principal: fields[0]}
	if !principalForm.MatchString(s.Principal) {
		return Signer{}, fmt.Errorf("principal %.80q: one literal name of A-Z a-z 0-9 . _ @ + -, no pattern, list, negation or quotes", s.Principal)
	}
	rest := fields[1:]
	if !keyType(rest[0]) {
		if err := s.options(rest[0]); err != nil {
			return Signer{}, err
		}
		if rest = rest[1:]; !keyType(rest[0]) {
			return Signer{}, fmt.Errorf("key type %.80q is not accepted", rest[0])
		}
	}
	if len(rest) < 2 {
		return Signer{}, fmt.Errorf("the key is missing")
	}
	key, err := ParseKey(rest[0], rest[1])
	if err != nil {
		return Signer{}, err
	}
	s.Key, s.Fingerprint = key, ssh.FingerprintSHA256(key)
	return s, nil
}

func keyType(s string) bool {
	switch s {
	case ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoRSA,
		ssh.KeyAlgoSKED25519, ssh.KeyAlgoSKECDSA256:
		return true
	}
	return false
}

// ParseKey reads a public key of a kind that can sign approvals from its type and
// base64: ed25519, ecdsa, rsa of 2048 bits and more, and both sk-* kinds.
func ParseKey(kind, encoded string) (ssh.PublicKey, error) {
	if !keyType(kind) {
		return nil, fmt.Errorf("key type %.80q is not accepted", kind)
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil || base64.StdEncoding.EncodeToString(raw) != encoded {
		return nil, fmt.Errorf("the key is not base64")
	}
	key, err := ssh.ParsePublicKey(raw)
	if err != nil {
		return nil, fmt.Errorf("the key cannot be read: %v", err)
	}
	if key.Type() != kind || !bytes.Equal(key.Marshal(), raw) {
		return nil, fmt.Errorf("the key is not a well-formed %s key", kind)
	}
	return key, strong(key)
}

// strong refuses keys too weak to sign approvals.
func strong(key ssh.PublicKey) error {
	if key.Type() != ssh.KeyAlgoRSA {
		return nil
	}
	c, ok := key.(ssh.CryptoPublicKey)
	if !ok {
		return fmt.Errorf("the RSA key cannot be read")
	}
	k, ok := c.CryptoPublicKey().(*rsa.PublicKey)
	if !ok || k.N.BitLen() < MinRSABits || k.N.BitLen() > MaxRSABits {
		return fmt.Errorf("an RSA key must have %d to %d bits", MinRSABits, MaxRSABits)
	}
	return nil
}

// options reads name="value" pairs, separated by commas, each at most once.
func (s *Signer) options(text string) error {
	if strings.HasPrefix(text, "ssh-") || strings.HasPrefix(text, "sk-") || strings.HasPrefix(text, "ecdsa-") {
		return fmt.Errorf("key type %.80q is not accepted", text)
	}
	seen := map[string]bool{}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(pair, "=")
		if seen[name] {
			return fmt.Errorf("option %.80q is given twice", name)
		}
		seen[name] = true
		bare := strings.TrimSuffix(strings.TrimPrefix(value, `"`), `"`)
		if !ok || `"`+bare+`"` != value {
			return fmt.Errorf("option %.80q is not accepted; options are namespaces=\"%s\", valid-after and valid-before", pair, Namespace)
		}
		var err error
		switch name {
		case "namespaces":
			if bare != Namespace {
				err = fmt.Errorf("namespaces must be exactly %q", Namespace)
			}
		case "valid-after":
			s.ValidAfter, err = keyTime(bare)
		case "valid-before":
			s.ValidBefore, err = keyTime(bare)
		default:
			err = fmt.Errorf("option %.80q is not accepted", name)
		}
		if err != nil {
			return err
		}
	}
	if !s.ValidAfter.IsZero() && !s.ValidBefore.IsZero() && !s.ValidAfter.Before(s.ValidBefore) {
		return fmt.Errorf("valid-after is not before valid-before")
	}
	return nil
}

// keyTime reads YYYYMMDDZ, YYYYMMDDHHMMZ or YYYYMMDDHHMMSSZ. Without Z, OpenSSH
// takes the machine's time zone, which would make the answer differ by machine.
func keyTime(s string) (time.Time, error) {
	for _, layout := range []string{"20060102Z", "200601021504Z", "20060102150405Z"} {
		if t, err := time.Parse(layout, s); err == nil && t.Format(layout) == s && t.Unix() > 0 {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("time %.80q: write 20261231Z or 20261231235959Z, in UTC, with Z", s)
}

// ParseRevoked reads a revoked file: one full digest a line, "#" comments, blank
// lines. Every other line is an error that begins with path:line. The digests
// come sorted, once each.
func ParseRevoked(name string, data []byte) ([]string, error) {
	seen := map[string]bool{}
	var out []string
	err := eachLine(name, data, func(_ int, line string) error {
		if !digestForm.MatchString(line) {
			return fmt.Errorf("%.80q is no full digest (sha256: and 64 hex digits)", line)
		}
		if !seen[line] {
			seen[line] = true
			out = append(out, line)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	sort.Strings(out)
	return out, nil
}

// Formats gives approval the formats that are this package's. It is an approval.Formats.
type Formats struct{}

// Signers returns the principals of an allowed_signers file, sorted.
func (Formats) Signers(path string, data []byte) ([]string, error) {
	s, err := ParseSigners(path, data)
	return s.Principals(), err
}

// Revoked returns the digests of a revoked file, sorted.
func (Formats) Revoked(path string, data []byte) ([]string, error) { return ParseRevoked(path, data) }
