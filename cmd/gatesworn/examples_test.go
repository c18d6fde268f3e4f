package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// partBlock finds a block that shows lines of another file.
var partBlock = regexp.MustCompile("(?s)<!-- part of: ([a-z/.-]+) -->\n```[a-z]+\n(.*?)```\n")

// TestDocumentsShowParts compares what documents show of other files with those files.
func TestDocumentsShowParts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	parts := 0
	for _, file := range append(files, "../../README.md") {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range partBlock.FindAllStringSubmatch(string(data), -1) {
			parts++
			whole, err := os.ReadFile(filepath.Join("../..", m[1]))
			if err != nil {
				t.Errorf("%s: %v", file, err)
			} else if !strings.Contains(string(whole), "\n"+m[2]) {
				t.Errorf("%s shows what is not in %s:\n%s", file, m[1], m[2])
			}
		}
	}
	if parts == 0 {
		t.Fatal("no document shows a part of a file")
	}
}

// TestExamplesAreWorkflows has actionlint read every workflow that is shown.
func TestExamplesAreWorkflows(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../examples/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no example was found: %v", err)
	}
	args := append([]string{"tool", "-modfile=../../tools/go.mod", "actionlint", "-shellcheck=", "-pyflakes="}, files...)
	out, err := exec.Command("go", args...).CombinedOutput()
	if exit, ok := err.(*exec.ExitError); err != nil && (!ok || exit.ExitCode() != 1) && os.Getenv("REQUIRE_TOOLS") == "" {
		t.Skipf("actionlint is not there: %v\n%s", err, out)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
