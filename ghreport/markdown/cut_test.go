package markdown

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"pgregory.net/rapid"

	"github.com/gatesworn/gatesworn/gates"
)

const sentinel = "\nSENTINEL stands alone\n"

// wellFormed parses a page as GitHub's dialect with a paragraph appended and
// reports what is broken: a fence, table or <details> that swallows the paragraph,
// a row with another number of cells, an HTML tag other than details.
func wellFormed(page string) error {
	if !utf8.ValidString(page) {
		return fmt.Errorf("not UTF-8")
	}
	for i, r := range page {
		if r < 0x20 && r != '\n' && r != '\t' || r == 0x1b || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return fmt.Errorf("control character %U at %d", r, i)
		}
	}
	src := []byte(page + sentinel)
	doc := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(src))
	last := doc.LastChild()
	if last == nil || last.Kind() != ast.KindParagraph || strings.TrimSpace(string(last.Lines().Value(src))) != "SENTINEL stands alone" {
		return fmt.Errorf("the end is not a paragraph of its own")
	}
	open := 0
	return walk(doc, src, &open)
}

func walk(doc ast.Node, src []byte, open *int) error {
	err := ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.HTMLBlock:
			raw := strings.TrimSpace(string(n.Lines().Value(src)))
			switch {
			case strings.HasPrefix(raw, "<details>\n<summary>") && strings.HasSuffix(raw, "</summary>"):
				*open++
			case raw == "</details>":
				*open--
			default:
				return ast.WalkStop, fmt.Errorf("HTML block %q", raw)
			}
		case *ast.RawHTML:
			return ast.WalkStop, fmt.Errorf("inline HTML")
		case *ast.Image:
			return ast.WalkStop, fmt.Errorf("an image")
		case *ast.Link:
			if d := string(n.Destination); !strings.HasPrefix(d, "https://github.com/") {
				return ast.WalkStop, fmt.Errorf("a link to %q", d)
			}
		case *ast.AutoLink:
			return ast.WalkStop, fmt.Errorf("an autolink %q", n.URL(src))
		case *east.Table:
			cols := n.FirstChild().ChildCount()
			for row := n.FirstChild(); row != nil; row = row.NextSibling() {
				if row.ChildCount() != cols || cols != 5 {
					return ast.WalkStop, fmt.Errorf("a row of %d cells in a table of %d", row.ChildCount(), cols)
				}
			}
		}
		return ast.WalkContinue, nil
	})
	if err == nil && *open != 0 {
		err = fmt.Errorf("%d <details> left open", *open)
	}
	return err
}

// pages renders everything that has a budget.
func pages(r *gates.Report, at Place, budget int) map[string]string {
	v := newView(r, at)
	return map[string]string{
		"comment": Comment(r, at, budget),
		"summary": v.summary(budget),
		"text":    v.text(budget),
		"job":     JobSummary(r, at, budget),
	}
}

func TestCutsAtEveryBudget(t *testing.T) {
	t.Parallel()
	for name, r := range corpus(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := pages(r, forkPlace(), MaxSummary)
			step := 13
			if (name == "realistic" || name == "hostile" || name == "bootstrap") && !testing.Short() && !raceEnabled {
				step = 1
			}
			for kind, full := range whole {
				if err := wellFormed(full); err != nil {
					t.Fatalf("%s whole: %v\n%s", kind, err, full)
				}
			}
			limit := len(whole["job"]) + 300
			before := map[string]string{}
			for budget := 0; budget < limit; budget += step {
				for kind, got := range pages(r, forkPlace(), budget) {
					checkCut(t, kind, got, whole[kind], budget, before)
				}
			}
		})
	}
}

func checkCut(t *testing.T, kind, got, whole string, budget int, before map[string]string) {
	t.Helper()
	if len(got) > budget {
		t.Fatalf("%s at %d takes %d bytes", kind, budget, len(got))
	}
	if before[kind] != got { // most budgets give the page that the one before gave
		if err := wellFormed(got); err != nil {
			t.Fatalf("%s at %d: %v\n%s", kind, budget, err, got)
		}
		before[kind] = got
	}
	cut := strings.Contains(got, " bytes are left out here")
	switch {
	case budget >= len(whole)+2*noticeRoom && got != whole:
		t.Fatalf("%s at %d is cut although %d bytes fit", kind, budget, len(whole))
	case got != whole && !cut && budget >= 400:
		t.Fatalf("%s at %d does not say that it was cut:\n%s", kind, budget, got)
	}
}

