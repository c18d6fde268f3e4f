package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSecurityPageNamesRealTests checks that each test that docs/security.md names is there.
func TestSecurityPageNamesRealTests(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, a := range attacks {
		known[a.name] = true
	}
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scripts {
		known[strings.TrimSuffix(filepath.Base(s), ".txtar")] = true
	}
	tests, err := filepath.Glob("../../approval/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range tests {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`func (Test\w+)\(`).FindAllStringSubmatch(string(text), -1) {
			known[m[1]] = true
		}
	}
	named := map[string]bool{}
	for line := range strings.SplitSeq(string(page), "\n") {
		cells := strings.Split(strings.ReplaceAll(line, `\|`, "/"), "|")
		if len(cells) != 5 || !strings.Contains(cells[3], "`") || strings.Contains(line, "enforced") {
			continue
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[3], -1) {
			named[m[1]] = true
			if !known[m[1]] {
				t.Errorf("docs/security.md names %q, which is no test", m[1])
			}
		}
	}
	if len(named) < 40 {
		t.Fatalf("found only %d tests in the table", len(named))
	}
	for _, a := range attacks {
		if !named[a.name] {
			t.Errorf("docs/security.md says nothing of the attack %s", a.name)
		}
	}
}

// TestWorkflowTemplate has actionlint read the workflow that init --github writes.
func TestWorkflowTemplate(t *testing.T) {
	t.Parallel()
	text := workflow("main")
	if strings.Contains(text, "{{") && !strings.Contains(text, "${{") {
		t.Error("a placeholder is left")
	}
	for _, m := range regexp.MustCompile(`uses: (\S+)`).FindAllStringSubmatch(text, -1) {
		if !regexp.MustCompile(`@[0-9a-f]{40}$`).MatchString(m[1]) {
			t.Errorf("%s is not pinned by commit", m[1])
		}
	}
	for _, s := range []string{"persist-credentials: false", "permissions: {}", "types: [opened, synchronize, reopened, edited]", "merge_group:", "mode: measure", "mode: publish"} {
		if !strings.Contains(text, s) {
			t.Errorf("the workflow lacks %q", s)
		}
	}
	file := filepath.Join(t.TempDir(), "gatesworn.yml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "tool", "-modfile=../../tools/go.mod", "actionlint", file).CombinedOutput()
	if err == nil {
		return
	}
	if !strings.Contains(string(out), file) && os.Getenv("REQUIRE_TOOLS") != "1" {
		t.Skipf("actionlint cannot be run: %v", err)
	}
	t.Errorf("%v\n%s", err, out)
}
