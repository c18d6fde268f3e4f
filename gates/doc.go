// Package gates turns ledgers, permissions and results into a verdict. Check is
// the one pipeline that the command line and the Action share; Evaluate is its
// pure end.
//
// It promises that nothing runs without a Permission, that everything is decided
// before the first process starts, that a result is announced only once it is
// recorded, and that the zero value of every status refuses.
//
// It starts no process, reads no clock, environment or file of its own: Permit,
// Exec, Recorder and Observer come in as values. It imports ledger, expect,
// evidence, schedule and internal/*, never approval, ghreport or runner.
package gates
