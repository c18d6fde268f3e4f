package escape

import (
	"strings"
	"unicode"
)

// LogLine is Line for the log of a GitHub job, where a line can be a command:
// "::name::" at its beginning after blanks, "##[name]" anywhere, on both streams
// (actions/runner, ActionCommand.cs). Both get a blank inside. It stays safe
// behind any prefix, and in front of anything.
func LogLine(s string) string { return noCommand(Line(s)) }

// LogBlock is Block for the log of a job: every line of s, none of them a
// command, behind prefix. The result ends with a newline unless s is empty.
func LogBlock(prefix, s string) string {
	s = strings.TrimSuffix(Block(s), "\n")
	if s == "" {
		return ""
	}
	var b strings.Builder
	b.Grow(len(s) + 64)
	for line := range strings.SplitSeq(s, "\n") {
		// Together: a prefix that ends with '#' or ':' must not complete a command.
		b.WriteString(noCommand(prefix + line))
		b.WriteByte('\n')
	}
	return b.String()
}

// noCommand takes a single line.
func noCommand(line string) string {
	text := strings.TrimLeftFunc(line, unicode.IsSpace)
	if strings.HasPrefix(text, "::") {
		line = line[:len(line)-len(text)] + ": " + text[1:]
	}
	return noOldCommand(line)
}

func noOldCommand(s string) string { return strings.ReplaceAll(s, "##[", "## [") }

// CommandData is Block for the data of a workflow command that we write
// ourselves ("::error …::data"): %, CR and LF are encoded, % first, as the runner
// decodes them. The runner cuts a message after 4096 characters.
func CommandData(s string) string { return dataEncoder(noOldCommand(Block(s))) }

// CommandProperty is Line for the value of a property ("::error title=value::");
// ':' and ',' are encoded as well.
func CommandProperty(s string) string {
	s = dataEncoder(noOldCommand(Line(s)))
	return strings.ReplaceAll(strings.ReplaceAll(s, ":", "%3A"), ",", "%2C")
}

func dataEncoder(s string) string {
	s = strings.ReplaceAll(s, "%", "%25")
	s = strings.ReplaceAll(s, "\r", "%0D")
	return strings.ReplaceAll(s, "\n", "%0A")
}
