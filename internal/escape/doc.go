// Package escape makes foreign text safe for one named sink: a terminal or log
// line, a workflow command, GITHUB_OUTPUT, Markdown, XML, JSON, a shell line that
// is offered for copying.
//
// It promises, as properties tested with independent decoders, that no input can
// end the place it is put in, start a command, ping anybody, or hide text. It
// does not decide how much is shown. The order for the output of a check is
//
//	UTF8 → StripANSI → Redactor.Redact → Cut → the function of the sink
//
// so that neither a secret nor an escape sequence is ever cut in two; what a cut
// might leave of a sequence, the sink makes visible. For text of a ledger, a path
// or an error the function of the sink is enough.
//
// It cannot know a secret that was not registered, nor one that a program
// encrypts, reverses or spells out before printing it.
// It imports nothing of ours; anyone may import it.
package escape
