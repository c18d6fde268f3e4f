// Package store keeps one user's approvals on one machine: a readable JSON record
// each, named by the digest of everything that the approval binds.
//
// It promises that a record counts only for exactly the oracle, ledger, shell,
// directory, timeout, platform and PATH it was given for; that linked, replaced
// or accessible records do not count; that a folder which is not this user's
// alone, or lies in the repository, is refused and never repaired; that a record
// is complete or not there; and that a store which cannot be read is an error, not
// "not approved".
//
// It does not defend against other programs of the same user, who can write
// records as well as run commands. It reads no environment and no clock.
// It imports approval and internal/safefile.
package store
