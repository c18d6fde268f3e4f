// Package escape makes foreign text safe for one named sink: a terminal or log
// line, a workflow command, GITHUB_OUTPUT, Markdown, XML, JSON, a shell line that
// is offered for copying.
//
// It promises, as properties tested with independent decoders, that no input can
// end the place it is put in, start a command, ping anybody, or hide text. It
// does not decide how much is shown: callers cut, with Cut, before they escape
// for a sink that has a limit.
// It imports nothing of ours; anyone may import it.
package escape
