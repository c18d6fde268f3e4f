package hook

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gatesworn/gatesworn/internal/safefile"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const program = "/opt/my tools/gatesworn"

const ours = `'/opt/my tools/gatesworn' hook stop`

const entryText = `        "hooks": [
          {
            "type": "command",
            "command": "'/opt/my tools/gatesworn' hook stop",
            "timeout": 20
          }
        ]
`

func TestInstallText(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, old, want string }{
		{"empty object", "{}\n", "{\n  \"hooks\": {\n    \"Stop\": [\n      {\n" + entryText + "      }\n    ]\n  }\n}\n"},
		{"beside other settings", "{\n  \"model\": \"x\",\n  \"n\": 1e3\n}", "{\n  \"model\": \"x\",\n  \"n\": 1e3,\n  \"hooks\": {\n    \"Stop\": [\n      {\n" + entryText + "      }\n    ]\n  }\n}"},
		{"beside another event", "{\n  \"hooks\": {\n    \"PreToolUse\": []\n  }\n}\n", "{\n  \"hooks\": {\n    \"PreToolUse\": [],\n    \"Stop\": [\n      {\n" + entryText + "      }\n    ]\n  }\n}\n"},
		{"empty event", "{\n  \"hooks\": {\n    \"Stop\": []\n  }\n}\n", "{\n  \"hooks\": {\n    \"Stop\": [\n      {\n" + entryText + "      }\n    ]\n  }\n}\n"},
		{
			"beside another handler", "{\n  \"hooks\": {\n    \"Stop\": [\n      { \"hooks\": [ {\"type\":\"command\",\"command\":\"say done\"} ] }\n    ]\n  }\n}\n",
			"{\n  \"hooks\": {\n    \"Stop\": [\n      { \"hooks\": [ {\"type\":\"command\",\"command\":\"say done\"} ] },\n      {\n" + entryText + "      }\n    ]\n  }\n}\n",
		},
		{"one line", `{"a":1}`, `{"a":1,"hooks":{"Stop":[{"hooks":[{"type":"command","command":"` + ours + `","timeout":20}]}]}}`},
		{"one line, empty event", `{"hooks":{"Stop":[]}}`, `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"` + ours + `","timeout":20}]}]}}`},
		{
			"tabs and CRLF", "{\r\n\t\"a\": \"<&>\\u00e9\"\r\n}\r\n",
			strings.ReplaceAll("{\n\t\"a\": \"<&>\\u00e9\",\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t{\n\t\t\t\t\"hooks\": [\n\t\t\t\t\t{\n\t\t\t\t\t\t\"type\": \"command\",\n\t\t\t\t\t\t\"command\": \""+ours+"\",\n\t\t\t\t\t\t\"timeout\": 20\n\t\t\t\t\t}\n\t\t\t\t]\n\t\t\t}\n\t\t]\n\t}\n}\n", "\n", "\r\n"),
		},
		{"moved", `{"hooks":{"Stop":[{"matcher":"","hooks":[{"command":"/old/gatesworn hook stop --scope x","type":"command","timeout":7}]}]}}`, `{"hooks":{"Stop":[{"matcher":"","hooks":[{"command":"` + ours + `","type":"command","timeout":7}]}]}}`},
		{"there twice", `{"hooks":{"Stop":[{"hooks":[{"command":"` + ours + `"},{"command":"b"},{"command":"\"C:\\x\\gatesworn.exe\" hook stop"}]},{"hooks":[{"command":"` + ours + `"}]}]}}`, `{"hooks":{"Stop":[{"hooks":[{"command":"` + ours + `"},{"command":"b"}]}]}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, _, err := install([]byte(tt.old), ours, false)
			must(t, err)
			if d := cmp.Diff(tt.want, string(out)); d != "" {
				t.Fatal(d)
			}
			again, _, err := install(out, ours, false)
			if err != nil || string(again) != string(out) {
				t.Errorf("installing twice: %v\n%s", err, again)
			}
			if tt.name == "moved" || tt.name == "there twice" || strings.Contains(tt.name, "empty event") {
				return
			}
			back, n, err := uninstall(out)
			if err != nil || n != 1 || string(back) != tt.old {
				t.Errorf("uninstalling gives %q, %d, %v", back, n, err)
			}
		})
	}
}

func TestRecognition(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]bool{
		"gatesworn hook stop": true, ours: true, "/a/gatesworn hook stop --scope x": true, `"C:\p q\gatesworn.exe" hook stop`: true, "/a/gatesworn-1.0  hook  stop": true,
		`'/it'\''s/gatesworn' hook stop`: true,
		"gatesworn hook stopper":         false, "gatesworn check": false, "echo gatesworn hook stop": false, "/gatesworn/other hook stop": false, "": false, "cd x && gatesworn hook stop": false,
	} {
		if isOurs(command) != want {
			t.Errorf("%q: want %v", command, want)
		}
	}
	for command, want := range map[string]bool{
		"'/usr/bin/node' '/x/stop-hook.mjs' --unlazy-hook-v2": true, "node ~/.claude/skills/unlazy/scripts/stop-hook.mjs": true,
		"node stop-hook.mjs": false, ours: false, "echo unlazy": false,
	} {
		if unlazyCommand.MatchString(command) != want {
			t.Errorf("%q: want %v", command, want)
		}
	}
}

