package lint_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/gatesworn/gatesworn/gates/lint"
)

// TestDocsListEveryRule: the table in docs/usage.md is Rules, in its order.
func TestDocsListEveryRule(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../docs/usage.md")
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	for _, r := range lint.Rules() {
		fmt.Fprintf(&table, "| `%s` | %s |\n", r.Name, r.Says)
	}
	if !strings.Contains(string(data), "|---|---|\n"+table.String()+"\n") {
		t.Errorf("docs/usage.md should hold this table:\n%s", table.String())
	}
}
