package escape

import (
	"bytes"
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	ghtml "github.com/yuin/goldmark/renderer/html"
	mdtext "github.com/yuin/goldmark/text"
)

// parser reads Markdown as GitHub's dialect does, addresses and footnotes
// included, and shows raw HTML, so that a test sees what got through.
func parser() goldmark.Markdown {
	return goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote), goldmark.WithRendererOptions(ghtml.WithUnsafe()))
}

func parse(source string) ast.Node { return parser().Parser().Parse(mdtext.NewReader([]byte(source))) }

func render(t fataler, source string) string {
	t.Helper()
	var page bytes.Buffer
	if err := parser().Convert([]byte(source), &page); err != nil {
		t.Fatalf("%v", err)
	}
	return page.String()
}

// count gives how many nodes of each kind a source has.
func count(source string) map[string]int {
	kinds := map[string]int{}
	_ = ast.Walk(parse(source), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			kinds[n.Kind().String()]++
		}
		return ast.WalkContinue, nil
	})
	return kinds
}

var (
	tag = regexp.MustCompile(`<[^>]*>`)
	// live is what GitHub turns into something in the text of a rendered page. A
	// tag or a zero width space stands as NUL here.
	live = regexp.MustCompile(`(?i)@[a-z0-9]|#\d|\bgh-\d|\bghsa-\w|\b[a-z]+-\d|(?:^|[^0-9a-f])[0-9a-f]{7,40}(?:$|[^0-9a-f])|://|www\.[a-z]|:[a-z0-9_+-]+:|\$[^\x00]`)
)

// plain gives the text of a rendered page, and fails if it holds a tag that is not in allowed.
func plain(t fataler, page, allowed string) (text, parted string) {
	t.Helper()
	for _, found := range tag.FindAllString(page, -1) {
		if !strings.Contains(allowed, found) {
			t.Fatalf("tag %s in %q", found, page)
		}
	}
	text = html.UnescapeString(tag.ReplaceAllString(page, ""))
	parted = html.UnescapeString(tag.ReplaceAllString(page, "\x00"))
	return strings.ReplaceAll(text, "\u200b", ""), strings.ReplaceAll(parted, "\u200b", "\x00")
}

// squeeze makes white space comparable: a page shows any run of it as one blank.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

func inlineHolds(t fataler, s string) {
	want := squeeze(Line(s))
	for _, context := range []struct{ before, after, tags string }{
		{"", "", "<p></p><span></span>"},
		{"", "\n---\n", "<p></p><span></span><h2></h2><hr>"},
		{"Text: ", " and more", "<p></p><span></span>"},
		{"- ", "", "<ul></ul><li></li><span></span>"},
		{"**", "**", "<p></p><strong></strong><span></span>"},
		{"head\n", "\ntail", "<p></p><span></span>"},
		{"", "(x)[x]", "<p></p><span></span>"},
		{"> ", "", "<blockquote></blockquote><p></p><span></span>"},
	} {
		if context.before == "**" && want == "" {
			continue
		}
		page := render(t, context.before+Inline(s)+context.after+"\n")
		allowed := context.tags
		if context.after == "\n---\n" && Inline(s) == "" {
			allowed = "<hr>"
		}
		if strings.Trim(want, " ") == "" {
			allowed += "<p></p>"
		}
		text, parted := plain(t, page, allowed)
		trim := func(s, end string) string { return strings.TrimSuffix(s, squeeze(strings.Trim(end, "*-\n"))) }
		got := strings.TrimSpace(trim(squeeze(text), context.after))
		got = strings.TrimSpace(strings.TrimPrefix(got, strings.TrimSpace(strings.Trim(context.before, "*->\n"))))
		if context.before != "**" && got != want {
			t.Fatalf("%q in %q shows %q, not %q: %q", s, context.before, got, want, page)
		}
		if found := live.FindString(parted); found != "" {
			t.Fatalf("%q is live in %q (%q)", found, parted, s)
		}
	}
}

