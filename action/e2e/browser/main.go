// Command browser renders what a report becomes on GitHub to pictures, so that a
// person can look at it: the comment, the check run with its annotations, the job
// summary. It needs chromium and the stylesheet that fetch.sh brings.
//
//	cd action/e2e && sh fetch.sh && go run ./browser -out out ../../ghreport/markdown/testdata/reports/realistic.json
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	rhtml "github.com/yuin/goldmark/renderer/html"

	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/ghreport/markdown"
)

func main() {
	out := flag.String("out", "out", "folder for the pictures")
	css := flag.String("css", "fetched/node_modules/github-markdown-css/github-markdown-light.css", "GitHub's stylesheet")
	chromium := flag.String("chromium", "chromium", "the browser")
	width := flag.Int("width", 860, "of the page in pixels; 400 is a phone")
	unfold := flag.Bool("unfold", false, "show <details> open")
	flag.Parse()
	for _, file := range flag.Args() {
		if err := draw(file, *out, *css, *chromium, *width, *unfold); err != nil {
			fmt.Fprintf(os.Stderr, "browser: error: %v\n", err)
			os.Exit(1)
		}
	}
}

func draw(file, out, css, chromium string, width int, unfold bool) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	r := new(gates.Report)
	if err := json.Unmarshal(data, r); err != nil {
		return err
	}
	style, err := os.ReadFile(css)
	if err != nil {
		return fmt.Errorf("%w; run: sh fetch.sh", err)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	at := markdown.Place{Server: "https://github.com", Log: "https://github.com/octo/widgets/actions/runs/1650"}
	check := markdown.Check(r, at)
	at.Remarks = []string{"No comment: the token has no pull-requests: write (normal for forks)."}
	pages := map[string]string{
		"comment": toHTML(markdown.Comment(r, at, markdown.MaxComment)),
		"check":   "<h1>" + html.EscapeString(check.Title) + "</h1>" + toHTML(check.Summary) + "<hr>" + toHTML(check.Text) + notes(check.Annotations),
		"summary": toHTML(markdown.JobSummary(r, at, markdown.MaxSummary)),
	}
	name := strings.TrimSuffix(filepath.Base(file), ".json")
	for kind, body := range pages {
		if unfold {
			body = strings.ReplaceAll(body, "<details>", "<details open>")
		}
		page := "<!doctype html><meta charset=utf-8><style>" + string(style) + frame + "</style><article class=markdown-body>" + body + "</article>"
		if err := shoot(chromium, page, filepath.Join(out, fmt.Sprintf("%s-%s-%d.png", name, kind, width)), width); err != nil {
			return err
		}
	}
	return nil
}

const frame = ` body{margin:16px;background:#fff} .markdown-body{border:1px solid #d1d9e0;border-radius:6px;padding:16px;font-size:14px} .note{border:1px solid #d1242f;border-radius:6px;margin:8px 0;padding:8px} .note.warning{border-color:#9a6700} .note pre{margin:4px 0}`

// toHTML renders as GitHub does: its dialect, with line breaks in comments kept.
func toHTML(md string) string {
	var b bytes.Buffer
	g := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(rhtml.WithUnsafe(), rhtml.WithHardWraps()))
	if err := g.Convert([]byte(md), &b); err != nil {
		return html.EscapeString(err.Error())
	}
	return b.String()
}

func notes(list []markdown.Annotation) string {
	var b strings.Builder
	for _, a := range list {
		fmt.Fprintf(&b, "<div class='note %s'><b>%s</b> <code>%s:%d</code><pre>%s</pre></div>", a.Level, html.EscapeString(a.Title), html.EscapeString(a.Path), a.Line, html.EscapeString(a.Message))
	}
	return b.String()
}

var height = regexp.MustCompile(`<title>(\d+)</title>`)

// shoot takes a picture of the whole page: the first run measures its height.
func shoot(chromium, page, file string, width int) error {
	dir, err := os.MkdirTemp("", "browser")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	src := filepath.Join(dir, "page.html")
	measure := "<script>document.title=document.documentElement.scrollHeight</script>"
	if err := os.WriteFile(src, []byte(page+measure), 0o600); err != nil {
		return err
	}
	dom, err := run(chromium, dir, width, 100, "--dump-dom", src)
	if err != nil {
		return err
	}
	h := "1200"
	if m := height.FindSubmatch(dom); m != nil {
		h = string(m[1])
	}
	var tall int
	if _, err := fmt.Sscan(h, &tall); err != nil {
		return err
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	_, err = run(chromium, dir, width, tall+90, "--screenshot="+abs, src)
	return err
}

func run(chromium, dir string, width, tall int, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	all := append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--hide-scrollbars", "--user-data-dir=" + filepath.Join(dir, "profile"), fmt.Sprintf("--window-size=%d,%d", width, tall),
	}, args...)
	out, err := exec.CommandContext(ctx, chromium, all...).Output()
	if err != nil {
		return nil, fmt.Errorf("run %q: %w", chromium, err)
	}
	return out, nil
}
