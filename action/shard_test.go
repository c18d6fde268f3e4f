package action

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatesworn/gatesworn/action/actiontest"
	"github.com/gatesworn/gatesworn/gates"
)

// shards measures both parts of a run of two and leaves their reports in the workspace.
func shards(t *testing.T, w *actiontest.World) (results []result, paths string) {
	t.Helper()
	w.May = map[string]string{"contents": "read", "pull_requests": "read"}
	for i := range 2 {
		name := fmt.Sprintf(".gatesworn-out/part-%d.json", i+1)
		results = append(results, runAction(t, w, map[string]string{"mode": "measure", "shard": fmt.Sprintf("%d/2", i+1)}))
		data, err := os.ReadFile(filepath.Join(w.Top, DefaultReport))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(w.Top, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
		paths += name + "\n"
	}
	w.May = map[string]string{"contents": "read", "pull_requests": "write", "checks": "write"}
	return results, paths
}

// TestShards: two machines measure one gate each, a third publishes both as one.
func TestShards(t *testing.T) {
	t.Parallel()
	w := signedWorld(t, "", nil)
	parts, paths := shards(t, w)
	for i, r := range parts {
		r.needs(t, r.code == 0 && r.report.Verdict == gates.VerdictPartial && r.report.Part != nil && r.report.Part.I == i+1 && r.report.Counts.Met == 1, "a part")
	}
	p := runAction(t, w, map[string]string{"mode": "publish", "report_file": paths})
	checks := w.Checks()
	p.needs(t, p.code == 0 && len(checks) == 1 && checks[0].Conclusion == "success" && checks[0].Title == "2 of 2 gates met", "one success")
}

// TestShardsThatDoNotFit: a part that failed, is missing, or is not its own, ends red.
func TestShardsThatDoNotFit(t *testing.T) {
	t.Parallel()
	failing := signedWorld(t, "", func(files actiontest.Files, _ actiontest.Signer) actiontest.Files {
		return files.With(actiontest.Files{"README.md": ""})
	})
	parts, paths := shards(t, failing)
	if parts[0].code+parts[1].code == 0 {
		t.Errorf("codes %d and %d", parts[0].code, parts[1].code)
	}
	p := runAction(t, failing, map[string]string{"mode": "publish", "report_file": paths})
	p.needs(t, p.code == 1 && len(failing.Checks()) == 1 && failing.Checks()[0].Conclusion == "failure", "a failed part fails the whole")

	for name, list := range map[string]func(paths []string) string{
		"missing":     func(p []string) string { return p[0] + "\n.gatesworn-out/part-3.json" },
		"only one":    func(p []string) string { return p[0] },
		"the same":    func(p []string) string { return p[0] + "\n" + p[0] },
		"one outside": func(p []string) string { return p[0] + "\n../part-2.json" },
		"a whole run": func(p []string) string { return p[0] + "\n" + DefaultReport },
	} {
		w := signedWorld(t, "", nil)
		_, paths := shards(t, w)
		if name == "a whole run" {
			w.May["checks"] = ""
			runAction(t, w, map[string]string{"mode": "measure"})
			w.May["checks"] = "write"
		}
		p := runAction(t, w, map[string]string{"mode": "publish", "report_file": list(strings.Fields(paths))})
		p.needs(t, p.code == 2, name)
		for _, c := range w.Checks() {
			p.needs(t, c.Conclusion != "success", name)
		}
	}
	for _, in := range []map[string]string{
		{"mode": "measure", "shard": "3/2"},
		{"mode": "run", "shard": "1/2"},
		{"shard": "1/2"},
		{"mode": "publish", "shard": "1/2"},
		{"mode": "measure", "shard": "1/3"},
		{"mode": "measure", "shard": "1/2:0123456789ab01"},
		{"mode": "measure", "report_file": ".gatesworn-out/a\n.gatesworn-out/b"},
	} {
		w := signedWorld(t, "", nil)
		r := runAction(t, w, in)
		r.needs(t, r.code == 2, fmt.Sprint(in))
	}
}
