// Package markdown renders a gates.Report as GitHub Markdown: the sticky comment,
// the check run with its annotations, and the job summary.
//
// It is pure: a report, a Place and a budget in bytes give the same text every
// time, so that `gatesworn publish --dry-run` shows what CI will post. It
// promises that no text is longer than its budget, that cutting happens at one
// place, on a rune boundary, outside fences, tables and <details>, and says how
// much was left out, and that foreign text (outcomes, commands, output, paths)
// cannot ping, link, break a table or leave its fence.
//
// It does not decide anything: verdict, conclusion and next steps are the
// report's. It imports gates for the value and internal/escape for the sinks.
package markdown

// Limits of GitHub's, in bytes unless said otherwise.
const (
	// MaxCheckText is the limit of a check run's output.summary and of its
	// output.text, each (REST description, check run "output"; the service counts
	// bytes, github/rest-api-description #5399).
	MaxCheckText = 65535
	// MaxComment stays below the comment limit of 65 536, whose unit is not
	// documented.
	MaxComment = 65000
	// MaxSummary is the limit of a step's job summary; a larger one is dropped
	// whole (actions/runner FileCommandManager).
	MaxSummary = 1 << 20
	// MaxAnnotationText bounds an annotation's message and its raw_details.
	MaxAnnotationText = 64000
	// MaxAnnotationTitle bounds an annotation's title.
	MaxAnnotationTitle = 255
	// MaxTitle bounds the check run's title, which is one line in the merge box.
	// GitHub names no limit; a longer line is cut by the browser anyway.
	MaxTitle = 250
)

// Place says where a page will be read: what its links lead to and what its last
// lines say. The zero value renders without links.
type Place struct {
	Server  string   // "https://github.com"; anything that is not an http(s) origin gives no links
	Log     string   // URL of the job's log on Server, or ""
	Note    string   // who measured, when it was not this repository's own run: "measured by the fork's own run"
	Remarks []string // last lines of the job summary, plain: "No comment: the token has no …"
}
