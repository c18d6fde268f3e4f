package escape

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// pieces are what attacks on the sinks are made of; random text alone rarely
// holds two of them.
var pieces = []string{
	"a", "b", "Z", "0", "1", "12", " ", "  ", "\t", "\n", "\r", "\r\n", "\x00", "\x07", "\b", "\x0b", "\x7f", "\x1a",
	"\x1b", "\x1b[", "\x1b[31m", "\x1b[2K", "\x1b[K", "\x1b]8;;http://x\x07", "\x1b]0;t", "\x1b\\", "\x1bP", "\x1b(B",
	"\x9b", "\x9d", "\x9c", "\u009b", "\u009d", "\u009c", "\u0085", "m", "\xff", "\xc2", "\xe2", "\x80", "\xf0\x9f",
	"\u200b", "\u200d", "\ufe0f", "\u202e", "\u2066", "\u2028", "\ufeff", "\u00ad", "\u3164", "\U000e0041", "\ufffe", "\uffff",
	"\u034f", "\u180b", "é", "漢", "👩", "💻", "क", "्", "…", "\u00a0", "\u3000",
	"::", ":", "::error::", "::set-output name=x::", "##[", "##", "#", "[", "]", "%", "%0A", "%3A", ",",
	"|", "\\", "`", "``", "```", "~~~", "~", "*", "_", "**", "!", "![", "](", "(", ")", "<", ">", "<!--", "-->", "<details>",
	"</details>", "<script>", "<b>", "&", "&amp;", "&#64;", "&lt;", "@", "@alice", "@org/team", "#123", "GH-1", "gh-", "KEY-7",
	"owner/repo#1", "deadbeef", "0123456789abcdef0123456789abcdef01234567", "http://", "https://evil.example/", "www.", "www.evil.example",
	"mailto:a@b.example", "a@b.example", ":smile:", ":+1:", "$", "$$", "$x$", "-", "- ", "+ ", "=", "===", "---", "1. ", "1)", "> ", "    ",
	"[^1]", "[x]: y", "]]>", "<![CDATA[", "'", "\"", "$(id)", ";", "&&", "{", "}", "^", "GHSA-x", "gatesworn_", "<<EOF", "name=value",
}

// text draws foreign text.
func text(t *rapid.T) string {
	return rapid.OneOf(
		rapid.Map(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12), func(p []string) string { return strings.Join(p, "") }),
		rapid.String(),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
	).Draw(t, "text")
}

// seeds gives every piece, and pairs of neighbours, to a fuzz target.
func seeds(f *testing.F) {
	f.Helper()
	for i, p := range pieces {
		f.Add(p + pieces[(i+1)%len(pieces)] + pieces[(i*7)%len(pieces)])
	}
}

// everywhere runs one property over drawn text.
func everywhere(t *testing.T, property func(t fataler, s string)) {
	t.Helper()
	for _, p := range pieces {
		property(t, p)
	}
	rapid.Check(t, func(r *rapid.T) { property(r, text(r)) })
}

// fataler is what a property needs of rapid.T and testing.T.
type fataler interface {
	Fatalf(format string, args ...any)
	Helper()
}
