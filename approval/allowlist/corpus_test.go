package allowlist

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gatesworn/gatesworn/approval"
)

var update = flag.Bool("update", false, "write expected output")

// corpus calls fn for every file of a folder and compares what it returns with
// file.want. A folder without files fails.
func corpus(t *testing.T, dir string, fn func(name string, data []byte) string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range all {
		if strings.HasSuffix(f, ".want") {
			continue
		}
		n++
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		got := fn(filepath.Base(f), data)
		if *update {
			if err := os.WriteFile(f+".want", []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(f + ".want")
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), got); d != "" {
			t.Errorf("%s: %s", f, d)
		}
	}
	if n == 0 {
		t.Fatalf("no files in %s", dir)
	}
}

func TestSignersCorpus(t *testing.T) {
	t.Parallel()
	corpus(t, "testdata/signers/ok", func(name string, data []byte) string {
		s, err := ParseSigners("allowed_signers", data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var b strings.Builder
		for _, one := range s.List() {
			fmt.Fprintf(&b, "%d %s %s %s", one.Line, one.Principal, one.Key.Type(), one.Fingerprint)
			for _, at := range []time.Time{one.ValidAfter, one.ValidBefore} {
				b.WriteString(" " + stamp(at))
			}
			b.WriteString("\n")
		}
		return b.String()
	})
	corpus(t, "testdata/signers/err", func(name string, data []byte) string {
		s, err := ParseSigners("allowed_signers", data)
		if err == nil || len(s.List()) != 0 || !strings.HasPrefix(err.Error(), "allowed_signers:") {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err2 := (Formats{}).Signers("allowed_signers", data); err2 == nil {
			t.Errorf("%s: accepted", name)
		}
		return err.Error() + "\n"
	})
	many := strings.Repeat("#\n", approval.MaxRootFile/2+1)
	if _, err := ParseSigners("x", []byte(many)); err == nil {
		t.Error("too large")
	}
}

// Every line that is accepted is one ssh-keygen can read: find-principals would
// stop at a line it does not understand.
func TestSignersReadByOpenSSH(t *testing.T) {
	t.Parallel()
	key := sharedSigner(t, "ed25519")
	data := []byte("x")
	sig := sign(t, key, data)
	files, _ := filepath.Glob("testdata/signers/ok/*.txt")
	if len(files) == 0 {
		t.Fatal("no files")
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		allowed := strings.TrimSuffix(string(text), "\n") + "\n" + line("last", "", key.PublicKey())
		if ok, out := openssh(t, allowed, "last", sig, data); !ok || strings.Contains(out, "bad") {
			t.Errorf("%s: %s", f, out)
		}
	}
}

func TestRevokedCorpus(t *testing.T) {
	t.Parallel()
	corpus(t, "testdata/revoked/ok", func(name string, data []byte) string {
		d, err := Formats{}.Revoked("revoked", data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return strings.Join(d, "\n") + "\n"
	})
	corpus(t, "testdata/revoked/err", func(name string, data []byte) string {
		d, err := ParseRevoked("revoked", data)
		if err == nil || len(d) > 0 {
			t.Fatalf("%s: accepted", name)
		}
		return err.Error() + "\n"
	})
}

func fullStatement() approval.Statement {
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	manual := oracle("M1", "")
	manual.Check, manual.Expect = nil, nil
	timeout := 30
	rich := oracle("G1", "echo \"a\\b\" <&> \u2028 ü")
	rich.Timeout, rich.InputPatterns = &timeout, []string{"s/**"}
	rich.Inputs = []approval.BoundFile{{Path: "s/x", Mode: "100644", SHA256: strings.Repeat("0", 64)}}
	return approval.Statement{
		Project: testProject, IssuedAt: at, ExpiresAt: at.AddDate(1, 0, 0),
		Approve: []approval.Oracle{rich, manual}, Retire: []approval.Oracle{oracle("G2", "x")},
		Evidence: []approval.SignedEvidence{
			{Ledger: "GATES.md", Gate: "M1", Outcome: "seen", Text: "photo 3", Tree: strings.Repeat("a", 40)},
			{Ledger: "GATES.md", Gate: "M2", Outcome: "seen", Text: "photo 4", ExpiresAt: at.AddDate(0, 0, 14)},
		},
		Root:     map[string]string{".gatesworn/policy.yml": strings.Repeat("b", 64), ".gatesworn/allowed_signers": "absent"},
		Replaces: []string{"sha256:" + strings.Repeat("c", 64), "sha256:" + strings.Repeat("d", 64)},
		Note:     "line\n\ttab \"quoted\"",
	}
}

// TestStatementGolden keeps the written form: signatures of years ago depend on it.
func TestStatementGolden(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]approval.Statement{
		"full":  fullStatement(),
		"least": approving(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), oracle("G1", "make test")),
	} {
		path := "testdata/statement/ok/" + name + ".json"
		if *update {
			if err := os.WriteFile(path, mustMarshal(t, s), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), string(mustMarshal(t, s))); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		got, err := Parse(want)
		if err != nil {
			t.Fatal(err)
		}
		s.ID = approval.Digest(want)
		if d := cmp.Diff(mustMarshal(t, s), mustMarshal(t, got)); d != "" || got.ID != s.ID {
			t.Errorf("%s: %s", name, d)
		}
		if d := cmp.Diff(s.Evidence, got.Evidence); d != "" {
			t.Error(d)
		}
	}
}

// Refusals of Marshal are those of Parse: values that JSON could hold.
func TestStatementRefusals(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for name, change := range map[string]func(s *approval.Statement){
		"no project":            func(s *approval.Statement) { s.Project = "" },
		"project with a slash":  func(s *approval.Statement) { s.Project = "abc/defgh" },
		"another project":       func(s *approval.Statement) { s.Approve[0].Project = "0000000000000000" },
		"another, retired":      func(s *approval.Statement) { s.Retire[0].Project = "0000000000000000" },
		"no time":               func(s *approval.Statement) { s.IssuedAt = time.Time{} },
		"fractions of a second": func(s *approval.Statement) { s.IssuedAt = s.IssuedAt.Add(time.Millisecond) },
		"expired when issued":   func(s *approval.Statement) { s.ExpiresAt = s.IssuedAt },
		"two of one gate":       func(s *approval.Statement) { s.Approve = append(s.Approve, oracle("G1", "other")) },
		"approved and retired":  func(s *approval.Statement) { s.Retire = append(s.Retire, s.Approve[0]) },
		"no digest":             func(s *approval.Statement) { s.Replaces = []string{"sha256:abc"} },
		"digests out of order":  func(s *approval.Statement) { slices.Reverse(s.Replaces) },
		"a digest twice":        func(s *approval.Statement) { s.Replaces[1] = s.Replaces[0] },
		"root empty":            func(s *approval.Statement) { s.Root = map[string]string{} },
		"root elsewhere":        func(s *approval.Statement) { s.Root = map[string]string{"GATES.md": strings.Repeat("a", 64)} },
		"root with dots":        func(s *approval.Statement) { s.Root = map[string]string{".gatesworn/../x": strings.Repeat("a", 64)} },
		"root without digest":   func(s *approval.Statement) { s.Root = map[string]string{".gatesworn/policy.yml": ""} },
		"a long note":           func(s *approval.Statement) { s.Note = strings.Repeat("x", MaxNote+1) },
		"U+FFFD in the note":    func(s *approval.Statement) { s.Note = "\ufffd" },
		"escape in the note":    func(s *approval.Statement) { s.Note = "\x1b[2J" },
		"U+FFFD in CHECK":       func(s *approval.Statement) { c := "\ufffd"; s.Approve[0].Check = &c },
		"invalid UTF-8":         func(s *approval.Statement) { c := "\xff"; s.Approve[0].Check = &c },
		"evidence, no end":      func(s *approval.Statement) { s.Evidence[0].Tree = "" },
		"evidence, short tree":  func(s *approval.Statement) { s.Evidence[0].Tree = "abc" },
		"evidence, blank":       func(s *approval.Statement) { s.Evidence[0].Text = " " },
		"evidence, 15 days":     func(s *approval.Statement) { s.Evidence[1].ExpiresAt = at.AddDate(0, 0, 15) },
		"evidence, bad gate":    func(s *approval.Statement) { s.Evidence[1].Gate = "M 2" },
		"evidence, fractions":   func(s *approval.Statement) { s.Evidence[1].ExpiresAt = at.Add(time.Nanosecond) },
		"nothing at all": func(s *approval.Statement) {
			*s = approval.Statement{Project: testProject, IssuedAt: at}
		},
	} {
		s := fullStatement()
		change(&s)
		if data, err := Marshal(s); err == nil {
			t.Errorf("%s: accepted\n%s", name, data)
		} else if !strings.Contains(err.Error(), ErrStatement.Error()) {
			t.Errorf("%s: %v", name, err)
		}
	}
	good := string(mustMarshal(t, fullStatement()))
	for name, edit := range map[string][2]string{
		"version 2":         {"{\n  \"v\": 1", "{\n  \"v\": 2"},
		"version 1.0":       {"{\n  \"v\": 1", "{\n  \"v\": 1.0"},
		"time with offset":  {"2026-11-30T12:00:00Z\",\n  \"expiresAt", "2026-11-30T12:00:00+00:00\",\n  \"expiresAt"},
		"time without Z":    {"2026-11-30T12:00:00Z\",\n  \"expiresAt", "2026-11-30T12:00:00\",\n  \"expiresAt"},
		"time, fractions":   {"2026-11-30T12:00:00Z\",\n  \"expiresAt", "2026-11-30T12:00:00.0Z\",\n  \"expiresAt"},
		"time, impossible":  {"2026-11-30T12:00:00Z\",\n  \"expiresAt", "2026-11-31T12:00:00Z\",\n  \"expiresAt"},
		"year 0":            {"2026-11-30T12:00:00Z\",\n  \"expiresAt", "0000-11-30T12:00:00Z\",\n  \"expiresAt"},
		"null for a list":   {"\"needs\": []", "\"needs\": null"},
		"unknown key":       {"\"note\"", "\"more\": 1,\n  \"note\""},
		"repeated key":      {"\"replaces\"", "\"note\": \"\",\n  \"replaces\""},
		"key of other case": {"\"approve\"", "\"Approve\""},
		"keys swapped":      {"\"v\": 1,\n  \"project\": \"" + testProject + "\"", "\"project\": \"" + testProject + "\",\n  \"v\": 1"},
		"HTML escapes":      {"<&>", "\\u003c\\u0026\\u003e"},
		"escaped letter":    {"photo 3", "\\u0070hoto 3"},
		"blank at the end":  {"\n}\n", "\n}\n "},
		"text at the end":   {"\n}\n", "\n}\nx"},
		"a second document": {"\n}\n", "\n}\n{}\n"},
		"BOM":               {"{\n  \"v\"", "\ufeff{\n  \"v\""},
		"lone surrogate":    {"photo 3", "\\ud800"},
		"tab for blanks":    {"\n  \"v\"", "\n\t\"v\""},
	} {
		bad := strings.Replace(good, edit[0], edit[1], 1)
		if bad == good {
			t.Fatal(name)
		}
		if _, err := Parse([]byte(bad)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := Parse(bytes.Repeat([]byte(" "), MaxStatement+1)); err == nil {
		t.Error("too large")
	}
	if _, err := Parse([]byte(strings.Repeat("[", 100_000))); err == nil {
		t.Error("deep")
	}
}

// drawStatement makes any valid statement.
func drawStatement(t *rapid.T) approval.Statement {
	text := rapid.StringMatching(`[ -~äß€𝄞\x{2028}\t]{1,30}`)
	at := time.Unix(rapid.Int64Range(1_600_000_000, 1_900_000_000).Draw(t, "at"), 0).UTC()
	s := approval.Statement{Project: testProject, IssuedAt: at, Note: rapid.StringMatching(`[ -~\n\t]{0,40}`).Draw(t, "note")}
	for i := range rapid.IntRange(0, 4).Draw(t, "oracles") {
		o := oracle(fmt.Sprint("G", i), "x"+text.Draw(t, "check"))
		o.Outcome, o.Needs = "o"+text.Draw(t, "outcome"), []string{}
		if rapid.Bool().Draw(t, "retire") {
			s.Retire = append(s.Retire, o)
		} else {
			s.Approve = append(s.Approve, o)
		}
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "evidence") {
		s.Evidence = append(s.Evidence, approval.SignedEvidence{
			Ledger: "d/GATES.md", Gate: fmt.Sprint("M", i), Outcome: "o", Text: "t" + text.Draw(t, "text"), Tree: strings.Repeat("1", 64),
		})
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "replaces") {
		s.Replaces = append(s.Replaces, fmt.Sprintf("sha256:%064x", i))
	}
	if rapid.Bool().Draw(t, "root") || len(s.Approve)+len(s.Retire)+len(s.Evidence)+len(s.Replaces) == 0 {
		s.Root = map[string]string{".gatesworn/policy.yml": strings.Repeat("a", 64)}
	}
	return s
}

// Parse and Marshal are inverse, and a sketch misses nothing of a valid statement.
func TestStatementProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawStatement(t)
		data, err := Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(data) {
			t.Fatalf("%s", data)
		}
		got, err := Parse(data)
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		again, err := Marshal(got)
		if err != nil || !bytes.Equal(again, data) {
			t.Fatal(err)
		}
		var scratch []byte
		sk := skim(data, &scratch)
		want := map[string]bool{}
		for _, o := range slices.Concat(s.Approve, s.Retire) {
			want[o.Digest()] = true
			if !slices.Contains(sk.gates, gateName(o.Ledger, o.Gate)) {
				t.Fatalf("gate %s missed", o.Gate)
			}
		}
		for _, e := range s.Evidence {
			if !slices.Contains(sk.gates, gateName(e.Ledger, e.Gate)) || !sk.evidence {
				t.Fatalf("evidence %s missed", e.Gate)
			}
		}
		for _, d := range s.Replaces {
			want[d] = true
		}
		have := map[string]bool{}
		for _, d := range sk.digests {
			have[fmt.Sprintf("sha256:%x", d)] = true
		}
		for d := range want {
			if !have[d] {
				t.Fatalf("digest %s missed", d)
			}
		}
		if sk.root != (s.Root != nil) || sk.issued != stamp(s.IssuedAt) || sk.evidence != (len(s.Evidence) > 0) {
			t.Fatalf("%+v", sk)
		}
	})
}
