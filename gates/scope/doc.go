// Package scope finds the ledgers a run is about and coordinates the work that
// several workers share: scopes (.unlazy/<scope>/), the session bound to one,
// its status log, ownership leases and launch waves.
//
// It promises that a scope is never guessed, that nothing beneath .unlazy is
// reached through a link, that every named ledger entry is returned (a link or a
// FIFO too, so that reading it fails closed), that a lease is claimed by one of
// any number of processes, that a lock or lease of somebody else is never stolen,
// and that the files are unlazy 2.1's, byte for byte, in both directions.
//
// Leases coordinate; they do not isolate. Nothing here runs a check.
// It imports gates/ledger, gates/evidence and internal/*; gates/hook,
// gates/scope/plan and cmd import it.
package scope
