package escape

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRedact(t *testing.T) {
	t.Parallel()
	r, refused := NewRedactor([]string{"s3cr3t", "", "abc", "  x\n", "abcd", "cdef", "abcdefgh"})
	if !slices.Equal(refused, []int{2, 3}) {
		t.Errorf("refused %v", refused)
	}
	for in, want := range map[string]string{
		"":                     "",
		"nothing here":         "nothing here",
		"a s3cr3t b":           "a *** b",
		"s3cr3ts3cr3t":         "***",
		"s3cr3t s3cr3":         "*** s3cr3",
		"abcdef":               "***",
		"abcdefgh abcdefg":     "*** ***g",
		"xabcdabcdx":           "x***x",
		"czNjcjN0 czNjcjN0Cg=": "*** ***Cg=",
		"733363723374":         "***",
	} {
		if got := r.Redact(in); got != want {
			t.Errorf("Redact(%q) = %q, want %q", in, got, want)
		}
	}
	if got := (*Redactor)(nil).Redact("s3cr3t"); got != "s3cr3t" {
		t.Error(got)
	}
	none, refused := NewRedactor(nil)
	if got := none.Redact("s3cr3t"); got != "s3cr3t" || refused != nil {
		t.Error(got, refused)
	}
}

// encodings are how programs print a value; most are other implementations than ours.
var encodings = map[string]func(s string) string{
	"plain":              func(s string) string { return s },
	"base64":             func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"raw base64":         func(s string) string { return base64.RawStdEncoding.EncodeToString([]byte(s)) },
	"url base64":         func(s string) string { return base64.URLEncoding.EncodeToString([]byte(s)) },
	"raw url base64":     func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
	"hex":                func(s string) string { return hex.EncodeToString([]byte(s)) },
	"HEX":                func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
	"query":              url.QueryEscape,
	"path":               url.PathEscape,
	"query, lower":       func(s string) string { return lowerPercent(url.QueryEscape(s)) },
	"encodeURIComponent": func(s string) string { return percent(s, "-_.!~*'()", "%%%02X") },
	"html":               html.EscapeString,
	"json": func(s string) string {
		b, _ := json.Marshal(s)
		return string(b[1 : len(b)-1])
	},
	"json, plain": func(s string) string {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		_ = e.Encode(s)
		return strings.TrimSuffix(b.String(), "\n")[1 : b.Len()-2]
	},
}

func lowerPercent(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], bytes.ToLower(b[i+1:i+3]))
		}
	}
	return string(b)
}

// secret draws values as tokens, passwords and keys look.
func secret(t *rapid.T) string {
	return rapid.OneOf(
		rapid.StringMatching(`ghp_[A-Za-z0-9]{36}`),
		rapid.StringMatching(`[A-Za-z0-9+/<>&"'\\ =%é漢💻-]{4,60}`),
		rapid.StringMatching(`-----BEGIN KEY-----\n([A-Za-z0-9+/]{64}\n){2}-----END KEY-----\n`),
	).Filter(func(s string) bool { return len(strings.TrimSpace(s)) >= shortest }).Draw(t, "secret")
}

func TestRedactEveryForm(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := secret(rt)
		r, _ := NewRedactor([]string{"another secret", s})
		before, after := rapid.StringMatching(`[ -~]{0,9}`).Draw(rt, "before"), rapid.StringMatching(`[ -~]{0,9}`).Draw(rt, "after")
		for name, encode := range encodings {
			form := encode(s)
			got := r.Redact(before + form + after)
			if strings.Contains(got, form) || !strings.Contains(got, hidden) {
				rt.Fatalf("%s: %q left %q", name, before+form+after, got)
			}
		}
		for _, line := range strings.Fields(strings.ReplaceAll(s, "\n", " \n ")) {
			if strings.Contains(s, "\n") && len(line) >= shortest && line == strings.TrimSpace(line) && strings.Contains(s, "\n"+line+"\n") {
				if got := r.Redact("x " + line + " y"); strings.Contains(got, line) {
					rt.Fatalf("line %q is left in %q", line, got)
				}
			}
		}
	})
}

// Inside other data that is encoded as a whole, at most the characters that share
// bits with a neighbour stay: less than three bytes at either end.
func TestRedactInsideBase64(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.StringMatching(`[!-~]{8,40}`).Draw(rt, "secret")
		r, _ := NewRedactor([]string{s})
		before, after := rapid.StringMatching(`[ -~]{0,9}`).Draw(rt, "before"), rapid.StringMatching(`[ -~]{0,9}`).Draw(rt, "after")
		for _, alphabet := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			whole := alphabet.EncodeToString([]byte(before + s + after))
			got := r.Redact(whole)
			if !strings.Contains(got, hidden) || len(got) > len(whole)-len(s)*8/6+2+len(hidden) {
				rt.Fatalf("%q around %q left %q", whole, s, got)
			}
		}
	})
}

