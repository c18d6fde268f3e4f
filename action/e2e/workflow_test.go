package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/gatesworn/gatesworn/action"
)

// TestWorkflows has actionlint look at every workflow that we show or run.
func TestWorkflows(t *testing.T) {
	t.Parallel()
	lint := os.Getenv("ACTIONLINT")
	if lint == "" {
		if os.Getenv("REQUIRE_TOOLS") == "1" {
			t.Fatal("actionlint is missing; run: make e2e")
		}
		t.Skip("actionlint is missing; run: make e2e")
	}
	var files []string
	for _, pattern := range []string{"../../examples/*.yml", "../../.github/workflows/*.yml"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		files = append(files, found...)
	}
	template, err := os.ReadFile("../../cmd/gatesworn/template/gatesworn.yml")
	if err != nil {
		t.Fatal(err)
	}
	filled := filepath.Join(t.TempDir(), "gatesworn.yml")
	text := strings.NewReplacer("{{branch}}", "main", "{{commit}}", strings.Repeat("a", 40), "{{version}}", "v1").Replace(string(template))
	if err := os.WriteFile(filled, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(lint, append([]string{"-no-color", "-shellcheck=", "-pyflakes="}, append(files, filled)...)...).CombinedOutput(); err != nil {
		t.Errorf("actionlint: %v\n%s", err, out)
	}
}

// metadata is an action's description.
type metadata struct {
	Name, Description string
	Inputs            map[string]struct {
		Description string
		Required    bool
		Default     string
	}
	Outputs map[string]struct{ Description, Value string }
	Runs    struct {
		Using, Image string
		Steps        []struct {
			Env map[string]string
		}
	}
}

// TestActionFiles compares both descriptions with each other and with the code.
func TestActionFiles(t *testing.T) {
	t.Parallel()
	read := func(name string) metadata {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var m metadata
		if err := yaml.Unmarshal(data, &m); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return m
	}
	container, host := read("../../action.yml"), read("../../host/action.yml")
	if container.Runs.Using != "docker" || host.Runs.Using != "composite" || container.Name == "" || host.Name == "" {
		t.Errorf("using %q and %q", container.Runs.Using, host.Runs.Using)
	}
	for _, name := range action.InputNames() {
		c, okC := container.Inputs[name]
		h, okH := host.Inputs[name]
		if !okC || !okH || c != h || c.Description == "" {
			t.Errorf("input %s: %+v and %+v", name, c, h)
		}
		if got := host.Runs.Steps[0].Env["INPUT_"+strings.ToUpper(name)]; got != "${{ inputs."+name+" }}" {
			t.Errorf("host: input %s is passed as %q", name, got)
		}
	}
	if len(container.Inputs) != len(action.InputNames()) || len(host.Inputs) != len(action.InputNames()) {
		t.Error("an input that the code does not know")
	}
	for name, c := range container.Outputs {
		if h := host.Outputs[name]; h.Description != c.Description || h.Value != "${{ steps.gatesworn.outputs."+name+" }}" {
			t.Errorf("output %s: %+v and %+v", name, c, h)
		}
	}
	if len(container.Outputs) != len(host.Outputs) {
		t.Error("different outputs")
	}
	get := func(name string) string {
		d := container.Inputs[name].Default
		return strings.NewReplacer("${{ github.token }}", "token", "${{ github.api_url }}", "https://api.github.com").Replace(d)
	}
	if _, err := action.ParseInputs(get, "https://api.github.com"); err != nil {
		t.Errorf("the defaults are refused: %v", err)
	}
}
