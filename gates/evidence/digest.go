package evidence

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/gatesworn/gatesworn/gates/ledger"
)

// DefinitionDigest is unlazy's digest of a runnable gate: lower-case hex, "" for a manual gate.
//
// A CWD that is present and empty differs from none, as there.
func DefinitionDigest(g ledger.Gate) string {
	if !g.Runnable() {
		return ""
	}
	b := []byte(`["unlazy.gate-definition",1,`)
	b = appendJSON(b, g.Check)
	b = append(b, ',')
	b = appendJSON(b, g.Expect)
	b = append(b, ',')
	if g.CWD != "" || g.Has(ledger.CWD) {
		b = appendJSON(b, g.CWD)
	} else {
		b = append(b, "null"...)
	}
	return hash(append(b, ']'))
}

// AttributesDigest covers NEEDS, INPUTS, TIMEOUT, ENV (10-fine-print), "" when none is present.
//
// It reads g.Attributes: the values as written, trimmed.
func AttributesDigest(g ledger.Gate) string {
	var covered []ledger.Attribute
	for _, a := range g.Attributes {
		switch a.Key {
		case ledger.Needs, ledger.Inputs, ledger.Timeout, ledger.Env:
			covered = append(covered, a)
		}
	}
	if len(covered) == 0 {
		return ""
	}
	slices.SortStableFunc(covered, func(a, b ledger.Attribute) int {
		return strings.Compare(string(a.Key), string(b.Key))
	})
	b := []byte(`["gatesworn.gate-attributes",1,[`)
	for i, a := range covered {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
		b = appendJSON(b, string(a.Key))
		b = append(b, ',')
		b = appendJSON(b, a.Value)
		b = append(b, ']')
	}
	return hash(append(b, "]]"...))
}

// OutputDigest is the SHA-256 of a canonical output, lower-case hex.
func OutputDigest(output string) string { return hash([]byte(output)) }

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// appendJSON appends s as JavaScript's JSON.stringify writes it (ECMA-262,
// QuoteJSONString): nothing but quotes, backslashes and U+0000 to U+001F is
// escaped; <, > and U+2028 stay as they are, other than with encoding/json.
// Bytes that are no UTF-8 become U+FFFD, as when JavaScript reads the file.
func appendJSON(b []byte, s string) []byte {
	const digits = "0123456789abcdef"
	b = append(b, '"')
	for _, c := range []byte(decode([]byte(s))) {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c >= ' ':
			b = append(b, c)
		case c == '\b':
			b = append(b, `\b`...)
		case c == '\f':
			b = append(b, `\f`...)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\t':
			b = append(b, `\t`...)
		default:
			b = append(b, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		}
	}
	return append(b, '"')
}
