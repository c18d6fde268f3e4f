// Package hook guards the two moments where unfinished work slips out: an agent's
// stop (Claude Code's Stop hook) and a push (git's pre-push hook).
//
// It promises that answering a stop runs no check, that no input, ledger or state
// can trap a session (after six blocks without progress, and on anything that
// cannot be read or recorded, it lets go), that a reason is at most 300 bytes of
// visible text, that installing changes nothing in a settings file but its own
// entry, and that uninstalling removes only that. A hook is a reminder: an agent
// that edits its settings, its state or its ledger is not held by it.
//
// What the pre-push hook looks at is the command's business; here is the script
// that git runs and how it gets there and away.
// It imports gates/scope, gates/ledger, gates/evidence and internal/*; cmd imports it.
package hook
