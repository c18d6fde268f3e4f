package evidence

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gatesworn/gatesworn/gates/ledger"
	"pgregory.net/rapid"
)

func TestAppendJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ s, want string }{
		{"", `""`},
		{`say "hi" \n`, `"say \"hi\" \\n"`},
		{"\b\f\n\r\t", `"\b\f\n\r\t"`},
		{"\x00\x01\x0b\x1f\x7f\u0080", "\"\\u0000\\u0001\\u000b\\u001f\x7f\u0080\""},
		{"<a href='x'>&</a>", `"<a href='x'>&</a>"`},
		{"\u2028\u2029\ufeff/é😀", "\"\u2028\u2029\ufeff/é😀\""},
		{"a\xe4\xb8b\xff", "\"a\ufffdb\ufffd\""}, // two bytes of three: one character
	} {
		if got := string(appendJSON(nil, c.s)); got != c.want {
			t.Errorf("%q: %s, want %s", c.s, got, c.want)
		}
	}
}

func TestAppendJSONReadsBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		var back string
		if err := json.Unmarshal(appendJSON(nil, s), &back); err != nil || back != s {
			t.Errorf("%q came back as %q, %v", s, back, err)
		}
	})
}

func TestDefinitionDigest(t *testing.T) {
	t.Parallel()
	base := ledger.Gate{ID: "G1", Check: `printf "token-b\n"`, Expect: "token-c"}
	const golden = "544a096dd6735f1168b04cb00c40b2d7d8889c656e383d95ee6977ea90813ab5"
	if got := DefinitionDigest(base); got != golden {
		t.Errorf("the golden digest is %s", got)
	}
	empty := base
	empty.Attributes = []ledger.Attribute{{Key: ledger.CWD}}
	with := base
	with.CWD = "."
	for name, g := range map[string]ledger.Gate{"empty CWD": empty, "CWD": with} {
		if DefinitionDigest(g) == golden {
			t.Errorf("%s: the same digest as without", name)
		}
	}
	for name, g := range map[string]ledger.Gate{
		"zero":         {},
		"check alone":  {Check: "true"},
		"expect alone": {Expect: "ok"},
	} {
		if got := DefinitionDigest(g); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
	// Outcome, evidence and optional attributes are no part of it.
	other := base
	other.Outcome, other.Evidence, other.Needs = "x", "y", []string{"G2"}
	other.Attributes = []ledger.Attribute{{Key: ledger.Needs, Value: "G2"}}
	if DefinitionDigest(other) != golden {
		t.Error("something else is part of the definition")
	}
}

func TestAttributesDigest(t *testing.T) {
	t.Parallel()
	gate := func(a ...ledger.Attribute) ledger.Gate { return ledger.Gate{Attributes: a} }
	needs := ledger.Attribute{Key: ledger.Needs, Value: "G1, G2"}
	inputs := ledger.Attribute{Key: ledger.Inputs, Value: "a/**, <b>"}
	timeout := ledger.Attribute{Key: ledger.Timeout, Value: "30"}
	env := ledger.Attribute{Key: ledger.Env, Value: "CI"}
	uncovered := []ledger.Attribute{
		{Key: ledger.Check, Value: "x"},
		{Key: ledger.Expect, Value: "x"},
		{Key: ledger.CWD, Value: "x"},
		{Key: ledger.Evidence, Value: "x"},
		{Key: ledger.Depends, Value: "x"},
		{Key: ledger.Reads, Value: "x"},
		{Key: ledger.Writes, Value: "x"},
	}
	if got := AttributesDigest(gate(uncovered...)); got != "" {
		t.Errorf("without a covered attribute: %q", got)
	}
	want := hash([]byte(`["gatesworn.gate-attributes",1,[["ENV","CI"],["INPUTS","a/**, <b>"],["NEEDS","G1, G2"],["TIMEOUT","30"]]]`))
	for range 20 {
		all := append([]ledger.Attribute{needs, inputs, timeout, env}, uncovered...)
		rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		if got := AttributesDigest(gate(all...)); got != want {
			t.Fatalf("%v: %s, want %s", all, got, want)
		}
	}
	if got, want := AttributesDigest(gate(env)), hash([]byte(`["gatesworn.gate-attributes",1,[["ENV","CI"]]]`)); got != want {
		t.Errorf("ENV alone: %s, want %s", got, want)
	}
	if AttributesDigest(gate(needs)) == AttributesDigest(gate(env)) {
		t.Error("two attributes, one digest")
	}
}

// peer is what unlazy does with a definition and with two streams.
const peer = `
const {createHash} = require("crypto");
const sha = s => createHash("sha256").update(s, "utf8").digest("hex");
const text = b64 => Buffer.from(b64, "base64").toString("utf8");
const cases = JSON.parse(require("fs").readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(cases.map(c => {
	const [a, b, cwd] = [text(c.A), text(c.B), c.CWD === null ? null : text(c.CWD)];
	const output = a + (a !== "" && b !== "" ? "\n" : "") + b;
	return {
		definition: a === "" || b === "" ? "" : sha(JSON.stringify(["unlazy.gate-definition", 1, a, b, cwd])),
		output: sha(output), bytes: Buffer.byteLength(output), quoted: JSON.stringify(a),
	};
})));`

type peerCase struct{ A, B, CWD []byte }

func TestDigestsAsNode(t *testing.T) {
	t.Parallel()
	path, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("REQUIRE_TOOLS") == "1" {
			t.Fatal("node is required and not there")
		}
		t.Skip("no node")
	}
	r := rand.New(rand.NewPCG(1, 2))
	cases := make([]peerCase, 3000)
	for i := range cases {
		cases[i] = peerCase{A: randomText(r), B: randomText(r)}
		if r.IntN(2) == 0 {
			cases[i].CWD = append(randomText(r), '.')
		}
	}
	input, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "-e", peer)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), os.Stderr
	answer, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var want []struct {
		Definition, Output, Quoted string
		Bytes                      int
	}
	if err := json.Unmarshal(answer, &want); err != nil || len(want) != len(cases) {
		t.Fatal(len(want), err)
	}
	for i, c := range cases {
		g := ledger.Gate{Check: string(c.A), Expect: string(c.B), CWD: string(c.CWD)}
		if got := string(appendJSON(nil, g.Check)); got != want[i].Quoted {
			t.Errorf("%q: %s, Node %s", c.A, got, want[i].Quoted)
		}
		if got := DefinitionDigest(g); got != want[i].Definition {
			t.Errorf("%q %q %q: another definition digest", c.A, c.B, c.CWD)
		}
		output, ok := Canonical(c.A, c.B)
		if got := OutputDigest(output); !ok || got != want[i].Output || len(output) != want[i].Bytes {
			t.Errorf("%q %q: %d bytes, Node %d, or another output", c.A, c.B, len(output), want[i].Bytes)
		}
	}
}