func TestRedactWrappedBase64(t *testing.T) {
	t.Parallel()
	key := strings.Repeat("0123456789abcdefghij", 20)
	r, _ := NewRedactor([]string{key})
	encoded := base64.StdEncoding.EncodeToString([]byte(key))
	for _, width := range wraps {
		var lines []string
		for rest := encoded; rest != ""; rest = rest[min(width, len(rest)):] {
			lines = append(lines, rest[:min(width, len(rest))])
		}
		got := r.Redact(strings.Join(lines, "\n"))
		if left := strings.ReplaceAll(strings.ReplaceAll(got, hidden, ""), "\n", ""); len(left) >= width {
			t.Errorf("width %d: %q", width, got)
		}
	}
}

// A naive reading of the promise: what overlaps or touches becomes one "***".
func naive(s string, all []string) string {
	covered := make([]bool, len(s))
	for _, form := range all {
		for i := 0; i+len(form) <= len(s); i++ {
			if s[i:i+len(form)] == form {
				for j := range len(form) {
					covered[i+j] = true
				}
			}
		}
	}
	var b strings.Builder
	for i := range len(s) {
		switch {
		case !covered[i]:
			b.WriteByte(s[i])
		case i == 0 || !covered[i-1]:
			b.WriteString(hidden)
		}
	}
	return b.String()
}

func redactionHolds(t fataler, s string, secrets []string, pieces []int) {
	r, _ := NewRedactor(secrets)
	var all []string
	for _, list := range r.forms {
		all = append(all, list...)
	}
	want := naive(s, all)
	if got := r.Redact(s); got != want {
		t.Fatalf("Redact(%q) of %q = %q, want %q", s, secrets, got, want)
	}
	var out strings.Builder
	w := r.Writer(&out)
	for i, n := 0, 0; i < len(s); n++ {
		size := 1
		if len(pieces) > 0 {
			size = 1 + max(pieces[n%len(pieces)], 0)
		}
		end := min(len(s), i+size)
		if k, err := w.Write([]byte(s[i:end])); err != nil || k != end-i {
			t.Fatalf("%d %v", k, err)
		}
		i = end
	}
	if err := w.Close(); err != nil {
		t.Fatalf("%v", err)
	}
	if out.String() != want {
		t.Fatalf("stream of %q, %v = %q, want %q", s, pieces, out.String(), want)
	}
}

func TestRedactIsLeftToRightAndWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		secrets := rapid.SliceOfN(rapid.StringMatching(`[ab]{4,7}|[abé]{4}\n[ab]{5}`), 0, 3).Draw(r, "secrets")
		s := rapid.StringMatching(`[abé\n x]{0,60}`).Draw(r, "text")
		redactionHolds(r, s, secrets, rapid.SliceOfN(rapid.IntRange(0, 20), 0, 4).Draw(r, "sizes"))
	})
}

func TestRedactingWriterReportsFailure(t *testing.T) {
	t.Parallel()
	r, _ := NewRedactor([]string{"s3cr3t"})
	for _, red := range []*Redactor{r, nil} {
		w := red.Writer(fullDisk{})
		_, err := w.Write(bytes.Repeat([]byte("x"), 1000))
		if err == nil {
			t.Error("no error")
		}
	}
	if err := (*Redactor)(nil).Writer(fullDisk{}).Close(); err != nil {
		t.Error("nothing was held: ", err)
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("xabcabcd", "abcabc", "abcd", 3)
	f.Add("c2VjcmV0 secret %73", "secret", "secret\nkey1", 1)
	f.Fuzz(func(t *testing.T, s, one, two string, size int) {
		if len(s) > 300 || len(one)+len(two) > 60 {
			t.Skip("the naive reading is slow")
		}
		redactionHolds(t, s, []string{one, two}, []int{size % 50})
	})
}

func BenchmarkRedact(b *testing.B) {
	r, _ := NewRedactor([]string{"ghp_" + strings.Repeat("a1B2", 9), "hunter2!", strings.Repeat("key line\n", 30)})
	s := strings.Repeat("ok  github.com/gatesworn/gatesworn 0.123s of ghp_ and hunter\n", 1<<14)
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		r.Redact(s)
	}
}
