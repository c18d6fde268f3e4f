package approval_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatesworn/gatesworn/approval"
)

// policyFiles returns the corpus: name to bytes.
func policyFiles(t testing.TB, folder string, least int) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "policy", folder, "*.yml"))
	if err != nil || len(paths) < least {
		t.Fatalf("found %d files in %s: %v", len(paths), folder, err)
	}
	files := map[string][]byte{}
	for _, p := range paths {
		if files[p], err = os.ReadFile(p); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func checkGolden(t *testing.T, path string, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: %s", path, diff)
	}
}

func TestPolicyOK(t *testing.T) {
	t.Parallel()
	for path, data := range policyFiles(t, "ok", 5) {
		p, err := approval.ParsePolicy("policy.yml", data)
		if err != nil || !p.Valid() {
			t.Errorf("%s: %v", path, err)
			continue
		}
		text, err := json.MarshalIndent(p, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		checkGolden(t, strings.TrimSuffix(path, ".yml")+".json", string(text)+"\n")
	}
}

func TestPolicyErr(t *testing.T) {
	t.Parallel()
	for path, data := range policyFiles(t, "err", 50) {
		p, err := approval.ParsePolicy("policy.yml", data)
		var problems approval.Problems
		if !errors.As(err, &problems) || len(problems) == 0 {
			t.Errorf("%s: accepted, or no problems: %v", path, err)
			continue
		}
		if p.Valid() || p.Threshold != 0 || p.Keys != "" {
			t.Errorf("%s: a refused policy holds values: %+v", path, p)
		}
		checkGolden(t, strings.TrimSuffix(path, ".yml")+".txt", err.Error()+"\n")
	}
}

func TestPolicyDefaults(t *testing.T) {
	t.Parallel()
	p, err := approval.ParsePolicy("p", []byte("version: 1\nproject: 7b1c9f0e4a5d4e6f\nrepository: owner/name\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := approval.Policy{
		Version: 1, Project: "7b1c9f0e4a5d4e6f", Repository: "owner/name", Ledgers: []string{"GATES.md"}, Threshold: 1,
		Inputs: approval.InputsOptional, Removal: approval.RemovalDeny, Manual: approval.ManualSigned, Keys: approval.KeysAny,
		Clean: approval.CleanRequired, Shell: "/bin/sh", Jobs: 1,
	}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Error(diff)
	}
	if (approval.Policy{}).Valid() || (approval.Policy{}).Governs("main", "main") {
		t.Error("the zero policy allows something")
	}
}

func TestPolicySize(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		strings.Repeat("a: 1\n", approval.MaxPolicy),
		strings.Repeat("[", 60_000),
		strings.Repeat("{a: ", 15_000),
		strings.Repeat("- ", 30_000),
		strings.Repeat("? ", 30_000),
		strings.Repeat("a:\n ", 15_000),
		strings.Repeat("a:\n ", 399),
		strings.Repeat(strings.Repeat("a: ", 13)+"\n", 399),
		strings.Repeat(strings.Repeat("[", 39)+"\n", 399),
		strings.Repeat("- - - - - - - - - - - - - - - - - - - \n", 399),
		strings.Repeat("a: &a\n", 399),
		strings.Repeat(" ", 60_000) + "a",
		strings.Repeat("a: 1\n", 13_000),
		strings.Repeat("--- a\n", 10_000),
		`a: "` + strings.Repeat(`\`, 60_000),
	} {
		start := time.Now()
		if _, err := approval.ParsePolicy("p", []byte(text)); err == nil {
			t.Errorf("accepted %.20q…", text)
		}
		t.Logf("%.20q: %v", text, time.Since(start))
	}
}

func TestGovernsAndKinds(t *testing.T) {
	t.Parallel()
	p := validRoot().Policy
	p.Branches = []string{"release/1.x"}
	p.Ledgers = []string{"GATES.md", "gates/*.md"}
	p.Tasks = []string{"todo/**"}
	for base, want := range map[string]bool{
		"main": true, "release/1.x": true, "release/1": false, "feature-x": false, "": false, "Main": false, "refs/heads/main": false, "main-evil": false,
	} {
		if got := p.Governs("main", base); got != want {
			t.Errorf("%q governed: %v", base, got)
		}
	}
	for path, want := range map[string]approval.Kind{
		"GATES.md": approval.Standing, "gates/a.md": approval.Standing, "gates/x/a.md": approval.Task, "todo/x": approval.Task, "gates.md": approval.Task,
	} {
		if got := p.KindOf(path); got != want {
			t.Errorf("%s is %s", path, got)
		}
	}
	if got := (approval.Policy{}).KindOf("GATES.md"); got != approval.Task {
		t.Errorf("without a policy: %s", got)
	}
	if s := approval.KindNone.String() + approval.Standing.String() + approval.Task.String(); s != "nonestandingtask" {
		t.Error(s)
	}
}

func FuzzPolicy(f *testing.F) {
	for _, data := range policyFiles(f, "ok", 5) {
		f.Add(data)
	}
	for _, data := range policyFiles(f, "err", 50) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := approval.ParsePolicy("policy.yml", data)
		if err != nil {
			var problems approval.Problems
			if !errors.As(err, &problems) || p.Valid() {
				t.Fatalf("refused without a problem: %v", err)
			}
			return
		}
		if !p.Valid() || p.Threshold < 1 || p.Jobs < 1 || p.Jobs > 64 || len(data) > approval.MaxPolicy {
			t.Fatalf("accepted %+v", p)
		}
		if p.Keys != approval.KeysAny && p.Keys != approval.KeysHardware {
			t.Fatalf("keys %q", p.Keys)
		}
	})
}