// randomText gives text of the kinds that encoders disagree about, now and
// then with bytes that are no UTF-8.
func randomText(r *rand.Rand) []byte {
	b := []byte{} // null would be another thing in JSON
	for range r.IntN(12) {
		switch r.IntN(8) {
		case 0:
			b = append(b, byte(r.IntN(32)))
		case 1:
			b = append(b, `"\/<>&'`[r.IntN(7)])
		case 2:
			b = utf8.AppendRune(b, []rune{0x7f, 0x80, 0x2028, 0x2029, 0xfeff, 0xfffd, 0xffff, 0xd7ff, 0xe000}[r.IntN(9)])
		case 3:
			b = utf8.AppendRune(b, rune(r.IntN(utf8.MaxRune+1)))
		case 4:
			if r.IntN(3) == 0 {
				b = append(b, brokenUTF8[r.IntN(len(brokenUTF8))]...)
			}
		default:
			b = append(b, byte(' '+r.IntN(95)))
		}
	}
	return b
}

var brokenUTF8 = []string{
	"\xff", "\xfe", "\x80", "\xbf\xbf", "\xc0\x80", "\xc2", "\xe4\xb8", "\xe0\x80\x80", "\xed\xa0\x80", "\xed\xa0\xbd\xed\xb8\x80",
	"\xf0\x9f\x98", "\xf0\x9f", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xe2\x82\xe2\x82\xac",
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	full := strings.Repeat("x", MaxOutput)
	for _, c := range []struct {
		name, stdout, stderr, want string
		ok                         bool
	}{
		{"nothing", "", "", "", true},
		{"one stream", "a", "", "a", true},
		{"the other", "", "b", "b", true},
		{"both", "a", "b", "a\nb", true},
		{"both with newlines", "a\n", "b\n", "a\n\nb\n", true},
		{"byte order mark", "\ufeffa", "\ufeffb", "\ufeffa\n\ufeffb", true},
		{"nul", "a\x00", "", "a\x00", true},
		{"a character over two streams", "\xe2\x82", "\xac", "\ufffd\n\ufffd", true},
		{"maximal sub-parts", "\xf0\x9f\x98a\xed\xa0\x80", "", "\ufffda\ufffd\ufffd\ufffd", true},
		{"full", full, "", full, true},
		{"full, other stream", "", full, full, true},
		{"over", full + "x", "", "", false},
		{"over together", full[1:], "xx", "", false},
		{"over by the newline", full[1:], "x", "", false},
		{"full with the newline", full[2:], "x", full[2:] + "\nx", true},
		{"over by replacement", full[2:] + "\xff", "", "", false},
		{"all replaced", strings.Repeat("\xff", MaxOutput/3), "", strings.Repeat("\ufffd", MaxOutput/3), true},
	} {
		got, ok := Canonical([]byte(c.stdout), []byte(c.stderr))
		if got != c.want || ok != c.ok {
			t.Errorf("%s: %d bytes, %v; want %d, %v", c.name, len(got), ok, len(c.want), c.ok)
		}
	}
}

func TestCanonicalIsUTF8(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		stream := rapid.SliceOf(rapid.Byte())
		a, b := stream.Draw(t, "stdout"), stream.Draw(t, "stderr")
		got, ok := Canonical(a, b)
		if !ok || !utf8.ValidString(got) || (got == "") != (len(a)+len(b) == 0) {
			t.Errorf("%q, %v", got, ok)
		}
	})
}