// Foreign text of any kind, anywhere, at any budget.
func TestHostileText(t *testing.T) {
	t.Parallel()
	parts := []string{
		"`", "```", "~~~", "|", "\\", "\n", "\r", "\r\n", "\t", "<", ">", "</details>", "<!--", "-->", "@octocat", "#1", "GH-1", "o/r#2", "[x](http://e)", "![x](http://e)",
		"\x1b[31m", "\x1b]8;;http://e\x07", "\x9b", "\x00", "\u202e", "\u2066", "\u200b", "\ufeff", "\xff", "字", "🙂", "- ", "# ", "    ", "> ", "1. ", "===", "---", "|--|", "*", "_", "~~", "&lt;", "http://e.example", "www.e.example", "a@b.example", "[^1]: x", "[x]: http://e", "error", "x",
	}
	foreign := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 12).Draw(t, "parts"), "")
	})
	states := []gates.State{gates.Met, gates.Failed, gates.Unapproved, gates.Blocked, gates.Manual, gates.Abandoned, gates.Removed, gates.NotRun, ""}
	rapid.Check(t, func(t *rapid.T) {
		one := 1
		var gs []gates.Gate
		for i := range rapid.IntRange(1, 4).Draw(t, "gates") {
			gs = append(gs, gates.Gate{
				ID: fmt.Sprint("GH-", i), Name: foreign.Draw(t, "name"), Title: foreign.Draw(t, "title"), Line: i,
				State: rapid.SampledFrom(states).Draw(t, "state"), Reason: foreign.Draw(t, "reason"), Next: foreign.Draw(t, "next"), Check: foreign.Draw(t, "check"), Expect: foreign.Draw(t, "expect"),
				Was: &gates.Was{Check: foreign.Draw(t, "old")}, Approval: &gates.Approval{By: []string{foreign.Draw(t, "by")}, Issued: foreign.Draw(t, "issued")},
				Run: &gates.Run{Exit: &one, Tail: foreign.Draw(t, "tail"), Signal: foreign.Draw(t, "signal")},
			})
		}
		r := &gates.Report{
			Verdict: gates.VerdictUnmet, Trust: gates.Trust{Mode: "allowlist", Ref: foreign.Draw(t, "ref")}, Notices: []string{foreign.Draw(t, "notice")}, Level: foreign.Draw(t, "level"),
			Subject: gates.Subject{Repository: "o/r", HeadSHA: strings.Repeat("a", 40)},
			Ledgers: []gates.Ledger{{Path: foreign.Draw(t, "path"), Gates: gs, Findings: []gates.Finding{{Level: rapid.SampledFrom([]string{"error", "warning"}).Draw(t, "lvl"), Message: foreign.Draw(t, "msg"), Fix: foreign.Draw(t, "fix")}}}},
		}
		budget := rapid.IntRange(0, 4000).Draw(t, "budget")
		for kind, got := range pages(r, Place{Server: "https://github.com", Remarks: []string{foreign.Draw(t, "remark")}, Note: foreign.Draw(t, "note"), Log: foreign.Draw(t, "log")}, budget) {
			if len(got) > budget {
				t.Fatalf("%s takes %d of %d bytes", kind, len(got), budget)
			}
			if err := wellFormed(got); err != nil {
				t.Fatalf("%s: %v\n%s", kind, err, got)
			}
		}
		for _, a := range Check(r, Place{}).Annotations {
			if err := plainNote(a); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// plainNote checks what the service refuses in an annotation.
func plainNote(a Annotation) error {
	if a.Message == "" || a.Line < 1 || len(a.Title) > MaxAnnotationTitle || len(a.Message) > MaxAnnotationText || len(a.RawDetails) > MaxAnnotationText {
		return fmt.Errorf("out of limits: %+v", a)
	}
	for _, s := range []string{a.Title, a.Message, a.RawDetails} {
		if !utf8.ValidString(s) {
			return fmt.Errorf("not UTF-8: %q", s)
		}
		for _, r := range s {
			if r > 0xFFFF || r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
				return fmt.Errorf("%U in %q", r, s)
			}
		}
	}
	return nil
}

// Complaint B3.28, 29: outputs far beyond the limit, of wide characters too.
func TestLargeOutputs(t *testing.T) {
	t.Parallel()
	one := 1
	for _, tail := range []string{strings.Repeat("x", 1_600_000), strings.Repeat("line\n", 50_000), strings.Repeat("字", 30_000), strings.Repeat("🙂", 20_000), strings.Repeat("|\n`~~~\n", 20_000)} {
		r := many(20, tail, &one)
		c := Check(r, place)
		job := JobSummary(r, place, MaxSummary)
		for kind, s := range map[string]string{"summary": c.Summary, "text": c.Text, "job": job, "comment": Comment(r, place, MaxComment)} {
			if err := wellFormed(s); err != nil {
				t.Errorf("%s: %v", kind, err)
			}
		}
		if len(c.Text) > MaxCheckText || len(job) > MaxSummary {
			t.Errorf("text %d, job %d bytes", len(c.Text), len(job))
		}
		if !strings.Contains(c.Text, "left out here") {
			t.Errorf("the text does not say that it was cut")
		}
	}
}
