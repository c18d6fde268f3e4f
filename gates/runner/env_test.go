package runner

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gatesworn/gatesworn/gates/ledger"
)

func clean() EnvConfig {
	return EnvConfig{Home: "/h", Temp: "/t", User: "gatesworn", Shell: "/bin/sh"}
}

var synthetic = []string{"HOME=/h", "LOGNAME=gatesworn", "SHELL=/bin/sh", "TMPDIR=/t", "USER=gatesworn"}

func TestEnv(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*EnvConfig)
		want   EnvResult
	}{
		{"nothing", func(c *EnvConfig) {}, EnvResult{}},
		{"inherit", func(c *EnvConfig) {
			c.Mode = Inherit
			c.Parent = []string{"B=1", "GITHUB_TOKEN=x", "A=2", "B=3", "broken"}
		}, EnvResult{Vars: []string{"B=1", "GITHUB_TOKEN=x", "A=2", "B=3", "broken"}}},
		{"listed", func(c *EnvConfig) {
			c.Parent = []string{"PATH=/bin", "LANG=C", "LC_ALL=C", "LC_TIME=de", "TZ=UTC", "TERM=dumb", "CI=true", "GOPATH=/go", "pythonLocation=/py", "LD_LIBRARY_PATH=/lib"}
		}, EnvResult{Vars: []string{"PATH=/bin", "LANG=C", "LC_ALL=C", "LC_TIME=de", "TZ=UTC", "TERM=dumb", "CI=true", "GOPATH=/go", "pythonLocation=/py", "LD_LIBRARY_PATH=/lib"}}},
		{"not listed", func(c *EnvConfig) {
			c.Parent = []string{"HOME=/root", "USER=root", "TMPDIR=/tmp", "SHELL=/bin/zsh", "DATABASE_URL=x", "GITHUB_TOKEN=x", "ACTIONS_RUNTIME_TOKEN=x", "SSH_AUTH_SOCK=/s", "LD_PRELOAD=/x", "NODE_OPTIONS=x", "BASH_ENV=x", "GITHUB_ENV=/f", "path=/x", "PATHS=x", "=C:=x", "broken", "LCX=1"}
		}, EnvResult{}},
		{"named", func(c *EnvConfig) {
			c.Parent = []string{"DATABASE_URL=a=b", "PGHOST=db", "OTHER=x"}
			c.Policy, c.Gate = []string{"PGHOST"}, []string{"DATABASE_URL", "UNSET"}
		}, EnvResult{Vars: []string{"DATABASE_URL=a=b", "PGHOST=db"}}},
		{"named, never passed", func(c *EnvConfig) {
			c.Parent = []string{"LD_PRELOAD=/x", "GITHUB_TOKEN=x", "MY_SECRET=x", "HOME=/root", "OK_NAME=1"}
			c.Policy, c.Gate = []string{"LD_PRELOAD", "OK_NAME"}, []string{"GITHUB_TOKEN", "MY_SECRET", "HOME", "LD_PRELOAD"}
		}, EnvResult{Vars: []string{"OK_NAME=1"}, Refused: []string{"GITHUB_TOKEN", "HOME", "LD_PRELOAD", "MY_SECRET"}}},
		{"the first of two", func(c *EnvConfig) { c.Parent = []string{"TZ=A", "TZ=B"} }, EnvResult{Vars: []string{"TZ=A"}}},
		{"path as it is", func(c *EnvConfig) { c.Parent = []string{"PATH=:.:bin:/ws/bin"} }, EnvResult{Vars: []string{"PATH=:.:bin:/ws/bin"}}},
		{"path filtered", func(c *EnvConfig) {
			c.Parent = []string{"PATH=/usr/bin:.::bin:/ws:/ws/bin:/wsx/bin:/ws/../opt/bin:/opt/../ws/x:/ws/ok:/home/me/bin:/bin"}
			c.Path = &PathRules{Outside: []string{"/ws", "/home/me"}, Allow: []string{"/ws/ok", "bin"}}
		}, EnvResult{
			Vars:        []string{"PATH=/usr/bin:/wsx/bin:/ws/../opt/bin:/ws/ok:/bin"},
			PathDropped: []string{".", "", "bin", "/ws", "/ws/bin", "/opt/../ws/x", "/home/me/bin"},
		}},
		{"nothing left of path", func(c *EnvConfig) {
			c.Parent, c.Path = []string{"PATH="}, &PathRules{}
		}, EnvResult{PathDropped: []string{""}}},
		{"a relative folder forbids all", func(c *EnvConfig) {
			c.Parent, c.Path = []string{"PATH=/bin"}, &PathRules{Outside: []string{"ws"}}
		}, EnvResult{PathDropped: []string{"/bin"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := clean()
			tt.change(&c)
			got, err := Env(c)
			if err != nil {
				t.Fatal(err)
			}
			if c.Mode == Clean {
				tt.want.Vars = append(tt.want.Vars, synthetic...)
				slices.Sort(tt.want.Vars)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	for _, c := range []EnvConfig{{}, {Home: "/h", Temp: "t"}, {Home: "h", Temp: "/t"}} {
		if _, err := Env(c); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
	if Mode(0).String() != "clean" || Inherit.String() != "inherit" {
		t.Error("words of the flag")
	}
}

// Whatever the parent holds and whoever names it, nothing that may not be named
// gets through, and every name stands once.
func TestEnvProperties(t *testing.T) {
	t.Parallel()
	names := rapid.SampledFrom([]string{"PATH", "LANG", "LC_X", "GITHUB_TOKEN", "LD_PRELOAD", "A", "B_KEY", "HOME", "USER", "NODE_OPTIONS", "FOO", "INPUT_X", "", "a b"})
	rapid.Check(t, func(t *rapid.T) {
		c := clean()
		for _, n := range rapid.SliceOf(names).Draw(t, "parent") {
			c.Parent = append(c.Parent, n+"="+rapid.String().Draw(t, "value"))
		}
		c.Policy = rapid.SliceOf(names).Draw(t, "policy")
		c.Gate = rapid.SliceOf(names).Draw(t, "gate")
		got, err := Env(c)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, v := range got.Vars {
			name, _, _ := strings.Cut(v, "=")
			_, allowed := ledger.EnvNameAllowed(name)
			known := slices.Contains(passed[:], name) || strings.HasPrefix(name, "LC_") || slices.Contains(synthetic, v)
			if seen[name] || !known && (!allowed || !slices.Contains(slices.Concat(c.Policy, c.Gate), name)) {
				t.Fatalf("%q in %q", name, got.Vars)
			}
			seen[name] = true
		}
		if !slices.IsSorted(got.Vars) {
			t.Fatalf("not sorted: %q", got.Vars)
		}
	})
}

func TestNotPassedOn(t *testing.T) {
	t.Parallel()
	parent := []string{"DATABASE_URL=x", "GITHUB_TOKEN=x", "URL=x", "PATH=x", "PWD=/", "AB=x", "UNUSED=1"}
	passed := []string{"PATH=x"}
	tests := []struct {
		output string
		want   []NotPassed
	}{
		{"", nil},
		{"all fine", nil},
		{"KeyError: 'DATABASE_URL'", []NotPassed{{"DATABASE_URL", true}}},
		{"DATABASE_URL", []NotPassed{{"DATABASE_URL", true}}},
		{"MY_DATABASE_URL DATABASE_URLS DATABASE_URL2", nil},
		{"$GITHUB_TOKEN is empty, DATABASE_URL, DATABASE_URL", []NotPassed{{"DATABASE_URL", true}, {"GITHUB_TOKEN", false}}},
		{"PATH, PWD and AB", nil},
		{"\xff\x00URL\xff", []NotPassed{{"URL", true}}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, NotPassedOn([]byte(tt.output), parent, passed)); diff != "" {
			t.Errorf("%q: (-want +got)\n%s", tt.output, diff)
		}
	}
}