func cellHolds(t fataler, s string) {
	for _, cell := range []string{Cell(s), CodeCell(s)} {
		source := "| a | b |\n|--|--|\n| " + cell + " | end |\n| x | y |\n"
		kinds := count(source)
		if kinds["Table"] != 1 || kinds["TableRow"] != 2 || kinds["TableCell"] != 6 || kinds["Link"]+kinds["AutoLink"]+kinds["Image"] != 0 {
			t.Fatalf("%q breaks the table: %v", source, kinds)
		}
		page := render(t, source)
		row := page[strings.Index(page, "<tbody>"):]
		row = row[strings.Index(row, "<td>"):strings.Index(row, "</td>")]
		text, parted := plain(t, row, "<td></td><span></span><code></code>")
		if got, want := squeeze(text), squeeze(Line(s)); got != want {
			t.Fatalf("%q shows %q, not %q", source, got, want)
		}
		if found := live.FindString(parted); found != "" && !strings.Contains(row, "<code>") {
			t.Fatalf("%q is live in %q", found, parted)
		}
	}
}

func htmlHolds(t fataler, s string) {
	want := squeeze(Line(s))
	for _, source := range []string{
		"<details><summary>" + HTML(s) + "</summary>\n\n</details>\n",
		"<b>" + HTML(s) + "</b> in a line\n",
		"[" + Inline(s) + "](https://example.org/" + LinkPath(s) + "#L1)\n",
	} {
		page := render(t, source)
		const href = `<a href="https://example.org/`
		if _, rest, ok := strings.Cut(page, href); ok {
			address, _, _ := strings.Cut(rest, `"`)
			path, err := url.PathUnescape(strings.TrimSuffix(address, "#L1"))
			if err != nil || path != s {
				t.Fatalf("%q links to %q", source, address)
			}
			page = strings.Replace(page, href+address+`">`, "<b>", 1)
			page = strings.Replace(page, "</a>", "</b> in a line", 1)
		}
		text, parted := plain(t, page, "<details></details><summary></summary><p></p><b></b><span></span>")
		if got := strings.TrimSpace(strings.TrimSuffix(squeeze(text), "in a line")); got != want {
			t.Fatalf("%q shows %q, not %q", source, got, want)
		}
		if found := live.FindString(parted); found != "" {
			t.Fatalf("%q is live in %q", found, parted)
		}
	}
}

func spanHolds(t fataler, s string) {
	source := "before " + CodeSpan(s) + " after\n"
	kinds := count(source)
	if kinds["CodeSpan"] != 1 || len(kinds) != 4 {
		t.Fatalf("%q: %v", source, kinds)
	}
	page := render(t, source)
	text, _ := plain(t, page, "<p></p><code></code>")
	if got, want := text, "before "+Line(s)+" after\n"; got != want && s != "" {
		t.Fatalf("%q shows %q, not %q", source, got, want)
	}
}

func fenceHolds(t fataler, s string) {
	want := strings.TrimSuffix(Block(s), "\n")
	for _, source := range []string{
		"before\n" + Fence(s, "text") + "after\n\n- list\n",
		"before\n" + Fence(s, "mermaid") + "after\n\n- list\n",
		"before\n\n- item\n" + FenceIndented(s, "", 2) + "  after\n",
		"<details>\n\n" + Fence(s, "x y`") + "\n</details>\nafter\n\n- list\n",
	} {
		root := parse(source)
		blocks, after := 0, 0
		_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			if !entering {
				return ast.WalkContinue, nil
			}
			switch n := n.(type) {
			case *ast.FencedCodeBlock:
				blocks++
				got := strings.TrimSuffix(string(n.Lines().Value([]byte(source))), "\n")
				if squeezeTabs(got) != squeezeTabs(want) {
					t.Fatalf("%q holds %q, not %q", source, got, want)
				}
				if info := string(n.Language([]byte(source))); info != "" && info != "text" {
					t.Fatalf("%q is of language %q", source, info)
				}
			case *ast.List:
				after++
			case *ast.Link, *ast.Image, *ast.AutoLink, *east.Table, *ast.Emphasis:
				t.Fatalf("%q has a %s", source, n.Kind())
			}
			return ast.WalkContinue, nil
		})
		if blocks != 1 || after != 1 {
			t.Fatalf("%q has %d blocks and %d lists", source, blocks, after)
		}
	}
}

