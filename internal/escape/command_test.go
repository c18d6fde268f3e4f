package escape

import (
	"strings"
	"testing"
	"unicode"
)

// command is what the runner reads out of a log line.
type command struct {
	name, data string
	properties map[string]string
}

// runnerLines splits a log as .NET's ReadLine does.
func runnerLines(log string) []string {
	return strings.Split(strings.ReplaceAll(strings.ReplaceAll(log, "\r\n", "\n"), "\r", "\n"), "\n")
}

// runnerCommand decodes a line by the grammar of actions/runner
// (8-github-facts, rows 31 and 32), whatever the name.
func runnerCommand(line string) (command, bool) {
	if c, ok := newCommand(line); ok {
		return c, true
	}
	_, rest, ok := strings.Cut(line, "##[")
	if !ok {
		return command{}, false
	}
	head, data, ok := strings.Cut(rest, "]")
	if !ok {
		return command{}, false
	}
	name, _, _ := strings.Cut(head, " ")
	return command{name: strings.ToLower(name), data: data}, name != ""
}

func newCommand(line string) (command, bool) {
	line = strings.TrimLeftFunc(line, unicode.IsSpace)
	rest, ok := strings.CutPrefix(line, "::")
	if !ok {
		return command{}, false
	}
	head, data, ok := strings.Cut(rest, "::")
	if !ok {
		return command{}, false
	}
	name, list, _ := strings.Cut(head, " ")
	c := command{name: strings.ToLower(name), data: unescapeData(data), properties: map[string]string{}}
	for pair := range strings.SplitSeq(list, ",") {
		if k, v, ok := strings.Cut(strings.TrimSpace(pair), "="); ok {
			v = strings.ReplaceAll(strings.ReplaceAll(v, "%3A", ":"), "%2C", ",")
			c.properties[k] = unescapeData(v)
		}
	}
	return c, name != ""
}

func unescapeData(s string) string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "%0D", "\r"), "%0A", "\n")
	return strings.ReplaceAll(s, "%25", "%")
}

func TestLogLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"std::vector at a::b":         "std::vector at a::b",
		"::error::x":                  ": :error::x",
		"  \t::set-env name=a::x":     "   : :set-env name=a::x",
		"\u3000::debug::x":            "\u3000: :debug::x",
		"x ##[error]y ###[group]z":    "x ## [error]y ### [group]z",
		"one\r::error::two\n::stop::": `one\r::error::two\n::stop::`,
		"\ufeff::error::x":            `\ufeff::error::x`,
		":::error::x":                 ": ::error::x",
	} {
		if got := LogLine(in); got != want {
			t.Errorf("LogLine(%q) = %q, want %q", in, got, want)
		}
	}
	if got, want := LogBlock("| ", "a\n::error::b\n\n"), "| a\n| ::error::b\n| \n"; got != want {
		t.Errorf("%q", got)
	}
	if got := LogBlock("| ", "\n"); got != "" {
		t.Errorf("%q", got)
	}
	if got, want := LogBlock("##", "[error]x\nerror::x"), "## [error]x\n##error::x\n"; got != want {
		t.Errorf("%q", got)
	}
}

// The decoder must see the commands it is there for.
func TestRunnerCommandDecoder(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"::error::x", " \t::ERROR file=a,line=1::x", "text ##[error]x", "##[set-env name=a;]b", "::x::"} {
		if _, ok := runnerCommand(line); !ok {
			t.Errorf("%q is no command", line)
		}
	}
	c, _ := runnerCommand("::error title=a%3Ab%2C%25,file=f::x%0Ay%25")
	if c.name != "error" || c.data != "x\ny%" || c.properties["title"] != "a:b,%" || c.properties["file"] != "f" {
		t.Errorf("%+v", c)
	}
}

func logIsQuiet(t fataler, s string) {
	for what, log := range map[string]string{
		"line": LogLine(s), "indented line": "  " + LogLine(s) + "  ", "line after colon": ": " + LogLine(s),
		"block": LogBlock("", s), "indented block": LogBlock("    ", s), "marked block": LogBlock("| ", s),
		"block after hashes": LogBlock("##", s), "block after colons": LogBlock(":", s),
	} {
		for _, line := range runnerLines(log) {
			if c, ok := runnerCommand(line); ok {
				t.Fatalf("%s of %q is a command: %q (%s)", what, s, line, c.name)
			}
		}
		nothingHidden(t, what, log, "\t\n")
	}
}

func commandHolds(t fataler, s string) {
	line := "::error title=" + CommandProperty(s) + ",file=f::" + CommandData(s)
	if n := len(runnerLines(line)); n != 1 {
		t.Fatalf("%q has %d lines", line, n)
	}
	if strings.Contains(line, "##[") {
		t.Fatalf("%q holds an old command", line)
	}
	c, ok := runnerCommand(line)
	title := strings.TrimRightFunc(noOldCommand(Line(s)), unicode.IsSpace)
	if !ok || c.name != "error" || c.data != noOldCommand(Block(s)) || c.properties["file"] != "f" || len(c.properties) != 2 ||
		strings.TrimRightFunc(c.properties["title"], unicode.IsSpace) != title {
		t.Fatalf("%q says %+v", line, c)
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	everywhere(t, logIsQuiet)
	everywhere(t, commandHolds)
}

func FuzzCommand(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, s string) {
		logIsQuiet(t, s)
		commandHolds(t, s)
	})
}
