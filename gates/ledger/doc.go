// Package ledger reads and edits GATES.md: bytes in, document out.
//
// It promises: every error and warning of the file in one pass, each with line
// and column; that what it accepts means the same to unlazy 2.1's checker; that
// every gate and attribute it returns is visible text in the page GitHub
// renders; that Document.Bytes gives back the bytes that were read; and time
// linear in the size of the file.
//
// It does no I/O, runs nothing and decides nothing: whether a gate's claim
// stands is gates/evidence, whether its command may run is approval.
// It imports internal/* and gates/expect; anything may import it.
package ledger
