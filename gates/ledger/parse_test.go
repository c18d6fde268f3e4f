package ledger_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/google/go-cmp/cmp"
)

func TestOptionalAttributes(t *testing.T) {
	t.Parallel()
	d := ledger.Parse("GATES.md", []byte("- [ ] G1: a\n  CHECK: x\n  EXPECT: y\n  NEEDS: G2 , G3\n  INPUTS: scripts/**/*.sh,package.json\n"+
		"  DEPENDS: src/**\n  READS: dist/**, @db\n  WRITES: @port-1\n  TIMEOUT: 30\n  ENV: A, B_2\n\n- [ ] G2: b\n- [ ] G3: c\n"))
	if len(d.Findings) > 0 {
		t.Fatal(d.Findings)
	}
	g := d.Gates[0]
	want := ledger.Gate{
		ID: "G1", Outcome: "a", Line: 1, Check: "x", Expect: "y", Needs: []string{"G2", "G3"},
		Inputs: []string{"scripts/**/*.sh", "package.json"}, Depends: []string{"src/**"}, Reads: []string{"dist/**", "@db"},
		Writes: []string{"@port-1"}, Timeout: 30, Env: []string{"A", "B_2"},
	}
	for i, k := range []ledger.Key{ledger.Check, ledger.Expect, ledger.Needs, ledger.Inputs, ledger.Depends, ledger.Reads, ledger.Writes, ledger.Timeout, ledger.Env} {
		if !g.Has(k) || g.Attributes[i].Key != k || g.Attributes[i].Line != i+2 {
			t.Errorf("attribute %d is %+v, want %s on line %d", i, g.Attributes[i], k, i+2)
		}
	}
	g.Attributes = nil
	if diff := cmp.Diff(want, g); diff != "" {
		t.Error(diff)
	}
	if !g.Runnable() || d.Gates[1].Runnable() || d.Gates[1].Has(ledger.Check) {
		t.Error("Runnable or Has is wrong")
	}
}

func TestEnvNameAllowed(t *testing.T) {
	t.Parallel()
	allowed := []string{"DATABASE_URL", "CI", "FOO", "foo_bar", "_X", "X1", "NODE_ENV", "AUTHOR", "KEYBOARD", "PATTERN", "GOOS", "LANG", "MONKEYS", "COMPASS"}
	refused := []string{
		"", "1X", "A-B", "A B", "É", "A=B", "PATH", "HOME", "TMPDIR", "NODE_OPTIONS", "node_options", "BASH_ENV", "ENV", "LD_PRELOAD",
		"LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "PYTHONSTARTUP", "PYTHONPATH", "PERL5OPT", "RUBYOPT", "GIT_DIR", "GIT_SSH_COMMAND", "GITHUB_TOKEN",
		"GITHUB_ENV", "GITHUB_SHA", "ACTIONS_RUNTIME_URL", "INPUT_X", "RUNNER_TEMP", "SSH_AUTH_SOCK", "NPM_TOKEN", "API_KEY", "APIKEY", "AWS_SECRET_ACCESS_KEY",
		"MYSECRET", "DB_PASS", "PASSWORD", "PGPASSWORD", "BASIC_AUTH", "GOOGLE_CREDENTIALS", "GH_PAT", "SENTRY_DSN", "SSH_KEYS", "KEY2", "GATESWORN_SHELL", "npm_config_registry",
	}
	for _, name := range allowed {
		if reason, ok := ledger.EnvNameAllowed(name); !ok || reason != "" {
			t.Errorf("EnvNameAllowed(%q) = %q, %v", name, reason, ok)
		}
	}
	for _, name := range refused {
		if reason, ok := ledger.EnvNameAllowed(name); ok || reason == "" {
			t.Errorf("EnvNameAllowed(%q) = %q, %v", name, reason, ok)
		}
	}
}

func TestColumnsCountCodePoints(t *testing.T) {
	t.Parallel()
	d := ledger.Parse("GATES.md", []byte("- [ ] G1: ä漢😀\u200b\n  CHECK: é\u202e\n  EXPECT: y\n"))
	want := [][2]int{{1, 14}, {2, 11}}
	if len(d.Findings) != 2 {
		t.Fatal(d.Findings)
	}
	for i, f := range d.Findings {
		if f.Line != want[i][0] || f.Column != want[i][1] || f.Level != ledger.Error {
			t.Errorf("%d:%d %s, want %v", f.Line, f.Column, f.Level, want[i])
		}
	}
}

