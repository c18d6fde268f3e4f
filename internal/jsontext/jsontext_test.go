package jsontext

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestObject(t *testing.T) {
	t.Parallel()
	text := "{ \"b\" : [1, 2] ,\n\t\"a\":\"x\", \"A\":null}\n"
	ms, err := Object([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range ms {
		if text[m.Start:m.End] != string(m.Value) || text[m.Key] != '"' {
			t.Errorf("offsets of %q: %d %d %d", m.Name, m.Key, m.Start, m.End)
		}
		got = append(got, m.Name+"="+string(m.Value))
	}
	if d := cmp.Diff([]string{"b=[1, 2]", `a="x"`, "A=null"}, got); d != "" {
		t.Error(d)
	}
	es, err := Array(ms[0].Value)
	if err != nil || len(es) != 2 || es[1].Start != 4 || es[1].Key != 4 {
		t.Errorf("%v %v", es, err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "[]", "null", `"x"`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"a":}`, `{"a":1`, `{"a":1,}`, `{} {}`, `{}x`, "{\"a\":\"\xff\"}", "\ufeff{}", `{a:1}`, `{"a":1 // x
}`} {
		if ms, err := Object([]byte(text)); err == nil {
			t.Errorf("%q was read as %v", text, ms)
		}
	}
	if _, err := Object([]byte(`{"a":1,"a":2}`)); !errors.Is(err, ErrRepeated) {
		t.Error(err)
	}
	for _, raw := range []string{"", "1", "null", `["a"]`} {
		if _, err := String(json.RawMessage(raw)); err == nil {
			t.Errorf("string %q", raw)
		}
	}
	for _, raw := range []string{"", "1", "null", `["a",1]`, `[null]`, `{}`} {
		if _, err := Strings(json.RawMessage(raw)); err == nil {
			t.Errorf("strings %q", raw)
		}
	}
	if got, err := Strings(json.RawMessage(`["a","b"]`)); err != nil || len(got) != 2 {
		t.Error(got, err)
	}
}

// JSON.stringify({a:"<&>\u2028\\u2028\b\f\u0001\u007f"}, null, 2), computed by Node 20.
func TestTextIsJavaScripts(t *testing.T) {
	t.Parallel()
	got, err := Text(map[string]any{"a": "<&>\u2028\u2029\\u2028\b\f\u0001\u007f"})
	want := "{\n  \"a\": \"<&>\u2028\u2029\\\\u2028\\b\\f\\u0001\u007f\"\n}"
	if err != nil || string(got) != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// FuzzObject: what is accepted is JSON, and the parts rebuild it.
func FuzzObject(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":[1,{"b":2}], "c" : null}`, `{"a":1,"a":2}`, `{"x":"\ud800"}`, " { \"\\\"a\" : -1e2 ,\"b\":true}\n", `[]`, `{"a":"}"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		ms, err := Object(data)
		if err != nil {
			return
		}
		if !json.Valid(data) {
			t.Fatalf("%q is not JSON", data)
		}
		last := 0
		for _, m := range ms {
			if m.Key <= last-1 || m.Start <= m.Key || m.End <= m.Start || string(data[m.Start:m.End]) != string(m.Value) || !json.Valid(m.Value) {
				t.Fatalf("%q: %+v", data, m)
			}
			last = m.End
		}
		var all map[string]json.RawMessage
		if err := json.Unmarshal(data, &all); err != nil || len(all) != len(ms) {
			t.Fatalf("%q has %d members, not %d (%v)", data, len(all), len(ms), err)
		}
		for _, m := range ms {
			if string(all[m.Name]) != string(m.Value) {
				t.Fatalf("%q: %q is %q, not %q", data, m.Name, all[m.Name], m.Value)
			}
		}
	})
}
