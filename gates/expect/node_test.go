package expect

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"
)

var (
	pairs = flag.Int("pairs", 4000, "pattern and output pairs compared with Node")
	seed  = flag.Uint64("seed", 2, "seed of those pairs")
)

// answers is Node's side: true or false from one fresh test, or the message
// with which it refuses the pattern.
const answers = `
const pairs = JSON.parse(require("fs").readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(pairs.map(({source, flags, output}) => {
	try { return new RegExp(source, flags).test(output) } catch (e) { return String(e) }
})));`

type pair struct {
	Source string `json:"source"`
	Flags  string `json:"flags"`
	Output string `json:"output"`
}

// node runs script with input on standard input. Without Node the test is
// skipped, and fails where REQUIRE_TOOLS=1 says that it has to be there.
func node(t *testing.T, script string, input any) []byte {
	t.Helper()
	path, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("REQUIRE_TOOLS") == "1" {
			t.Fatal("node is required and not there")
		}
		t.Skip("no node")
	}
	data, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "-e", script)
	cmd.Stdin = bytes.NewReader(data)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// excused reports whether Node's answer says nothing about ours.
func excused(p pair, answer any) bool {
	refusal, _ := answer.(string)
	switch {
	case strings.Contains(refusal, "Duplicate capture group name"):
		return true // ECMAScript 2025 allows it in alternatives, Node 20 does not
	case strings.Contains(p.Flags, "v") && strings.Contains(p.Source, "[^]"):
		return true // Node 20: /[^]$/v.test("a") is false
	}
	return false
}

// refusedHere reports whether err is a refusal that 7-style allows: an error
// when the ledger is read instead of an answer.
func refusedHere(p pair, err error) bool {
	m := err.Error()
	return strings.Contains(m, "invalid class range") || // /[\d-x-a]/, Annex B
		strings.Contains(m, "invalid character in class") && strings.Contains(p.Flags, "v") // /-/v
}

func TestEngineAnswersAsNode(t *testing.T) {
	t.Parallel()
	g := newGenerator(*seed)
	all := make([]pair, *pairs)
	for i := range all {
		all[i].Source, all[i].Flags, all[i].Output = g.pair()
	}
	var want []any
	if err := json.Unmarshal(node(t, answers, all), &want); err != nil {
		t.Fatal(err)
	}
	e := New()
	defer e.Close()
	var matched, refused, skipped int
	for i, p := range all {
		if excused(p, want[i]) {
			skipped++
			continue
		}
		x := Expectation{Pattern: true, Text: p.Source, Flags: p.Flags}
		err := e.Validate(x.String())
		answer, accepted := want[i].(bool)
		switch {
		case !accepted:
			refused++
			if err == nil {
				t.Errorf("%q is accepted, Node refuses it: %v", x, want[i])
			}
			continue
		case err != nil && refusedHere(p, err):
			skipped++
			continue
		case err != nil:
			t.Errorf("%q: %v; Node accepts it", x, err)
			continue
		}
		got, err := e.Match(x.String(), p.Output)
		if errors.Is(err, ErrTimeout) {
			skipped++
			continue
		}
		if err != nil || got != answer {
			t.Errorf("%q on %q: %v, %v; Node says %v", x, p.Output, got, err, answer)
		}
		if answer {
			matched++
		}
	}
	t.Logf("%d pairs, %d matched, %d refused, %d skipped", len(all), matched, refused, skipped)
	if matched < len(all)/10 || refused < len(all)/50 || matched+refused > len(all)*9/10 || skipped > len(all)/20 {
		t.Error("the generated pairs test too little")
	}
}
