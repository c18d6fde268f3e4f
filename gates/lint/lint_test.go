package lint_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/gatesworn/gatesworn/gates/lint"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata")

// rulesOf returns the names of the rules that speak about a text, sorted.
func rulesOf(text string) []string {
	var names []string
	for _, f := range lint.Check(ledger.Parse("GATES.md", []byte(text))) {
		names = append(names, f.Rule)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// example is a ledger and whether a rule speaks about it. A text that does not
// begin with a box is the CHECK, EXPECT and so on of a gate.
type example struct {
	rule string
	hit  bool
	text string
}

func (e example) ledger() string {
	if strings.HasPrefix(e.text, "- [") {
		return e.text + "\n"
	}
	var b strings.Builder
	b.WriteString("- [ ] G1: the thing works\n")
	for line := range strings.SplitSeq(e.text, "\n") {
		b.WriteString("  " + line + "\n")
	}
	return b.String()
}

// run is a CHECK with an EXPECT.
func run(check, want string) string { return "CHECK: " + check + "\nEXPECT: " + want }

var examples = []example{
	{"tautological-check", true, run("echo everything works", "works")},
	{"tautological-check", true, run("true", "/^/")},
	{"tautological-check", true, run(" : ", "/^/")},
	{"tautological-check", true, run("exit 0", "/^/")},
	{"tautological-check", true, run("PRINTF 'x'", "x")},
	{"tautological-check", true, run("echo READY | grep READY", "READY")},
	{"tautological-check", true, run("echo a && echo READY", "READY")},
	{"tautological-check", false, run(`echo "$(node -p 1+1)"`, "2 items")},
	{"tautological-check", false, run("echo x > f && node f", "x y")},
	{"tautological-check", false, run("cat list | grep READY", "READY")},
	{"tautological-check", false, run("node check.mjs", "all fine")},

	{"weak-expect", true, run("npm test", "ok")},
	{"weak-expect", true, run("npm test", "PASSED")},
	{"weak-expect", true, run("npm test", "/done/i")},
	{"weak-expect", true, run("npm test", "0")},
	{"weak-expect", false, run("npm test", "12 passed")},
	{"weak-expect", false, run("npm test", "/^ok$/m")},

	{"path-read-as-regex", true, run("node where.mjs", "/etc/app/conf/")},
	{"path-read-as-regex", false, run("node where.mjs", `/etc\/app/`)},
	{"path-read-as-regex", false, run("node where.mjs", "etc/app/conf")},
	{"slash-pattern", true, run("node where.mjs", "/a/(b|c)+/")},
	{"slash-pattern", false, run("node where.mjs", `/a\/(b|c)+/`)},

	{"manual-gate", true, "- [ ] G1: the page looks right"},
	{"manual-gate", false, run("node check.mjs", "all fine")},
	{"manual-gate", false, "- [ ] G1: the page looks right\nABANDON: G1 no page any more"},
	{"unmeasured-number", true, "- [ ] G1: the page loads in 200 ms"},
	{"unmeasured-number", false, "- [ ] G1: the page loads fast"},
	{"unmeasured-number", false, "- [ ] G1: the page loads in 200 ms\n  CHECK: node time.mjs\n  EXPECT: under 200 ms"},

	{"activity-not-outcome", true, "- [ ] G1: Improve the parser\n  CHECK: node t\n  EXPECT: fine day"},
	{"activity-not-outcome", true, "- [ ] G1: make sure that it works\n  CHECK: node t\n  EXPECT: fine day"},
	{"activity-not-outcome", true, "- [ ] G1: add support for tabs"},
	{"activity-not-outcome", false, "- [ ] G1: handles empty input\n  CHECK: node t\n  EXPECT: fine day"},
	{"activity-not-outcome", false, "- [ ] G1: tabs are supported"},

	{"mostly-manual", true, "- [ ] G1: a\n- [ ] G2: b\n- [ ] G3: c\n  CHECK: node t\n  EXPECT: fine day"},
	{"mostly-manual", false, "- [ ] G1: a\n- [ ] G2: b\n  CHECK: node t\n  EXPECT: fine day"},

	{"cannot-fail", true, run("npm test || true", "/^/")},
	{"cannot-fail", true, run("npm test; true", "/^/")},
	{"cannot-fail", true, run("npm test || exit 0", "/^/")},
	{"cannot-fail", true, run("npm test || echo all good", "all good")},
	{"cannot-fail", true, run("npm test; echo DONE-42", "DONE-42")},
	{"cannot-fail", true, run("npm test; printf 'DONE\\n'", "/^DONE$/m")},
	{"cannot-fail", true, run("npm test | tee log", "/^/")},
	{"cannot-fail", true, run("npm test | tail -5", "/.*/")},
	{"cannot-fail", true, run("git status --short", "/^/")},
	{"cannot-fail", true, run("git -C sub diff", "/^/")},
	{"cannot-fail", true, run("npm test &", "/^/")},
	{"cannot-fail", true, run("set -e; true; echo FINE-1", "FINE-1")},
	{"cannot-fail", true, run(`echo "result: $(node t.mjs)"`, "result:")},
	{"cannot-fail", true, run("cd app && npm test | tee log", "/^/")},
	{"cannot-fail", false, run("cd app && echo APP-IS-THERE", "APP-IS-THERE")},
	{"cannot-fail", false, run("npm test", "/^/")},
	{"cannot-fail", false, run("npm test && echo TOKEN-1", "TOKEN-1")},
	{"cannot-fail", false, run("npm test && true", "/^/")},
	{"cannot-fail", false, run("set -e; npm test; echo DONE-42", "DONE-42")},
	{"cannot-fail", false, run("set -o pipefail; npm test | tee log", "/^/")},
	{"cannot-fail", false, run("git diff --exit-code", "/^/")},
	{"cannot-fail", false, run("grep -rn TODO src || echo none left", "none left")},
	{"cannot-fail", false, run("(npm test || true)", "12 passed")},
	{"cannot-fail", false, run("! grep -rn TODO src", "/^/")},
	{"cannot-fail", false, run("for f in a b; do node $f || true; done", "/^/")},

	{"exit-ignored", true, run("npm test || true", "12 passed")},
	{"exit-ignored", true, run("npm test || echo broken", "12 passed")},
	{"exit-ignored", true, run("npm test 2>&1 | tail -3", "12 passed")},
	{"exit-ignored", true, run(`echo "$(npm test)"`, "12 passed")},
	{"exit-ignored", true, run("cd app && npm test | tail -3", "12 passed")},
	{"exit-ignored", true, run("cd app && export CI=1 && npm test | tail -3", "12 passed")},
	{"exit-ignored", false, run("npm ci && npm test | tail -3", "12 passed")},
	{"exit-ignored", false, run("npm test", "12 passed")},
	{"exit-ignored", false, run("test -f a && echo there || echo missing", "there")},
	{"exit-ignored", false, run("grep -c x f || true", "3 of 4")},
	{"exit-ignored", false, run("find src -name '*.js' | wc -l", "12 files")},
	{"exit-ignored", false, run("git status --short", "M src/a.go")},

	{"own-echo", true, run("echo running the suite && npm test", "running the suite")},
	{"own-echo", true, run("echo 'suite: 12' >&2; npm test", "/suite: \\d+/")},
	{"own-echo", false, run("npm test && echo suite is green", "suite is green")},
	{"own-echo", false, run("echo 12 > want; node compare.mjs", "12 equal")},
	{"own-echo", false, run("echo 'a b' | node count.mjs", "a b")},

	{"any-output", true, run("npm test", "/.*/")},
	{"any-output", true, run("npm test", "//")},
	{"any-output", true, run("npm test", "/^$/m")},
	{"any-output", true, run("npm test", "/(?:)/")},
	{"any-output", false, run("npm test", "/^/")},
	{"any-output", false, run("npm test", "/12 passed/")},
	{"empty-output", true, run("npm test", "/^(?!.*(error|FAIL|panic|x))/s")},
	{"empty-output", true, run("grep -r TODO src 2>/dev/null", "/^$/")},
	{"empty-output", false, run("git diff --stat", "/^$/")},
	{"empty-output", false, run("npm test", "/passed/")},

	{"zero-tests", true, run("cargo test --lib resolver", "test result: ok")},
	{"zero-tests", true, run("cargo test -p core -- resolver 2>&1 | tail -3", "test result: ok")},
	{"zero-tests", true, run("go test ./parser -run TestEmpty", "/^/")},
	{"zero-tests", true, run("go test ./parser -run=TestEmpty", "/^ok/")},
	{"zero-tests", false, run("cargo test --lib resolver", `/test result: ok\. [1-9]/`)},
	{"zero-tests", false, run("cargo test -p core --lib", "test result: ok")},
	{"zero-tests", false, run("go test ./...", "/^/")},
	{"zero-tests", false, run("go test -v ./parser -run TestEmpty", "--- PASS: TestEmpty")},
	{"bare-number", true, run("node count.mjs", "12")},
	{"bare-number", true, run("node count.mjs", "007")},
	{"bare-number", false, run("node count.mjs", "/^12$/m")},
	{"bare-number", false, run("node count.mjs", "12 items")},
	{"bare-number", false, run("node count.mjs", "0")},
	{"anchor-without-m", true, run("node count.mjs", "/^15$/")},
	{"anchor-without-m", true, run("node count.mjs", "/(a|b$)/i")},
	{"anchor-without-m", false, run("node count.mjs", "/^15$/m")},
	{"anchor-without-m", false, run("node count.mjs", `/^15\s*$/`)},
	{"anchor-without-m", false, run("node count.mjs", `/15\n$/`)},
	{"anchor-without-m", false, run("node count.mjs", `/cost: \$[$5]/`)},
	{"anchor-without-m", false, run("node count.mjs", "/^15/")},
	{"escaped-expect", true, run("node t.mjs", `a.b\nc`)},
	{"escaped-expect", false, run("node t.mjs", `/a\nb/`)},
	{"quoted-expect", true, run("node t.mjs", `"all fine"`)},
	{"quoted-expect", true, run("node t.mjs", "`all fine`")},
	{"quoted-expect", false, run("node t.mjs", `say "all fine"`)},
	{"quoted-expect", false, run("node t.mjs", `""`)},
	{"quoted-check", true, run("`npm test`", "12 passed")},
	{"quoted-check", true, run(`"npm test"`, "12 passed")},
	{"quoted-check", false, run(`"./my tool" --all`, "12 passed")},

	{"machine-path", true, run("node /home/alice/app/t.mjs", "all fine")},
	{"machine-path", true, run("node /Users/bob/t.mjs", "all fine")},
	{"machine-path", true, run(`node C:\work\t.mjs`, "all fine")},
	{"machine-path", true, run("node t.mjs --out=D:/work/x", "all fine")},
	{"machine-path", true, run("node t.mjs", "all fine") + "\nCWD: /srv/app"},
	{"machine-path", true, run("node t.mjs", "wrote /home/alice/x")},
	{"machine-path", false, run("curl https://example.org/home/alice/x", "all fine")},
	{"machine-path", false, run("docker run img node /home/node/t.mjs", "all fine")},
	{"machine-path", false, run("node t.mjs /tmp/x", "all fine") + "\nCWD: app"},

	{"implicit-inputs", true, run("npm test", "/^/") + "\nINPUTS: src/**"},
	{"implicit-inputs", true, run("make check", "/^/") + "\nINPUTS: src/**"},
	{"implicit-inputs", true, run("python -m pytest", "/^/") + "\nINPUTS: tests/**"},
	{"implicit-inputs", true, run("uv run pytest -q", "/^/") + "\nINPUTS: tests/test_*.py, pyproject.toml"},
	{"implicit-inputs", true, run("cargo test", "/^/") + "\nINPUTS: src/**"},
	{"implicit-inputs", true, run("CGO_ENABLED=0 go test ./...", "/^/") + "\nINPUTS: **/*.go"},
	{"implicit-inputs", true, run("sh scripts/t.sh", "/^/") + "\nINPUTS: src/**"},
	{"implicit-inputs", true, run("./run.sh --all", "/^/") + "\nINPUTS: src/**"},
	{"implicit-inputs", true, run("make -f ci/all.mk", "/^/") + "\nINPUTS: Makefile"},
	{"implicit-inputs", true, run("make -C sub", "/^/") + "\nINPUTS: src/**"},
	{"implicit-inputs", true, run("npm test", "/^/") + "\nINPUTS: app/src/**\nCWD: app"},
	{"implicit-inputs", true, run("docker compose config", "/^/") + "\nINPUTS: src/**"},
	{"implicit-inputs", false, run("npm test", "/^/")},
	{"implicit-inputs", false, run("npm test", "/^/") + "\nINPUTS: package.json"},
	{"implicit-inputs", false, run("cd app && npm test", "/^/") + "\nINPUTS: app/package.json"},
	{"implicit-inputs", false, run("npm test", "/^/") + "\nINPUTS: app/**\nCWD: app"},
	{"implicit-inputs", false, run("make check", "/^/") + "\nINPUTS: *"},
	{"implicit-inputs", false, run("node -e 'x'", "/^/") + "\nINPUTS: src/**"},
	{"implicit-inputs", false, run("sh $SCRIPT", "/^/") + "\nINPUTS: src/**"},
	{"implicit-inputs", false, run("node --test tests/a.mjs", "/^/") + "\nINPUTS: tests/*.mjs"},
	{"implicit-inputs", false, run("if true; then npm test; fi", "/^/") + "\nINPUTS: src/**"},
	{"implicit-inputs", false, run("/usr/bin/tool x", "/^/") + "\nINPUTS: src/**"},

	{"shared-writes", true, two("npm ci && npm test", "", "npm ci && npm run lint", "")},
	{"shared-writes", true, two("node a.mjs > out.txt", "", "node b.mjs | tee out.txt", "")},
	{"shared-writes", true, two("docker compose up -d", "", "docker-compose run x", "")},
	{"shared-writes", true, two("rm -rf dist && npm run build", "", "rm -rf dist && npm run pack", "")},
	{"shared-writes", false, two("npm ci && npm test", "NEEDS: G2", "npm ci && npm run lint", "")},
	{"shared-writes", false, two("npm ci && npm test", "WRITES: node_modules", "npm ci && npm run lint", "")},
	{"shared-writes", false, two("npm ci && npm test", "", "npm ci && npm run lint", "CWD: app")},
	{"shared-writes", false, two("node a.mjs > /dev/null", "", "node b.mjs > /dev/null", "")},
	{"shared-writes", false, two("node a.mjs > $OUT", "", "node b.mjs > $OUT", "")},
	{"shared-writes", false, "- [ ] G1: a\n  CHECK: npm ci && npm ci\n  EXPECT: /^/"},

	{"unknown-key", true, run("node t.mjs", "all fine") + "\nFROM: the issue"},
	{"unknown-key", true, run("node t.mjs", "all fine") + "\nINPUT: a"},
	{"unknown-key", false, run("node t.mjs", "all fine") + "\nfrom the issue"},
}

func two(check1, more1, check2, more2 string) string {
	g := func(id, check, more string) string {
		s := "- [ ] " + id + ": a\n  CHECK: " + check + "\n  EXPECT: /^/\n"
		if more != "" {
			s += "  " + more + "\n"
		}
		return s
	}
	return strings.TrimSuffix(g("G1", check1, more1)+g("G2", check2, more2), "\n")
}

func TestRules(t *testing.T) {
	t.Parallel()
	for _, e := range examples {
		doc := ledger.Parse("GATES.md", []byte(e.ledger()))
		if !doc.OK() {
			t.Errorf("%s: the example does not parse: %v\n%s", e.rule, doc.Findings, e.ledger())
			continue
		}
		got := rulesOf(e.ledger())
		if slices.Contains(got, e.rule) != e.hit {
			t.Errorf("%s: %v, want %v; rules that spoke: %v\n%s", e.rule, !e.hit, e.hit, got, e.ledger())
		}
	}
}

func TestEveryRuleHasBothExamples(t *testing.T) {
	t.Parallel()
	for _, r := range lint.Rules() {
		for _, hit := range []bool{true, false} {
			if !slices.ContainsFunc(examples, func(e example) bool { return e.rule == r.Name && e.hit == hit }) {
				t.Errorf("no example of %s with %v", r.Name, hit)
			}
		}
		if r.Says == "" {
			t.Errorf("%s says nothing", r.Name)
		}
	}
	for _, e := range examples {
		if !slices.ContainsFunc(lint.Rules(), func(r lint.Rule) bool { return r.Name == e.rule }) {
			t.Errorf("%s is in no list", e.rule)
		}
	}
}

// TestFixesAreQuiet: a gate that takes the advice gets no advice of that rule any more.
func TestFixesAreQuiet(t *testing.T) {
	t.Parallel()
	tried := 0
	for _, e := range examples {
		if !e.hit {
			continue
		}
		text := e.ledger()
		for _, f := range lint.Check(ledger.Parse("GATES.md", []byte(text))) {
			if f.Rule != e.rule || len(f.Fix) == 0 || f.Rule == "shared-writes" {
				continue
			}
			tried++
			lines := strings.Split(text, "\n")
			lines = slices.Replace(lines, f.Line-1, f.Line, f.Fix...)
			if got := rulesOf(strings.Join(lines, "\n")); slices.Contains(got, e.rule) {
				t.Errorf("the fix of %s does not satisfy it: %q\n%s", e.rule, f.Fix, text)
			}
		}
	}
	if tried < 25 {
		t.Fatalf("only %d fixes tried", tried)
	}
}

// TestCorpus reads the ledgers of testdata: those in ok get no advice, those in
// err what their golden file says.
func TestCorpus(t *testing.T) {
	t.Parallel()
	for dir, least := range map[string]int{"ok": 3, "err": 3} {
		files, err := filepath.Glob(filepath.Join("testdata", dir, "*.md"))
		if err != nil {
			t.Fatal(err)
		}
		if len(files) < least {
			t.Fatalf("only %d files in testdata/%s", len(files), dir)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := render(t, lint.Check(ledger.Parse("GATES.md", data)))
			if dir == "ok" {
				if got != "" {
					t.Errorf("%s:\n%s", file, got)
				}
				continue
			}
			golden(t, strings.TrimSuffix(file, ".md")+".golden", got)
		}
	}
}

// TestReferenceLedgers: what the reference calls an error is one here, and what
// it accepts gets the advice that the golden file shows.
func TestReferenceLedgers(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name, Text string
		Errors     int
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 50 {
		t.Fatalf("only %d cases", len(cases))
	}
	var b strings.Builder
	for _, c := range cases {
		findings := lint.Check(ledger.Parse("GATES.md", []byte(c.Text)))
		failed := slices.ContainsFunc(findings, func(f lint.Finding) bool { return f.Level == ledger.Error })
		if c.Errors > 0 && !failed {
			t.Errorf("%s: no error", c.Name)
		}
		b.WriteString("## " + c.Name + "\n")
		for _, f := range findings {
			b.WriteString(f.Level.String() + " " + f.Gate + " " + f.Rule + "\n")
		}
	}
	golden(t, "testdata/cases.golden", b.String())
}

func render(t *testing.T, findings []lint.Finding) string {
	t.Helper()
	var b strings.Builder
	for _, f := range findings {
		b.WriteString("[" + f.Rule + "] ")
		if err := ledger.FormatFindings(&b, f.File, []ledger.Finding{f.Finding}, 0); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", file, d)
	}
}

func TestErrorsGetNoAdvice(t *testing.T) {
	t.Parallel()
	findings := lint.Check(ledger.Parse("GATES.md", []byte("- [ ] G1: improve it\n- [ ] works\n  CHECK: true\n  EXPECT: ok\n")))
	if len(findings) == 0 {
		t.Fatal("nothing found")
	}
	for _, f := range findings {
		if f.Rule == "activity-not-outcome" || f.Rule == "tautological-check" {
			t.Errorf("advice on a ledger with an error: %v", f)
		}
		if f.File != "GATES.md" {
			t.Errorf("file %q", f.File)
		}
	}
}

func TestFold(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, id := range []string{"A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K"} {
		b.WriteString("- [ ] " + id + ": works\n  CHECK: node " + id + "\n  EXPECT: ok\n")
	}
	findings := lint.Check(ledger.Parse("GATES.md", []byte(b.String())))
	if len(findings) != 11 {
		t.Fatalf("%d findings, want 11", len(findings))
	}
	folded := lint.Fold(findings)
	if len(folded) != 1 || !strings.HasSuffix(folded[0].Message, "… and 10 more: B, C, D, E, F, G, H, I, …") {
		t.Errorf("folded: %+v", folded)
	}
	if got := lint.Fold(findings[:3]); len(got) != 3 {
		t.Errorf("three are folded into %d", len(got))
	}
	if len(findings[0].Message) >= len(folded[0].Message) {
		t.Error("Fold changed what it was given")
	}
}
