package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

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
