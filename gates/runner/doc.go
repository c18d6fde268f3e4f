// Package runner starts approved checks and contains them.
//
// It promises that nothing a check started survives its result: not after a
// timeout, an output limit, an interruption or a plain exit, not through setsid
// and double forks, and not when the checker itself is killed with SIGKILL. It
// promises bounded memory whatever a check prints, an environment exactly as
// given, no terminal, an empty standard input and no descriptor of ours.
//
// On Linux every slot is a small helper process, a child subreaper that runs one
// check at a time: what is left under it when the check's shell ends belongs to
// that check. Elsewhere, and without a helper, only the check's process group is
// stopped: a process that called setsid gets away there. [Runner.Containment]
// says which of the two held.
//
// It does not protect the checker from a check of the same user: such a check
// can kill or stop its helper, which fails the check and is cleaned up after,
// but it can kill the checker as well. Only a dedicated user ([Config.User])
// prevents that. Work handed to a daemon that was there before is out of scope.
//
// It decides nothing: whether a command may run is approval, whether its result
// passes is gates. It imports gates, gates/evidence and gates/ledger; only cmd and action
// import it.
package runner
