package gates_test

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/gatesworn/gatesworn/gates"
)

func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	data, err := os.ReadFile("report.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.AddResource("report.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("report.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validate(t *testing.T, s *jsonschema.Schema, r gates.Report) error {
	t.Helper()
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(v)
}

func TestReportsFitTheSchema(t *testing.T) {
	t.Parallel()
	s := schema(t)
	exec := &script{results: map[string]gates.Result{"bad": {End: gates.Exited, Code: 1, Tail: []byte("no\n")}}}
	text := gate("G1", "one") + gate("G2", "bad") + gate("G3", "three", "  NEEDS: G2\n") + "- [ ] G4: by hand\n" + gate("G5", "five") + "ABANDON: G5 gone\n"
	j := job(t, gates.Unmet, text, nil)
	j.Base.Tool = gates.Tool{Name: "gatesworn", Version: "test"}
	j.Base.Protections = gates.Protections{Applied: []string{}, Missing: []string{}}
	r, err := gates.Check(t.Context(), j, allow{"": {Allowed: true, Oracle: "sha256:" + strings.Repeat("0", 64)}}, exec, &log{})
	if err != nil {
		t.Fatal(err)
	}
	if err := validate(t, s, r); err != nil {
		t.Error(err)
	}
	j = job(t, gates.Unmet, "nothing", nil)
	j.Base.Tool, j.Base.Protections = gates.Tool{Name: "gatesworn"}, gates.Protections{Applied: []string{}, Missing: []string{}}
	if r, err = gates.Check(t.Context(), j, allow{}, exec, &log{}); err != nil || r.Verdict != gates.VerdictError {
		t.Errorf("err %v, verdict %s", err, r.Verdict)
	}
	if err := validate(t, s, r); err != nil {
		t.Error(err)
	}
}

// TestSchemaKnowsEveryField fills every field of the report by reflection, so
// that a field added to Report and not to the schema fails here.
func TestSchemaKnowsEveryField(t *testing.T) {
	t.Parallel()
	var r gates.Report
	fill(reflect.ValueOf(&r).Elem())
	r.Schema, r.Tool.Name, r.Verdict, r.Conclusion = gates.Schema, "gatesworn", gates.VerdictUnmet, gates.Failure
	r.Trust.Mode, r.Trust.PolicySHA256, r.Execution.Containment, r.Execution.Env, r.Level = "local", strings.Repeat("0", 64), "slots", "clean", "advisory"
	l := &r.Ledgers[0]
	l.Kind, l.SHA256, l.Findings[0].Level = "task", strings.Repeat("0", 64), "error"
	g := &l.Gates[0]
	g.State, g.Claimed, g.Changed, g.Approval.Source = gates.Failed, gates.ClaimedMet, gates.Changed, "local"
	g.DefinitionSHA256, g.OracleSHA256, g.Run.OutputSHA256 = strings.Repeat("0", 64), "sha256:"+strings.Repeat("0", 64), ""
	if err := validate(t, schema(t), r); err != nil {
		t.Error(err)
	}
}

func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(0, 0).UTC()))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	}
}
