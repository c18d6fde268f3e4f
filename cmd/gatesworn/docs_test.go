package main

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the sessions shown in the documents")

// session finds a console block that a test plays, and its name.
var sessionBlock = regexp.MustCompile("(?s)<!-- session: ([a-z0-9-]+) -->\n```console\n(.*?)```\n")

// changing is what differs from run to run.
var changing = []struct {
	re   *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\b\d+\.\d+s\b`), "0.1s"},
	{regexp.MustCompile(`(output-sha256|definition-sha256)=[0-9a-f]{64}`), "$1=…"},
}

// TestDocumentsShowRealSessions plays every session in the documents and compares
// what they show with what gatesworn prints; -update rewrites them.
func TestDocumentsShowRealSessions(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "gatesworn")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	sessions := 0
	for _, file := range append(files, "../../README.md") {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		now := sessionBlock.ReplaceAllStringFunc(string(data), func(block string) string {
			sessions++
			m := sessionBlock.FindStringSubmatch(block)
			return "<!-- session: " + m[1] + " -->\n```console\n" + play(t, bin, m[1], m[2]) + "```\n"
		})
		if now == string(data) {
			continue
		}
		if *update {
			if err := os.WriteFile(file, []byte(now), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		t.Errorf("%s shows what is no longer so (go test ./cmd/gatesworn -run Documents -update):\n%s", file, cmp.Diff(string(data), now))
	}
	if sessions == 0 {
		t.Fatal("no document shows a session")
	}
}

// play runs the commands of a session in a copy of its fixture folder.
func play(t *testing.T, bin, name, block string) string {
	t.Helper()
	work := t.TempDir()
	repo := filepath.Join(work, "repository")
	if err := os.CopyFS(repo, os.DirFS(filepath.Join("testdata", "docs", name))); err != nil {
		t.Fatalf("fixture of session %s: %v", name, err)
	}
	if err := os.Mkdir(filepath.Join(work, "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "PATH="+filepath.Dir(bin)+string(os.PathListSeparator)+os.Getenv("PATH"),
		"HOME="+work, "XDG_STATE_HOME="+filepath.Join(work, "state"), "GIT_CONFIG_NOSYSTEM=1", "NO_COLOR=1")
	var out strings.Builder
	for line := range strings.Lines(block) {
		command, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "$ ")
		if !ok {
			continue
		}
		out.WriteString("$ " + command + "\n")
		c := exec.Command("sh", "-c", strings.TrimSpace(strings.SplitN(command, "   #", 2)[0]))
		c.Dir, c.Env = repo, env
		var printed bytes.Buffer
		c.Stdout, c.Stderr = &printed, &printed
		_ = c.Run() // its status is part of what the text shows
		text := printed.String()
		for _, ch := range changing {
			text = ch.re.ReplaceAllString(text, ch.with)
		}
		out.WriteString(text)
	}
	return out.String()
}
