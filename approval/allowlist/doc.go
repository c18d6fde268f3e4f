// Package allowlist reads what a repository signs: statements beneath
// .gatesworn/approvals, their SSH signatures, allowed_signers and revoked.
//
// It promises that a statement's bytes are the one spelling of what it says; that
// a principal comes from the key that signed and never from a file's name; that
// what counts here is accepted by `ssh-keygen -Y verify`, too; that each file's
// refusal names the first thing wrong with it; and that thousands of old
// approvals cost little, because only statements that a decision needs are parsed
// and verified. It decides nothing: approval.Decide does.
//
// Formats follow OpenSSH's PROTOCOL.sshsig and ssh-keygen(1), ALLOWED SIGNERS,
// both read more strictly; docs/approvals.md has the table. It reads no clock and
// starts no process. It imports approval.
package allowlist
