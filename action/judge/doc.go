// Package judge puts a run together: from a folder on disk it finds the top, the
// policy and the ledgers, resolves where each check runs, and offers the permits
// that gates.Check asks. The command line and the Action share it, so that both
// give one verdict.
//
// It promises that a permit never allows what approval.Decide refuses, that
// nothing here starts a process, and that what cannot be read is an error. It
// reads no environment and no clock: front ends pass both as values.
//
// It imports approval and its stores, gates and its parts, and internal/*; cmd
// and action import it.
package judge
