package approval_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/gates/ledger"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden are the oracles whose bytes and digests must never change.
func golden() map[string]approval.Oracle {
	full := baseOracle()
	least := approval.NewOracle("7b1c9f0e4a5d4e6f", "GATES.md", ".", ledger.Gate{
		ID: "G1", Outcome: "it builds", Check: "make", Expect: "/^/",
	}, nil)
	manual := approval.NewOracle("7b1c9f0e4a5d4e6f", "gates/release.md", "packages/x", ledger.Gate{
		ID: "QA.1", Outcome: "somebody looked at it",
	}, nil)
	text := approval.NewOracle("", "docs/GÄTES.md", "dir with blank", ledger.Gate{
		ID: "g-1_x", Outcome: "<b>&amp; \"quotes\" \\ / \u2028 \u007f é 𝄞", Check: "printf '\t%s' a && b > c", Expect: "/<\\/b>\\n$/m",
	}, nil)
	return map[string]approval.Oracle{"full": full, "least": least, "manual": manual, "text": text}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, o := range golden() {
		path := filepath.Join("testdata", "oracle", name+".json")
		if *update {
			if err := os.WriteFile(path, o.Canonical(), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(strings.TrimSuffix(path, ".json")+".digest", []byte(o.Digest()+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(o.Canonical())); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		digest, err := os.ReadFile(strings.TrimSuffix(path, ".json") + ".digest")
		if err != nil || strings.TrimSpace(string(digest)) != o.Digest() {
			t.Errorf("%s: digest %s, want %s (%v)", name, o.Digest(), digest, err)
		}
		back, err := approval.ParseOracle(want)
		if err != nil || back.Digest() != o.Digest() {
			t.Errorf("%s: parsed back: %v", name, err)
		}
	}
}

func TestCanonicalKeys(t *testing.T) {
	t.Parallel()
	o := golden()["least"]
	want := `{"v":1,"project":"7b1c9f0e4a5d4e6f","ledger":"GATES.md","gate":"G1","outcome":"it builds","check":"make","expect":"/^/","cwd":".",` +
		`"timeout":null,"needs":[],"inputPatterns":[],"reads":[],"writes":[],"env":[],"inputs":null}`
	if got := string(o.Canonical()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := string(golden()["manual"].Canonical()); !strings.Contains(got, `"check":null,"expect":null`) {
		t.Errorf("manual: %s", got)
	}
}

func TestParseOracleRefuses(t *testing.T) {
	t.Parallel()
	good := string(baseOracle().Canonical())
	replace := func(old, new string) string {
		t.Helper()
		if !strings.Contains(good, old) {
			t.Fatalf("%q is not in %s", old, good)
		}
		return strings.Replace(good, old, new, 1)
	}
	bad := map[string]string{
		"empty":               "",
		"null":                "null",
		"a space":             replace(`"v":1`, `"v": 1`),
		"a newline":           good + "\n",
		"text after":          good + good,
		"another version":     replace(`"v":1`, `"v":2`),
		"version 1.0":         replace(`"v":1`, `"v":1.0`),
		"key in another case": replace(`"check"`, `"Check"`),
		"repeated key":        replace(`"check":`, `"check":"x","check":`),
		"unknown key":         replace(`"v":1`, `"v":1,"trusted":true`),
		"key order":           replace(`"gate":"G1","outcome":"the installer can run twice"`, `"outcome":"the installer can run twice","gate":"G1"`),
		"missing key":         replace(`"env":["DATABASE"],`, ``),
		"null list":           replace(`"needs":["G2"]`, `"needs":null`),
		"escaped text":        replace(`READY`, `\u0052EADY`),
		"escaped slash":       replace(`scripts/install.sh --twice`, `scripts\/install.sh --twice`),
		"invalid UTF-8":       replace(`READY`, "READ\xff"),
		"lone surrogate":      replace(`READY`, `\ud800`),
		"U+FFFD":              replace(`READY`, "\ufffd"),
		"NUL":                 replace(`READY`, `\u0000`),
		"check without":       replace(`"check":"sh scripts/install.sh --twice"`, `"check":null`),
		"blank check":         replace(`"check":"sh scripts/install.sh --twice"`, `"check":" "`),
		"blank outcome":       replace(`the installer can run twice`, ` `),
		"gate id":             replace(`"G1"`, `"-G1"`),
		"project":             replace(`"7b1c9f0e4a5d4e6f"`, `"7b1c"`),
		"timeout 0":           replace(`"timeout":30`, `"timeout":0`),
		"timeout 86401":       replace(`"timeout":30`, `"timeout":86401`),
		"timeout text":        replace(`"timeout":30`, `"timeout":"30"`),
		"inputs null":         good[:strings.Index(good, `"inputs":`)] + `"inputs":null}`,
		"no patterns":         replace(`"inputPatterns":["scripts/*.sh"]`, `"inputPatterns":[]`),
		"link mode":           replace(`100644`, `120000`),
		"upper-case digest":   strings.Replace(good, `"sha256":"`, `"sha256":"A`, 1),
		"input path":          replace(`"path":"scripts/install.sh"`, `"path":"scripts//install.sh"`),
		"input outside":       replace(`"path":"scripts/install.sh"`, `"path":"../install.sh"`),
		"cwd empty":           replace(`"cwd":"."`, `"cwd":""`),
		"cwd outside":         replace(`"cwd":"."`, `"cwd":".."`),
		"cwd slash":           replace(`"cwd":"."`, `"cwd":"sub/"`),
		"too long":            replace(`READY`, strings.Repeat("x", approval.MaxOracle)),
	}
	twice := baseOracle()
	twice.Inputs = append(twice.Inputs, twice.Inputs[0])
	if twice.Digest() != "" || twice.Canonical() != nil {
		t.Error("an input that is there twice has a digest")
	}
	for name, text := range bad {
		if o, err := approval.ParseOracle([]byte(text)); !errors.Is(err, approval.ErrOracle) {
			t.Errorf("%s: got %v, %v", name, o, err)
		}
	}
	if (approval.Oracle{}).Digest() != "" {
		t.Error("the zero oracle has a digest")
	}
}

// genOracle draws valid oracles.
func genOracle(t *rapid.T) approval.Oracle {
	text := rapid.StringMatching(`[a-z<>&"\\/é𝄞 ]{0,6}[a-zA-Z"<\\]`)
	name := rapid.StringMatching(`[a-z]{1,4}(/[a-z.]{1,4}[a-z])?`)
	list := rapid.SliceOfN(text, 0, 3)
	o := approval.Oracle{
		V: 1, Project: rapid.StringMatching(`[a-f0-9]{16}`).Draw(t, "project"), Ledger: name.Draw(t, "ledger"),
		Gate: rapid.StringMatching(`[A-Z][0-9]{1,2}`).Draw(t, "gate"), Outcome: text.Draw(t, "outcome"), CWD: name.Draw(t, "cwd"),
		Needs: list.Draw(t, "needs"), InputPatterns: list.Draw(t, "patterns"), Reads: list.Draw(t, "reads"),
		Writes: list.Draw(t, "writes"), Env: list.Draw(t, "env"),
	}
	if rapid.Bool().Draw(t, "runnable") {
		o.Check, o.Expect = ptr(text.Draw(t, "check")), ptr(text.Draw(t, "expect"))
	}
	if rapid.Bool().Draw(t, "timed") {
		o.Timeout = ptr(rapid.IntRange(1, approval.MaxTimeout).Draw(t, "timeout"))
	}
	if len(o.InputPatterns) > 0 {
		o.Inputs = []approval.BoundFile{}
		for _, p := range rapid.SliceOfNDistinct(name, 0, 3, rapid.ID[string]).Draw(t, "files") {
			mode := rapid.SampledFrom([]string{approval.ModeFile, approval.ModeExecutable, approval.ModeSubmodule}).Draw(t, "mode")
			o.Inputs = append(o.Inputs, bound(p, mode, text.Draw(t, "data")))
		}
		sort.Slice(o.Inputs, func(i, j int) bool { return o.Inputs[i].Path < o.Inputs[j].Path })
	}
	return o
}

func TestCanonicalRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		o := genOracle(t)
		c := o.Canonical()
		back, err := approval.ParseOracle(c)
		if err != nil {
			t.Fatalf("%v\n%s", err, c)
		}
		if !bytes.Equal(back.Canonical(), c) || back.Digest() != o.Digest() {
			t.Fatalf("not the identity: %s", c)
		}
		var loose map[string]any
		if err := json.Unmarshal(c, &loose); err != nil || len(loose) != 15 {
			t.Fatalf("an independent reader: %v, %d keys", err, len(loose))
		}
	})
}

// TestEveryFieldCounts edits one field of a drawn oracle and wants another digest.
func TestEveryFieldCounts(t *testing.T) {
	t.Parallel()
	fields := reflect.TypeFor[approval.Oracle]()
	rapid.Check(t, func(t *rapid.T) {
		a, b := genOracle(t), genOracle(t)
		field := rapid.IntRange(1, fields.NumField()-1).Draw(t, "field")
		c := a
		reflect.ValueOf(&c).Elem().Field(field).Set(reflect.ValueOf(b).Field(field))
		same := bytes.Equal(jsonOf(t, a), jsonOf(t, c))
		if c.Digest() == a.Digest() && !same {
			t.Fatalf("%s: two definitions share %s", fields.Field(field).Name, a.Digest())
		}
		if c.Digest() != "" && !same && len(approval.Diff(a, c)) == 0 {
			t.Fatalf("%s: Diff sees nothing", fields.Field(field).Name)
		}
		if same && len(approval.Diff(a, c)) != 0 {
			t.Fatalf("%s: Diff sees %v", fields.Field(field).Name, approval.Diff(a, c))
		}
	})
}

func jsonOf(t *rapid.T, o approval.Oracle) []byte {
	data, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func FuzzParseOracle(f *testing.F) {
	for _, o := range golden() {
		f.Add(o.Canonical())
	}
	f.Add([]byte(`{"v":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := approval.ParseOracle(data)
		if err != nil {
			return
		}
		if !bytes.Equal(o.Canonical(), data) {
			t.Fatalf("accepted %q, canonical is %q", data, o.Canonical())
		}
		if o.Digest() != approval.Digest(data) {
			t.Fatal("the digest is not that of the bytes")
		}
	})
}

func TestNewOracle(t *testing.T) {
	t.Parallel()
	g := ledger.Gate{
		ID: "G1", Outcome: "o", Check: "c", Expect: "e", Inputs: []string{"a"}, Needs: []string{"G2"}, Timeout: 5,
		Attributes: []ledger.Attribute{{Key: ledger.Inputs, Value: "a"}, {Key: ledger.Timeout, Value: "5"}},
	}
	o := approval.NewOracle("", "GATES.md", ".", g, nil)
	if o.Inputs == nil || len(o.Inputs) != 0 || *o.Timeout != 5 || !o.Runnable() {
		t.Errorf("got %+v", o)
	}
	g.Needs[0] = "changed"
	if o.Needs[0] != "G2" {
		t.Error("the oracle shares memory with the ledger")
	}
	if d := approval.Decide(approval.Request{Mode: approval.ModeLocal, Oracle: o, Local: approval.Local{Approved: true, ID: "x"}}); d.Allowed {
		t.Error("INPUTS that were not bound are approved")
	}
	if approval.Decide(approval.Request{}).Allowed {
		t.Error("the zero request is allowed")
	}
}
