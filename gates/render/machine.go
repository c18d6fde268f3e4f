package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/jstemmer/go-junit-report/v2/junit"

	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/internal/escape"
)

// JSON writes the report in its stable form (gates/report.schema.json).
//
// "##[" is written with an escape that means the same: a runner takes it for a
// command wherever it stands in a line of a job's log. No line begins with "::".
func JSON(w io.Writer, r gates.Report) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		return err
	}
	_, err := w.Write(bytes.ReplaceAll(b.Bytes(), []byte("##["), []byte(`##\u005b`)))
	return err
}

// JUnit writes the report as JUnit XML: a suite a ledger, a case a gate. It never
// writes skipped, which readers take for success: failed, removed and blocked
// gates are failures, everything else that is not met is an error. No line is a
// workflow command, because the document may go to a job's log.
func JUnit(w io.Writer, r gates.Report) error {
	var suites junit.Testsuites
	suites.Name = "gatesworn"
	for _, l := range r.Ledgers {
		suite := junit.Testsuite{Name: escape.LogLine(l.Path), File: escape.LogLine(l.Path)}
		for _, g := range l.Gates {
			if !g.NotAsked {
				suite.AddTestcase(testcase(l, g))
			}
		}
		for _, f := range l.Findings {
			if f.Level == "error" {
				suite.AddTestcase(malformed(l, f))
			}
		}
		suites.AddSuite(suite)
	}
	return suites.WriteXML(w)
}

func testcase(l gates.Ledger, g gates.Gate) junit.Testcase {
	c := junit.Testcase{Name: escape.LogLine(g.ID + ": " + g.Title), Classname: escape.LogLine(l.Path)}
	if g.Run != nil {
		c.Time = strconv.FormatFloat(float64(g.Run.DurationMS)/1000, 'f', 3, 64)
	}
	if g.Run != nil && g.Run.Reused != nil {
		c.SystemOut = &junit.Output{Data: escape.LogLine("reused, from " + g.Run.Reused.At)}
	}
	if g.State == gates.Met {
		return c
	}
	r := &junit.Result{Message: escape.LogLine(g.Reason), Type: string(g.State), Data: escape.LogBlock("", detail(g))}
	switch g.State {
	case gates.Failed, gates.Removed, gates.Blocked:
		c.Failure = r
	default:
		c.Error = r
	}
	return c
}

func detail(g gates.Gate) string {
	s := "CHECK " + g.Check + "\nEXPECT " + g.Expect + "\n"
	if g.Next != "" {
		s += "next: " + g.Next + "\n"
	}
	if g.Run != nil && g.Run.Tail != "" {
		s += "\n" + g.Run.Tail
	}
	return s
}

func malformed(l gates.Ledger, f gates.Finding) junit.Testcase {
	at := fmt.Sprintf("%s:%d:%d", l.Path, f.Line, f.Column)
	return junit.Testcase{
		Name: escape.LogLine(at), Classname: escape.LogLine(l.Path),
		Error: &junit.Result{Message: escape.LogLine(f.Message), Type: "malformed", Data: escape.LogLine(f.Source)},
	}
}
