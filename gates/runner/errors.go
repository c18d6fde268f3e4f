package runner

import "errors"

// Why a check has no result of its own. Result.Err wraps one of these, only with
// gates.NotStarted, and where the system gave a reason its errno as well.
var (
	// ErrDir: the check's directory is missing, is no directory or cannot be entered.
	ErrDir = errors.New("cannot enter the directory")
	// ErrShell: the shell is missing or cannot be executed.
	ErrShell = errors.New("cannot start the shell")
	// ErrHelper: the slot helper could not be started, or was killed while the check ran.
	ErrHelper = errors.New("the slot helper failed")
	// ErrSurvived: processes of the check could not be killed, so it has no result.
	ErrSurvived = errors.New("processes of the check could not be stopped")
	// ErrCommand: the command is incomplete (relative path, no timeout).
	ErrCommand = errors.New("invalid command")
	// ErrClosed: the runner was closed.
	ErrClosed = errors.New("the runner is closed")
)
