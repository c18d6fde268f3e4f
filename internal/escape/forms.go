package escape

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// wraps are the line lengths of base64(1) and of PEM.
var wraps = [...]int{76, 64}

// forms lists how a secret may be printed. Not every form is longer than shortest.
func forms(secret string) []string {
	whole := []string{secret, strings.TrimRight(secret, "\r\n")}
	if decoded := validUTF8(secret); decoded != secret {
		whole = append(whole, decoded)
	}
	if strings.ContainsAny(secret, "\r\n") {
		whole = append(whole, strings.ReplaceAll(secret, "\r\n", "\n"))
		for _, line := range strings.FieldsFunc(secret, func(r rune) bool { return r == '\r' || r == '\n' }) {
			if line = strings.TrimSpace(line); len(line) >= shortest {
				whole = append(whole, line)
			}
		}
	}
	var all []string
	for _, s := range whole {
		if len(s) < shortest {
			continue
		}
		all = append(all, s, html.EscapeString(s), hex.EncodeToString([]byte(s)), strings.ToUpper(hex.EncodeToString([]byte(s))))
		all = append(all, base64Forms(s)...)
		all = append(all, urlForms(s)...)
		all = append(all, jsonForms(s)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// base64Forms covers the secret alone and inside other data: the first
// characters depend on what stands before, the last on what follows.
func base64Forms(s string) []string {
	var all []string
	for _, alphabet := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		alone := alphabet.EncodeToString([]byte(s))
		all = append(all, alone, strings.TrimRight(alone, "="))
		for _, width := range wraps {
			for rest := alone; len(rest) > width; rest = rest[width:] {
				all = append(all, rest[:width])
			}
		}
		for before := range 3 {
			inner := alphabet.EncodeToString([]byte("\x00\x00\x00"[:before] + s))
			from := (before*8 + 5) / 6 // first character without a foreign bit
			to := (before + len(s)) * 8 / 6
			all = append(all, inner[from:to])
		}
	}
	return all
}

// urlForms differ in what they leave as it is and in the case of the digits.
func urlForms(s string) []string {
	const unreserved = "-_.~"
	var all []string
	for _, keep := range []string{"", unreserved, unreserved + "!*'()", unreserved + "!*'();:@&=+$,/?#", unreserved + "/", unreserved + "$&+:=@"} {
		for _, format := range []string{"%%%02X", "%%%02x"} {
			encoded := percent(s, keep, format)
			all = append(all, encoded, strings.ReplaceAll(encoded, "%20", "+"))
		}
	}
	return all
}

func percent(s, keep, format string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; isAlnum(c) || strings.IndexByte(keep, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, format, c)
		}
	}
	return b.String()
}

// jsonForms: encoders differ about <, >, & and /, and about characters beyond ASCII.
func jsonForms(s string) []string {
	marshalled, err := json.Marshal(s)
	if err != nil {
		return nil // a string always can be
	}
	guarded := string(marshalled[1 : len(marshalled)-1])
	plain := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&", `\u2028`, "\u2028", `\u2029`, "\u2029").Replace(guarded)
	var all []string
	for _, form := range []string{guarded, plain} {
		for _, ascii := range []string{form, asciiJSON(form)} {
			all = append(all, ascii, strings.ReplaceAll(ascii, "/", `\/`))
		}
	}
	return all
}

func asciiJSON(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func sortLongestFirst(list []string) {
	slices.SortFunc(list, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
}
