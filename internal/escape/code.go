package escape

import (
	"encoding/hex"
	"strings"
)

// Fence is Block as a fenced block of raw text: the fence is longer than any run
// of tildes or backticks inside. It begins and ends its lines itself; put an empty
// line before it where HTML precedes. info is a language name; one that GitHub
// would draw or apply (mermaid, math, suggestion and so on) or that is no plain
// word is dropped.
func Fence(s, info string) string { return FenceIndented(s, info, 0) }

// FenceIndented is Fence inside a list item whose text starts indent columns in.
func FenceIndented(s, info string, indent int) string {
	s = strings.TrimSuffix(Block(s), "\n")
	pad := strings.Repeat(" ", max(indent, 0))
	fence := strings.Repeat("~", max(3, longestRun(s, "~`")+1))
	if !plainInfo(info) {
		info = ""
	}
	var b strings.Builder
	b.Grow(len(s) + 2*len(fence) + 64)
	b.WriteString(pad + fence + info + "\n")
	if s != "" {
		for line := range strings.SplitSeq(s, "\n") {
			b.WriteString(pad + line + "\n")
		}
	}
	b.WriteString(pad + fence + "\n")
	return b.String()
}

// plainInfo accepts languages whose blocks GitHub only colours.
func plainInfo(info string) bool {
	switch strings.ToLower(info) {
	case "mermaid", "math", "geojson", "topojson", "stl", "suggestion":
		return false
	}
	return strings.Trim(strings.ToLower(info), "abcdefghijklmnopqrstuvwxyz0123456789+-") == ""
}

// longestRun gives the length of the longest run of one of the characters.
func longestRun(s, chars string) int {
	longest := 0
	for i := 0; i < len(s); {
		n := 1
		for i+n < len(s) && s[i+n] == s[i] {
			n++
		}
		if strings.IndexByte(chars, s[i]) >= 0 {
			longest = max(longest, n)
		}
		i += n
	}
	return longest
}

// CodeSpan is Line as a code span in running text; GitHub changes nothing in it.
// In a table use CodeCell.
func CodeSpan(s string) string {
	s = Line(s)
	if s == "" {
		return "` `"
	}
	ticks := strings.Repeat("`", longestRun(s, "`")+1)
	// One blank at each end is taken off again, unless there is nothing else.
	blank := strings.Trim(s, " ") == ""
	if !blank && (strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") || s[0] == ' ' && s[len(s)-1] == ' ') {
		s = " " + s + " "
	}
	return ticks + s + ticks
}

// CodeCell is Line as code in a cell of a table, where parsers disagree about a
// backslash before a bar inside a code span: it is written as HTML then.
func CodeCell(s string) string {
	if line := Line(s); strings.ContainsAny(line, `|\`) {
		return "<code>" + markdown(writer{s: line}) + "</code>"
	}
	return CodeSpan(s)
}

// Marker is a hidden line, by which a comment is found again. The data appears
// as lower-case hexadecimal digits: they are base64url characters too, but unlike
// base64url they never hold "--", which older parsers end a comment at.
func Marker(data []byte) string { return "<!-- gatesworn:" + hex.EncodeToString(data) + " -->" }
