package action

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func parse(inputs map[string]string) (Inputs, error) {
	all := map[string]string{"github_token": "ghs_0123456789"}
	for k, v := range inputs {
		all[k] = v
	}
	return ParseInputs(func(name string) string { return all[name] }, "https://api.github.com")
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	in, err := parse(nil)
	if err != nil || in.Mode != ModeRun || in.Comment != "failures" || !in.Annotations || in.CheckName != "gatesworn report" || in.ReportFile != ".gatesworn-out/report.json" || in.Jobs != 0 {
		t.Errorf("%+v %v", in, err)
	}
}

func TestInputs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, value string
		ok          bool
	}{
		{"jobs", "1", true},
		{"jobs", "64", true},
		{"jobs", "65", false},
		{"jobs", "0", false},
		{"jobs", "01", false},
		{"jobs", "1e1", false},
		{"jobs", "0x4", false},
		{"jobs", "+4", false},
		{"jobs", "4.0", false},
		{"ledger", "a.md\nb/c.md", true},
		{"ledger", "../a.md", false},
		{"ledger", "/etc/passwd", false},
		{"ledger", "a/../b.md", false},
		{"ledger", ".git/config", false},
		{"ledger", ".gatesworn/policy.yml", false},
		{"ledger", "gates/*.md", false},
		{"ledger", `a\b.md`, false},
		{"comment", "always", true},
		{"comment", "Always", false},
		{"comment", "sometimes", false},
		{"annotations", "false", true},
		{"annotations", "no", false},
		{"mode", "measure", true},
		{"mode", "skip", false},
		{"report_file", ".gatesworn-out/x.json", true},
		{"report_file", "GATES.md", false},
		{"report_file", ".gatesworn-out/../GATES.md", false},
		{"report_file", ".gatesworn-out/a/b.json", false},
		{"report_file", "/tmp/x", false},
		{"trust_ref", "release/1.x", true},
		{"trust_ref", "a b", false},
		{"trust_ref", "a..b", false},
		{"check_name", "a\nb", false},
		{"api_url", "https://api.github.com/", true},
		{"api_url", "http://127.0.0.1:8080", true},
		{"api_url", "http://localhost:8080", true},
		{"api_url", "https://api.github.com.evil.example", false},
		{"api_url", "http://127.0.0.1.evil.example", false},
		{"api_url", "http://u:p@127.0.0.1", false},
		{"api_url", "file:///etc/passwd", false},
	} {
		_, err := parse(map[string]string{c.name: c.value})
		if (err == nil) != c.ok {
			t.Errorf("%s %q: %v", c.name, c.value, err)
		}
		if err != nil && !strings.Contains(err.Error(), "input "+c.name) {
			t.Errorf("%s %q is not named: %v", c.name, c.value, err)
		}
	}
	if _, err := parse(map[string]string{"github_token": ""}); err == nil {
		t.Error("no token")
	}
	_, err := parse(map[string]string{"jobs": "x", "mode": "y"})
	if err == nil || !strings.Contains(err.Error(), "jobs") || !strings.Contains(err.Error(), "mode") {
		t.Errorf("not everything is named: %v", err)
	}
}

// TestInputsNeverRelax: whatever is given, what comes out is within its bounds.
func TestInputsNeverRelax(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		given := map[string]string{}
		for _, name := range InputNames() {
			given[name] = rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "1", "run", "a.md", "../x", "main"})).Draw(t, name)
		}
		in, err := ParseInputs(func(n string) string { return given[n] }, "https://api.github.com")
		if err != nil {
			return
		}
		if in.Jobs < 0 || in.Jobs > 64 || in.Token == "" || !strings.HasPrefix(in.ReportFile, ".gatesworn-out/") || strings.Contains(in.ReportFile, "..") {
			t.Fatalf("%+v", in)
		}
		for _, l := range in.Ledgers {
			if strings.HasPrefix(l, "/") || strings.Contains(l, "..") && checkRelative(l) != nil {
				t.Fatalf("ledger %q", l)
			}
		}
	})
}

func TestTakeSecrets(t *testing.T) {
	t.Parallel()
	env := []string{
		"PATH=/bin", "INPUT_GITHUB_TOKEN=a", "GITHUB_TOKEN=b", "ACTIONS_RUNTIME_TOKEN=c", "ACTIONS_ID_TOKEN_REQUEST_URL=d",
		"AWS_SECRET_ACCESS_KEY=e", "DEPLOY_KEY=f", "INPUT_JOBS=4", "GITHUB_SHA=x", "HOME=/", "input_github_token=g", "ACTIONS_RUNTIME_URL=h",
	}
	rest, secrets := TakeSecrets(env)
	if got := strings.Join(rest, " "); got != "PATH=/bin INPUT_JOBS=4 GITHUB_SHA=x HOME=/" {
		t.Errorf("left in the environment: %s", got)
	}
	if len(secrets) != 8 {
		t.Errorf("secrets %v", secrets)
	}
}

func FuzzReadEvent(f *testing.F) {
	f.Add("pull_request", `{"action":"opened","pull_request":{"number":1,"head":{"sha":"`+strings.Repeat("a", 40)+`"}}}`)
	f.Add("merge_group", `{"merge_group":{"head_sha":"`+strings.Repeat("a", 40)+`","base_ref":"refs/heads/main"}}`)
	f.Add("push", `{}`)
	f.Add("pull_request_target", `{}`)
	f.Fuzz(func(t *testing.T, name, payload string) {
		s := Signal{Name: name, SHA: strings.Repeat("a", 40), Ref: "refs/heads/main", Payload: []byte(payload)}
		e, err := ReadEvent(s)
		if err != nil {
			return
		}
		switch e.Name {
		case "pull_request":
			if e.Number < 1 || !commitName.MatchString(e.Head) {
				t.Errorf("%+v", e)
			}
		case "merge_group", "push", "workflow_dispatch":
			if e.Base == "" || e.Number != 0 {
				t.Errorf("%+v", e)
			}
		default:
			t.Errorf("event %q is accepted", name)
		}
	})
}
