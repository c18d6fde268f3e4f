package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/gatesworn/gatesworn/gates/lint"
)

// TestLintReportIsBounded: whatever the findings, both forms stay within the
// limits, errors are shown before warnings, and the rest is counted.
func TestLintReportIsBounded(t *testing.T) {
	t.Parallel()
	var findings []lint.Finding
	for i := range 200 {
		f := lint.Finding{File: strings.Repeat("d/", 400) + "GATES.md"}
		f.Line, f.Rule, f.Level = i+1, "x", ledger.Warning
		f.Message, f.Source = strings.Repeat("m\x01", 5000), strings.Repeat("s", 1000)
		f.Fix = []string{strings.Repeat("\"\\", 2000)}
		if i >= 150 {
			f.Level = ledger.Error
		}
		findings = append(findings, f)
	}
	r := newLintReport(findings, false)
	if r.code != 2 || r.errors != 50 || r.warnings != 150 {
		t.Errorf("report %+v", r)
	}
	var text, doc bytes.Buffer
	if err := r.text(&text, findings); err != nil {
		t.Fatal(err)
	}
	if err := r.json(&doc, findings); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]*bytes.Buffer{"text": &text, "json": &doc} {
		if b.Len() > maxLintReport {
			t.Errorf("%s: %d bytes", name, b.Len())
		}
	}
	if !strings.Contains(text.String(), "more, not shown\nLINT FINDINGS: 50 errors, 150 warnings\n") {
		t.Error("the rest is not counted")
	}
	var got lintJSON
	if err := json.Unmarshal(doc.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if !got.Cut || got.Omitted+len(got.Findings) != 200 || len(got.Findings) == 0 || got.Findings[0].Level != "error" {
		t.Errorf("%d findings, %d omitted", len(got.Findings), got.Omitted)
	}
	for _, f := range got.Findings {
		if len(f.File) > maxLintFile {
			t.Errorf("file of %d bytes", len(f.File))
		}
	}
}