func TestUnlazyMakesWay(t *testing.T) {
	t.Parallel()
	theirs := `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"'/usr/bin/node' '/x/stop-hook.mjs' --unlazy-hook-v2 --scope api","timeout":20},{"command":"b"}]}]}}`
	root := tree(t, ".claude/settings.local.json", theirs)
	c := Claude{Root: root}
	_, err := c.Install(program, "", false)
	if e := new(SettingsError); !errors.Is(err, ErrUnlazy) || !errors.As(err, &e) || e.File != c.File() {
		t.Fatal(err)
	}
	if read(t, root, ".claude/settings.local.json") != theirs {
		t.Error("a refusal changed the file")
	}
	o, err := c.Install(program, "", true)
	must(t, err)
	want := `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"` + ours + ` --scope api","timeout":20},{"command":"b"}]}]}}`
	if got := read(t, root, ".claude/settings.local.json"); got != want || o.Replaced != 1 || !o.Changed {
		t.Errorf("%s %+v", got, o)
	}
}

func TestClaudeFiles(t *testing.T) {
	t.Parallel()
	root, home := tree(t), tree(t)
	for place, file := range map[Place]string{Local: root + "/.claude/settings.local.json", Shared: root + "/.claude/settings.json", Global: home + "/.claude/settings.json"} {
		c := Claude{Root: root, Home: home, Place: place}
		o, err := c.Install(program, "", false)
		must(t, err)
		if filepath.ToSlash(o.File) != filepath.ToSlash(file) || !o.Changed || o.Backup != "" || o.Repaired {
			t.Errorf("%+v", o)
		}
		first, err := os.ReadFile(o.File)
		must(t, err)
		if !json.Valid(first) {
			t.Errorf("%s", first)
		}
		if o, err = c.Install(program, "", false); err != nil || o.Changed {
			t.Errorf("twice: %+v %v", o, err)
		}
		if o, err = c.Install("/elsewhere/gatesworn", "s", false); err != nil || !o.Changed || !o.Repaired || o.Backup != o.File+".bak" {
			t.Errorf("moved: %+v %v", o, err)
		}
		if kept, err := os.ReadFile(o.Backup); err != nil || string(kept) != string(first) {
			t.Errorf("backup %s %v", kept, err)
		}
		if o, err = c.Uninstall(); err != nil || o.Removed != 1 || !o.Changed {
			t.Errorf("%+v %v", o, err)
		}
		if got, _ := os.ReadFile(o.File); string(got) != "{}\n" {
			t.Errorf("%q", got)
		}
		if o, err = c.Uninstall(); err != nil || o.Removed != 0 || o.Changed {
			t.Errorf("%+v %v", o, err)
		}
	}
	if o, err := (Claude{Root: tree(t)}).Uninstall(); err != nil || o.Changed {
		t.Errorf("%+v %v", o, err)
	}
}

func TestSettingsKeepTheirMode(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no modes")
	}
	root := tree(t, ".claude/settings.local.json", "{}")
	file := filepath.Join(root, ".claude", "settings.local.json")
	must(t, os.Chmod(file, 0o600))
	_, err := (Claude{Root: root}).Install(program, "", false)
	must(t, err)
	for _, f := range []string{file, file + ".bak"} {
		if info, err := os.Stat(f); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", f, info.Mode(), err)
		}
	}
}