// squeezeTabs: inside a list a parser may write the rest of a tab as blanks, and
// drop blanks that are alone on a line.
func squeezeTabs(s string) string {
	var lines []string
	for line := range strings.SplitSeq(s, "\n") {
		rest := strings.TrimLeft(line, " \t")
		if rest == "" {
			line = ""
		}
		if rest != "" && strings.Contains(line[:len(line)-len(rest)], "\t") {
			line = "\t" + rest
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	for name, property := range map[string]func(fataler, string){
		"inline": inlineHolds, "cell": cellHolds, "html": htmlHolds, "span": spanHolds, "fence": fenceHolds,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everywhere(t, property)
		})
	}
}

// The test's idea of what is live must see what it is there for.
func TestLiveDecoder(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"@alice", "see #12", "o/r#1", "GH-1", "gh-12", "deadbee", "x 0123456789abcdef0123456789abcdef01234567.", "https://x", "www.x", ":+1:", "KEY-7", "$x$", "GHSA-a"} {
		if !live.MatchString(s) {
			t.Errorf("%q is not seen", s)
		}
	}
}

func TestInline(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a session survives a restart": "a session survives a restart",
		"":                             "",
		"  - item":                     `\- item`,
		"1. x":                         `1\. x`,
		"version 1.2.3 (std::x)":       "version 1.2.3 (std:&#8203;:&#8203;x)",
		"@alice #1 GH-1":               `@&#8203;alice \#&#8203;1 GH-&#8203;1`,
		"at 0123456789abcd":            "at 012345&#8203;6789ab&#8203;cd",
		"decade":                       "decade",
		"a|b\\c":                       "a&#124;b&#92;c",
		"two\nlines":                   "two&#92;nlines",
		"<b> & \"q\"":                  "&lt;b&gt; &amp; &quot;q&quot;",
		"costs $5":                     "costs <span>$</span>5",
		"snake_case *x* [y](z)!":       `snake\_case \*x\* \[y\](z)\!`,
	} {
		if got := Inline(in); got != want {
			t.Errorf("Inline(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCode(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"npm test": "`npm test`", "a`b": "``a`b``", "`": "`` ` ``", "": "` `", " x ": "`  x  `", "  ": "`  `", "a|b": "`a|b`",
	} {
		if got := CodeSpan(in); got != want {
			t.Errorf("CodeSpan(%q) = %q, want %q", in, got, want)
		}
	}
	if got, want := CodeCell("a|b @x"), "<code>a&#124;b <span>@</span>x</code>"; got != want {
		t.Errorf("%q", got)
	}
	for in, want := range map[string]string{
		"a\n": "~~~\na\n~~~\n", "": "~~~\n~~~\n", "~~~\n````": "~~~~~\n~~~\n````\n~~~~~\n", "\x1b[31mred\x1b[0m\r\n": "~~~\nred\n~~~\n",
	} {
		if got := Fence(in, ""); got != want {
			t.Errorf("Fence(%q) = %q, want %q", in, got, want)
		}
	}
	if got, want := FenceIndented("a\n\nb", "diff", 2), "  ~~~diff\n  a\n  \n  b\n  ~~~\n"; got != want {
		t.Errorf("%q", got)
	}
}

func TestMarker(t *testing.T) {
	t.Parallel()
	marker := Marker([]byte("\xff\xfb-->\n"))
	if !regexp.MustCompile(`^<!-- gatesworn:[A-Za-z0-9_]+ -->$`).MatchString(marker) {
		t.Error(marker)
	}
	if Marker([]byte("a")) == Marker([]byte("b")) {
		t.Error("two markers are the same")
	}
	if text, _ := plain(t, render(t, marker+"\n\n### x\n"), marker+"<h3></h3>"); strings.TrimSpace(text) != "x" {
		t.Errorf("%q", text)
	}
}

func FuzzMarkdown(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 4096 {
			t.Skip("goldmark is quadratic on some input")
		}
		inlineHolds(t, s)
		cellHolds(t, s)
		htmlHolds(t, s)
		spanHolds(t, s)
		fenceHolds(t, s)
	})
}

func BenchmarkInline(b *testing.B) {
	s := "a session survives a restart, see https://example.org/x#12 (@alice)"
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		Inline(s)
	}
}
