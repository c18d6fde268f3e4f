package schedule

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestDurations(t *testing.T) {
	t.Parallel()
	var d Durations
	if d.Expected("a") != 0 {
		t.Error("something is known at first")
	}
	d.Record("b", 1500*time.Millisecond)
	d.Record("a", 20*time.Microsecond)
	d.Record("b", 2*time.Second)
	d.Record("", time.Second)
	d.Record(strings.Repeat("k", maxKey+1), time.Second)
	d.Record("c", -1)
	if d.Expected("b") != 2*time.Second || d.Expected("a") != time.Millisecond || d.Expected("c") != 0 {
		t.Errorf("a %v, b %v, c %v", d.Expected("a"), d.Expected("b"), d.Expected("c"))
	}
	want := `{"schema":"gatesworn.durations/v1","gates":[{"key":"a","ms":1,"turn":2},{"key":"b","ms":2000,"turn":3}]}` + "\n"
	if got := string(d.Bytes()); got != want {
		t.Errorf("got %s", got)
	}
	back, err := ParseDurations(d.Bytes())
	if err != nil || back.Expected("b") != 2*time.Second || !bytes.Equal(back.Bytes(), d.Bytes()) {
		t.Errorf("read back: %v", err)
	}
	var none Durations
	if _, err := ParseDurations(none.Bytes()); err != nil {
		t.Error(err)
	}
}

func TestDurationsAreBounded(t *testing.T) {
	t.Parallel()
	var d Durations
	for i := range 2 * MaxDurations {
		d.Record(fmt.Sprintf("%0*d", maxKey, i), time.Second)
		if len(d.entries) > 2*MaxDurations {
			t.Fatal("no bound in memory")
		}
	}
	data := d.Bytes()
	if len(data) > MaxDurationsSize {
		t.Errorf("%d bytes", len(data))
	}
	back, err := ParseDurations(data)
	if err != nil {
		t.Fatal(err)
	}
	oldest := fmt.Sprintf("%0*d", maxKey, MaxDurations)
	if len(back.entries) != MaxDurations || back.Expected(oldest) == 0 || back.Expected(fmt.Sprintf("%0*d", maxKey, MaxDurations-1)) != 0 {
		t.Errorf("%d entries, the newest are not kept", len(back.entries))
	}
}

func TestParseDurationsRefuses(t *testing.T) {
	t.Parallel()
	entry := func(s string) string { return `{"schema":"gatesworn.durations/v1","gates":[` + s + `]}` }
	for name, text := range map[string]string{
		"nothing":       "",
		"no JSON":       "x",
		"cut":           `{"schema":"gatesworn.durations/v1","gates":[`,
		"other schema":  `{"schema":"gatesworn.durations/v2","gates":[]}`,
		"more after":    entry("") + "{}",
		"unknown field": entry(`{"key":"a","ms":1,"turn":1,"x":1}`),
		"no key":        entry(`{"ms":1,"turn":1}`),
		"long key":      entry(`{"key":"` + strings.Repeat("k", maxKey+1) + `","ms":1,"turn":1}`),
		"twice":         entry(`{"key":"a","ms":1,"turn":1},{"key":"a","ms":2,"turn":2}`),
		"zero":          entry(`{"key":"a","ms":0,"turn":1}`),
		"negative":      entry(`{"key":"a","ms":-5,"turn":1}`),
		"overflow":      entry(`{"key":"a","ms":9223372036854775807,"turn":1}`),
		"turn overflow": entry(`{"key":"a","ms":1,"turn":18446744073709551615}`),
		"too large":     strings.Repeat(" ", MaxDurationsSize+1),
	} {
		if d, err := ParseDurations([]byte(text)); err == nil || len(d.entries) > 0 {
			t.Errorf("%s: %v, %d entries", name, err, len(d.entries))
		}
	}
}

func FuzzParseDurations(f *testing.F) {
	var d Durations
	d.Record("a", time.Second)
	f.Add(d.Bytes())
	f.Add([]byte(`{"schema":"gatesworn.durations/v1","gates":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := ParseDurations(data)
		if err != nil {
			return
		}
		once := d.Bytes()
		again, err := ParseDurations(once)
		if err != nil || !bytes.Equal(again.Bytes(), once) {
			t.Errorf("%q: not the same again: %v", once, err)
		}
	})
}
