// Package receipt remembers which gates passed, so that `check --receipts` can
// skip one while nothing that its result depends on has changed.
//
// It promises that a receipt counts only for the very same gate, definition,
// attributes, files, environment, shell, PATH, policy, platform, tool version,
// machine and user; that one which is malformed, truncated, dated in the future,
// somebody else's or another gate's counts for nothing; that a run is remembered
// only if its files were the same before and after it; and that the folder stays
// bounded. Without DEPENDS the files are the whole tree: what git tracks or does
// not ignore, outside git everything. Ledgers count with boxes emptied and
// EVIDENCE left out.
//
// It cannot see what is outside of the tree: a compiler that was replaced under
// the same PATH, a server, the date, a file that git ignores. It is no proof
// against whoever can write as this user. The Action and --as-pr use none of it
// (6-coordination, Receipts). It imports gates, gates/evidence, gates/ledger and
// internal/*; only cmd imports it.
package receipt