func TestMalformedSettingsAreLeftAlone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", " ", "{", "[]", "null", "{\"a\":1} x", "// c\n{}", "\ufeff{}", `{"hooks":[]}`, `{"hooks":null}`, `{"hooks":{"Stop":{}}}`, `{"hooks":{"Stop":[1]}}`, `{"hooks":{"Stop":[{}]}}`,
		`{"hooks":{"Stop":[{"hooks":{}}]}}`, `{"hooks":{"Stop":[{"hooks":[1]}]}}`, `{"hooks":{"Stop":[{"hooks":[{"command":1}]}]}}`, `{"hooks":{},"hooks":{}}`, `{"a":"` + "\xff" + `"}`,
	} {
		root := tree(t, ".claude/settings.local.json", text)
		c := Claude{Root: root}
		if _, err := c.Install(program, "", true); !errors.As(err, new(*SettingsError)) {
			t.Errorf("%q: install %v", text, err)
		}
		if _, err := c.Uninstall(); !errors.As(err, new(*SettingsError)) {
			t.Errorf("%q: uninstall %v", text, err)
		}
		if got := read(t, root, ".claude/settings.local.json"); got != text {
			t.Errorf("%q became %q", text, got)
		}
		if _, err := os.Stat(c.File() + ".bak"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestLinkedSettings(t *testing.T) {
	t.Parallel()
	root, real := tree(t, ".claude/x", ""), tree(t, "settings.json", "{}")
	link(t, filepath.Join(real, "settings.json"), filepath.Join(root, ".claude", "settings.json"))
	_, err := (Claude{Root: root, Place: Shared}).Install(program, "", false)
	if !errors.Is(err, safefile.ErrLink) || read(t, real, "settings.json") != "{}" {
		t.Error(err)
	}
	linked := tree(t)
	link(t, real, filepath.Join(linked, ".claude"))
	if _, err := (Claude{Root: linked, Place: Shared}).Install(program, "", false); err == nil || read(t, real, "settings.json") != "{}" {
		t.Errorf("a project's linked folder: %v", err)
	}
	if _, err := (Claude{Home: linked, Place: Global}).Install(program, "", false); err != nil || read(t, real, "settings.json") == "{}" {
		t.Errorf("a home's linked folder: %v", err)
	}
	if _, err := (Claude{Root: root}).Install("/x\x1b/gatesworn", "", false); err == nil {
		t.Error("a path that cannot be shown")
	}
}

// Over generated settings: everything but ours stays byte by byte, both ways, and
// the result is what another decoder expects.
func TestSettingsProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		others := rapid.SliceOfN(rapid.SampledFrom([]string{`"a" : 1`, `"permissions":{"allow":["Bash(x, \"y\")","{}[]"]}`, "\"k\":\n\t[ ]", `"hooks2":{"Stop":[]}`}), 0, 4).Draw(rt, "others")
		seen := map[string]bool{}
		var parts []string
		for _, o := range others {
			if !seen[o] {
				seen[o] = true
				parts = append(parts, o)
			}
		}
		event := rapid.SampledFrom([]string{"", `"hooks":{"Stop":[{"hooks":[{"type":"command","command":"b"}]}],"PreToolUse":[{"x":1}]}`, "\"hooks\" : {\n \"Stop\" : [\n {\"matcher\":\"*\", \"hooks\":[ ] } ] }", `"hooks":{"SessionStart":[]}`}).Draw(rt, "event")
		if event != "" {
			i := rapid.IntRange(0, len(parts)).Draw(rt, "at")
			parts = append(parts[:i:i], append([]string{event}, parts[i:]...)...)
		}
		sep := rapid.SampledFrom([]string{",", ", ", ",\n  ", " ,\n", ",\r\n\t"}).Draw(rt, "sep")
		edge := rapid.SampledFrom([]string{"", " ", "\n", "\n  "}).Draw(rt, "edge")
		old := "{" + edge + strings.Join(parts, sep) + edge + "}"
		out, _, err := install([]byte(old), ours, false)
		if err != nil {
			rt.Fatalf("%q: %v", old, err)
		}
		var before, after map[string]any
		if json.Unmarshal([]byte(old), &before) != nil || json.Unmarshal(out, &after) != nil {
			rt.Fatalf("%q became %q", old, out)
		}
		s, err := readSettings(out)
		if err != nil || len(s.pick(isOurs)) != 1 {
			rt.Fatalf("%q became %q: %v", old, out, err)
		}
		for _, p := range parts {
			if !strings.HasPrefix(p, `"hooks"`) && !strings.Contains(string(out), p) {
				rt.Fatalf("%q became %q", old, out)
			}
		}
		back, n, err := uninstall(out)
		if err != nil || n != 1 {
			rt.Fatalf("%q: %d %v", out, n, err)
		}
		if len(parts) > 0 && string(back) != old {
			rt.Fatalf("%q became %q and then %q", old, out, back)
		}
	})
}

func FuzzSettings(f *testing.F) {
	f.Add([]byte(`{"hooks":{"Stop":[{"hooks":[{"command":"gatesworn hook stop"},{"command":"x"}]},{"hooks":[]}]},"a":1}`))
	f.Add([]byte("{\n\t\"a\": 1\n}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		out, _, err := install(data, ours, true)
		if err != nil {
			return
		}
		s, err := readSettings(out)
		if err != nil || len(s.pick(isOurs)) != 1 || len(s.pick(unlazyCommand.MatchString)) != 0 {
			t.Fatalf("%q became %q: %v", data, out, err)
		}
		if again, _, err := install(out, ours, true); err != nil || string(again) != string(out) {
			t.Fatalf("twice: %q then %q: %v", out, again, err)
		}
		back, n, err := uninstall(out)
		if err != nil || n != 1 || !json.Valid(back) {
			t.Fatalf("%q became %q: %d %v", out, back, n, err)
		}
	})
}
