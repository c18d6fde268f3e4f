package expect

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"modernc.org/quickjs"
	"pgregory.net/rapid"
)

// hostile holds text that would do something if it were ever read as script.
var hostile = []string{
	`"); globalThis.hit = 1; ("`,
	`'); globalThis.hit = 1; ('`,
	"`); globalThis.hit = 1; (`",
	"${globalThis.hit = 1}",
	"*/ globalThis.hit = 1 /*",
	"\nglobalThis.hit = 1\n",
	"\u2028globalThis.hit = 1\u2029",
	"\x00globalThis.hit = 1",
	`\"); globalThis.hit = 1; (\"`,
	`\u0022); globalThis.hit = 1; (\u0022`,
	"</script><script>globalThis.hit = 1</script>",
	"__proto__", "constructor", "lastIndex", "Symbol.match", "[object Object]",
	"RegExp.prototype.test = () => true",
	"(?<__proto__>a)", "(?<constructor>a)(?<toString>b)?", "(?<hasOwnProperty>a)|b",
	"$&$`$'$1",
}

// snapshot describes every object that script can reach from the global one:
// names, kinds and flags of properties, functions as text, prototypes.
const snapshot = `(() => {
	const seen = new Map(), out = [];
	const name = v => {
		if (typeof v === "symbol") return String(v);
		if (typeof v !== "object" && typeof v !== "function" || v === null) return typeof v + ":" + String(v);
		if (!seen.has(v)) { seen.set(v, seen.size); walk.push(v) }
		return "#" + seen.get(v);
	};
	const walk = [];
	name(globalThis); name(RegExp.prototype.test); name((function () {}).constructor);
	while (walk.length) {
		const o = walk.shift();
		out.push(name(o) + " proto " + name(Object.getPrototypeOf(o)) + (Object.isExtensible(o) ? "" : " fixed"));
		for (const key of Reflect.ownKeys(o)) {
			const d = Object.getOwnPropertyDescriptor(o, key);
			out.push([String(key), d.writable, d.enumerable, d.configurable, name(d.value), name(d.get), name(d.set)].join(" "));
		}
	}
	return out.join("\n");
})()`

func stateOf(t testing.TB, e *Engine) string {
	t.Helper()
	if len(e.idle) != 1 {
		t.Fatalf("%d machines, want the one that is used again", len(e.idle))
	}
	v, err := e.idle[0].vm.Eval(snapshot, quickjs.EvalGlobal)
	s, ok := v.(string)
	if err != nil || !ok || !strings.Contains(s, "\n") {
		t.Fatal(err)
	}
	return s
}

// TestTextIsNeverScript matches hostile text on one machine and compares all
// that script can reach before and after: one match cannot affect the next.
func TestTextIsNeverScript(t *testing.T) {
	t.Parallel()
	e := newEngine(patient)
	defer e.Close()
	if _, err := e.Match("/a/", "a"); err != nil {
		t.Fatal(err)
	}
	before, machine := stateOf(t, e), e.idle[0]
	for _, text := range hostile {
		for _, value := range []string{
			"/" + text + "/", "/" + text + "/gy", "/" + text + "/" + text, "/(" + text + ")|a/dgim", "/" + text,
		} {
			_ = e.Validate(value)
			for _, output := range append(hostile, text, value, "") {
				_, _ = e.Match(value, output)
			}
		}
		if ok, err := e.Match("/^"+quoteMeta(text)+"$/", text); !ok || err != nil {
			t.Errorf("%q does not match itself: %v, %v", text, ok, err)
		}
		if ok, err := e.Match("/^a$/", text); ok || err != nil {
			t.Errorf("/^a$/ matches %q: %v", text, err)
		}
		if len(e.idle) != 1 || e.idle[0] != machine {
			t.Fatalf("after %q the machine was put away, which would hide a change", text)
		}
	}
	if after := stateOf(t, e); after != before {
		t.Fatalf("the machine is another:\n%s", firstDifference(before, after))
	}
	if strings.Contains(before, "\nhit ") {
		t.Error("the snapshot itself is hit")
	}
}

// TestSnapshotSeesPollution makes sure that the comparison above can fail.
func TestSnapshotSeesPollution(t *testing.T) {
	t.Parallel()
	e := newEngine(patient)
	defer e.Close()
	if _, err := e.Match("/a/", "a"); err != nil {
		t.Fatal(err)
	}
	before := stateOf(t, e)
	for _, script := range []string{
		"globalThis.hit = 1",
		"RegExp.prototype.test = () => true",
		"RegExp.prototype.test.hidden = 1",
		"Object.setPrototypeOf(RegExp.prototype, null)",
	} {
		if _, err := e.idle[0].vm.Eval(script, quickjs.EvalGlobal); err != nil {
			t.Fatal(err)
		}
		after := stateOf(t, e)
		if after == before {
			t.Errorf("%s goes unseen", script)
		}
		before = after
	}
}

// TestMatchesAreIndependent compares a machine that has a history with a new one.
func TestMatchesAreIndependent(t *testing.T) {
	t.Parallel()
	used := New()
	defer used.Close()
	rapid.Check(t, func(t *rapid.T) {
		g := newGenerator(rapid.Uint64().Draw(t, "seed"))
		source, flags, output := g.pair()
		value := Expectation{Pattern: true, Text: source, Flags: flags}.String()
		got, err := used.Match(value, output)
		again, errAgain := used.Match(value, output)
		fresh, errFresh := Match(value, output)
		if errors.Is(errors.Join(err, errAgain, errFresh), ErrTimeout) {
			t.Skip("slow")
		}
		if got != fresh || got != again || message(err) != message(errFresh) || message(err) != message(errAgain) {
			t.Errorf("%q on %q: used %v, %v; again %v, %v; fresh %v, %v", value, output, got, err, again, errAgain, fresh, errFresh)
		}
	})
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// quoteMeta makes a pattern of text that stands for itself, without flags.
func quoteMeta(text string) string {
	var b bytes.Buffer
	for _, r := range text {
		if strings.ContainsRune(`\^$.*+?()[]{}|/`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return "-" + x[i] + "\n+" + y[i]
		}
	}
	return "one is longer"
}
