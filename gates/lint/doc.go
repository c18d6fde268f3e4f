// Package lint advises on gates that prove less than their author thinks: a
// command that cannot fail, an expectation that a failure meets as well, an
// outcome that nobody could judge.
//
// It promises to run nothing and to read nothing but the document; that the
// rules unlazy 2.1's linter has keep their names; and that where it cannot tell
// (a shell construct it does not follow, a pattern that is slow) it says nothing.
// Advice is a warning, never an error, and silence is no proof of a good gate.
//
// It imports gates/ledger, gates/expect and gates/schedule; cmd imports it.
package lint
