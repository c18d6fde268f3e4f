package gates

import (
	"context"
	"time"
)

// Command is one approved check, ready to run.
type Command struct {
	Shell   string        // absolute path
	Script  string        // passed to Shell -c
	Dir     string        // absolute path, links resolved
	Env     []string      // complete environment, NAME=value
	Timeout time.Duration // > 0
}

// End says how a check ended. The zero value was never a success.
type End int

const (
	NotStarted  End = iota // the shell could not be started: Result.Err says why
	Exited                 // by itself: Result.Code is its status
	Signaled               // by a signal that was not ours: Result.Signal
	TimedOut               // stopped at Command.Timeout
	Overflowed             // stopped at the output limit
	Interrupted            // stopped because the run was
)

// Result is how a check ended and what it printed.
type Result struct {
	End            End
	Code           int    // exit status, only with Exited
	Signal         int    // number, only with Signaled
	Err            error  // only with NotStarted
	Stdout, Stderr []byte // together at most evidence.MaxOutput
	Tail           []byte // the last bytes of both, bounded, for people; also after an overflow
	Duration       time.Duration
}

// Exec runs one command to its end, with nothing it started left behind.
// It is safe for as many concurrent calls as there are jobs. A context that is
// done stops the check: the result is Interrupted.
type Exec interface {
	Exec(ctx context.Context, c Command) Result
}