func TestUnknownKeys(t *testing.T) {
	t.Parallel()
	d := ledger.Parse("GATES.md", []byte("- [ ] G1: a\n  FROM: x\n  CHEKC: y\n  RED: z\n  EXPECTED: z\n  STATUS: open\n\nNOTE: prose\n"))
	want := []ledger.UnknownKey{
		{Key: "FROM", Gate: "G1", Line: 2},
		{Key: "CHEKC", Gate: "G1", Line: 3, Nearest: ledger.Check},
		{Key: "RED", Gate: "G1", Line: 4},
		{Key: "EXPECTED", Gate: "G1", Line: 5, Nearest: ledger.Expect},
	}
	if diff := cmp.Diff(want, d.UnknownKeys); diff != "" {
		t.Error(diff)
	}
	if !d.OK() || len(d.Findings) != 3 {
		t.Errorf("findings %v", d.Findings)
	}
}

func TestFormatFindings(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300)
	findings := []ledger.Finding{
		{Line: 1, Column: 1, Level: ledger.Warning, Message: "first"},
		{Line: 2, Column: 290, Message: "second", Source: long + "\u202e", Fix: []string{"a", "b\x1b[31m"}},
		{Message: "third"},
		{Line: 12345, Column: 2, Message: "fourth \xff", Source: long},
	}
	tests := []struct {
		limit int
		want  string
	}{
		{0, "G.md:1:1: warning: first\n" +
			"G.md:2:290: error: second\n   2 | …" + strings.Repeat("x", 152) + "<U+202E>\n fix | a\n     | b<U+001B>[31m\n" +
			"G.md: error: third\n" +
			"G.md:12345:2: error: fourth <FF>\n12345 | " + strings.Repeat("x", 160) + "…\n"},
		{2, "G.md:2:290: error: second\n   2 | …" + strings.Repeat("x", 152) + "<U+202E>\n fix | a\n     | b<U+001B>[31m\n" +
			"G.md: error: third\nand 2 more: gatesworn lint\n"},
	}
	for _, tt := range tests {
		var b strings.Builder
		if err := ledger.FormatFindings(&b, "G.md", findings, tt.limit); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, b.String()); diff != "" {
			t.Errorf("limit %d (-want +got):\n%s", tt.limit, diff)
		}
	}
	if err := ledger.FormatFindings(failing{}, "G.md", findings, 0); !errors.Is(err, errFull) {
		t.Errorf("error %v, want the writer's", err)
	}
}

var errFull = errors.New("full")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }

func TestZeroFindingRefuses(t *testing.T) {
	t.Parallel()
	d := ledger.Document{Findings: []ledger.Finding{{}}}
	if d.OK() {
		t.Error("a finding that nobody classified does not refuse")
	}
}

// TestApplyTooLarge: an edit that would pass the limit is told apart.
func TestApplyTooLarge(t *testing.T) {
	t.Parallel()
	d := ledger.Parse("GATES.md", []byte(okGate))
	_, err := d.Apply([]ledger.Edit{{ID: "G1", Evidence: strings.Repeat("e", ledger.MaxSize)}})
	if !errors.Is(err, ledger.ErrTooLarge) {
		t.Errorf("error %v, want ErrTooLarge", err)
	}
}

// TestEvidenceCannotHideWhatFollows: an edit whose text would open a comment
// over the attributes below it is refused, not written.
func TestEvidenceCannotHideWhatFollows(t *testing.T) {
	t.Parallel()
	d := ledger.Parse("GATES.md", []byte("- [ ] G1: a\n  EVIDENCE: pending\n  CHECK: x\n  EXPECT: y -->\n"))
	if !d.OK() {
		t.Fatal(d.Findings)
	}
	if got, err := d.Apply([]ledger.Edit{{ID: "G1", Evidence: "seen <!--"}}); err == nil || got != nil {
		t.Errorf("Apply = %v, %v", got, err)
	}
}

// TestManyEditsAtOnce edits every gate of a ledger and reads the claims back.
func TestManyEditsAtOnce(t *testing.T) {
	t.Parallel()
	d := ledger.Parse("GATES.md", generated(2000, ""))
	var edits []ledger.Edit
	for _, g := range d.Gates {
		edits = append(edits, ledger.Edit{ID: g.ID, Ticked: true, Evidence: "seen " + g.ID})
	}
	got, err := d.Apply(edits)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range got.Gates {
		if !g.Ticked || g.Evidence != "seen "+g.ID {
			t.Fatalf("%+v", g)
		}
	}
}
