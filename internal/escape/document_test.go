package escape

import (
	"encoding/json"
	"encoding/xml"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

type xmlCase struct {
	XMLName xml.Name `xml:"case"`
	Name    string   `xml:"name,attr"`
	Text    string   `xml:"failure"`
	Output  struct {
		Data string `xml:",cdata"`
	} `xml:"output"`
}

func xmlHolds(t fataler, s string) {
	in := xmlCase{Name: XMLAttr(s), Text: XML(s)}
	in.Output.Data = XML(s)
	document, err := xml.Marshal(in)
	if err != nil {
		t.Fatalf("%v", err)
	}
	var out xmlCase
	if err := xml.Unmarshal(document, &out); err != nil {
		t.Fatalf("%q: %v", document, err)
	}
	if out.Name != Line(s) || out.Text != Block(s) || out.Output.Data != Block(s) {
		t.Fatalf("%q: %+v", document, out)
	}
	for _, r := range XML(s) {
		if r != '\t' && r != '\n' && (r < 0x20 || 0xD800 <= r && r <= 0xDFFF || r == 0xFFFE || r == 0xFFFF) {
			t.Fatalf("%q: %U is no XML character", s, r)
		}
	}
}

func jsonHolds(t fataler, s string) {
	document, err := json.Marshal(JSON(s))
	if err != nil {
		t.Fatalf("%v", err)
	}
	var out string
	if err := json.Unmarshal(document, &out); err != nil || out != JSON(s) || !utf8.Valid(document) {
		t.Fatalf("%q: %q %v", document, out, err)
	}
	nothingHidden(t, "json", string(document), "")
	nothingHidden(t, "decoded json", out, "\t\n")
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	everywhere(t, xmlHolds)
	everywhere(t, jsonHolds)
}

func FuzzDocument(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, s string) {
		xmlHolds(t, s)
		jsonHolds(t, s)
	})
}

func TestShellQuote(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"GATES:G1": "GATES:G1", "a/b.c": "a/b.c", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "~": "'~'", "=x": "'=x'", "a=x": "a=x", "$(id)": "'$(id)'", "é": "'é'",
	} {
		if got, ok := ShellQuote(in); !ok || got != want {
			t.Errorf("ShellQuote(%q) = %s, want %s", in, got, want)
		}
	}
	for _, in := range []string{"a\nb", "\x1b[31m", "\xff", "a\u202eb", "\u200b", "a\tb", "\x00"} {
		if got, ok := ShellQuote(in); ok || got != "" {
			t.Errorf("ShellQuote(%q) = %q", in, got)
		}
	}
}

// The shell must read back every word as it was; each rapid case asks for many at once.
func TestShellReadsWhatWasQuoted(t *testing.T) {
	t.Parallel()
	all := append([]string{"", "-n", "''", "'", `\`, `'\''`, "!!", "a'b\"c`d"}, pieces...)
	shellHolds(t, all)
	rapid.Check(t, func(r *rapid.T) {
		var words []string
		for range 20 {
			words = append(words, text(r))
		}
		shellHolds(r, words)
	})
}

func shellHolds(t fataler, words []string) {
	var script, want strings.Builder
	script.WriteString(`printf '[%s]\n'`)
	for _, word := range words {
		quoted, ok := ShellQuote(word)
		if ok != (Line(word) == word) {
			t.Fatalf("%q: %v", word, ok)
		}
		if ok {
			script.WriteString(" " + quoted)
			want.WriteString("[" + word + "]\n")
		}
	}
	if want.Len() == 0 {
		return
	}
	got, err := exec.Command("/bin/sh", "-c", script.String()).Output()
	if err != nil || string(got) != want.String() {
		t.Fatalf("%s: %q %v", script.String(), got, err)
	}
}

func FuzzShellQuote(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, s string) { shellHolds(t, []string{s, "end"}) })
}
