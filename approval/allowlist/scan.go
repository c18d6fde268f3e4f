package allowlist

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
)

// sketch is what a statement's text says without parsing it: enough to know
// which statements a decision may need. A statement that is not canonical may be
// missed; it could not count anyway.
type sketch struct {
	digests  [][32]byte // of the oracles it approves or retires, and those it replaces
	gates    []string   // ledger and gate as canonical JSON strings, one after the other
	evidence bool
	root     bool
	issued   string // issuedAt, "" if its line is not found
}

// In the canonical form these texts stand only where they mean what they say,
// because no string holds a line break.
var (
	objectStart   = []byte("\n    {\n")
	objectEnd     = []byte("\n    }")
	oracleStart   = []byte("      \"v\": ")
	ledgerKey     = []byte("      \"ledger\": ")
	gateKey       = []byte("\n      \"gate\": ")
	evidenceStart = []byte("\n  \"evidence\": [\n")
	rootStart     = []byte("\n  \"root\": {")
	replacesStart = []byte("\n  \"replaces\": [\n")
	digestStart   = []byte("\n    \"sha256:")
	issuedStart   = []byte("\n  \"issuedAt\": \"")
)

// skim makes a sketch. scratch is reused from call to call.
func skim(data []byte, scratch *[]byte) sketch {
	s := sketch{evidence: bytes.Contains(data, evidenceStart), root: bytes.Contains(data, rootStart)}
	if _, after, ok := bytes.Cut(data, issuedStart); ok && len(after) > len(timeLayout) {
		s.issued = string(after[:len(timeLayout)])
	}
	rest := data
	for {
		start := bytes.Index(rest, objectStart)
		if start < 0 {
			break
		}
		rest = rest[start+len(objectStart)-1:] // at the line break after "{"
		end := bytes.Index(rest, objectEnd)
		if end < 0 {
			break
		}
		body := rest[1:end]
		rest = rest[end:]
		if gate, ok := gateOf(body); ok {
			s.gates = append(s.gates, gate)
		}
		if bytes.HasPrefix(body, oracleStart) {
			*scratch = append(compact(append((*scratch)[:0], '{'), body), '}')
			s.digests = append(s.digests, sha256.Sum256(*scratch))
		}
	}
	if i := bytes.Index(data, replacesStart); i >= 0 {
		s.replaced(data[i:])
	}
	return s
}

// gateOf finds the lines of ledger and gate, which follow each other.
func gateOf(body []byte) (string, bool) {
	i := bytes.Index(body, ledgerKey)
	if i < 0 {
		return "", false
	}
	body = body[i+len(ledgerKey):]
	eol := bytes.IndexByte(body, '\n')
	if eol < 1 || !bytes.HasPrefix(body[eol:], gateKey) {
		return "", false
	}
	ledger, gate := body[:eol], body[eol+len(gateKey):]
	if eol = bytes.IndexByte(gate, '\n'); eol < 1 {
		return "", false
	}
	return string(bytes.TrimSuffix(ledger, []byte(","))) + string(bytes.TrimSuffix(gate[:eol], []byte(","))), true
}

func gateName(ledger, gate string) string { return quoted(ledger) + quoted(gate) }

func (s *sketch) replaced(data []byte) {
	for {
		i := bytes.Index(data, digestStart)
		if i < 0 {
			return
		}
		data = data[i+len(digestStart):]
		var d [32]byte
		if len(data) < 64 {
			return
		}
		if _, err := hex.Decode(d[:], data[:64]); err == nil {
			s.digests = append(s.digests, d)
		}
	}
}

// compact appends indented canonical JSON without its blanks.
func compact(dst, src []byte) []byte {
	for i := 0; i < len(src); {
		switch c := src[i]; c {
		case '"':
			end := stringEnd(src, i)
			dst = append(dst, src[i:end]...)
			i = end
		case ' ', '\n':
			i++
		default:
			dst = append(dst, c)
			i++
		}
	}
	return dst
}

// stringEnd returns where the JSON string that starts at i ends.
func stringEnd(src []byte, i int) int {
	for i++; i < len(src); i++ {
		switch src[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(src)
}
