package gates

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gatesworn/gatesworn/gates/expect"

	"github.com/gatesworn/gatesworn/internal/lazyregexp"
)

// ExitStatusOnly is the blessed way to say that exit status 0 is enough (2-ledger).
const ExitStatusOnly = "/^/"

// notFound finds the command in a shell's "not found" message: dash writes
// "sh: 1: cargo: not found", bash "bash: line 1: cargo: command not found".
var notFound = lazyregexp.New(`(?m)(?:^|: )([^\s:]+): (?:command )?not found\s*$`)

// cause says in one line why a gate failed and what to do next (9-surfaces, B1).
func (p *pool) cause(it *item, m *measurement) (reason, next string) {
	again := "gatesworn check " + it.out.Name
	r := m.result
	switch {
	case m.changed != nil:
		return m.changed.Error(), again
	case r.End == NotStarted:
		return "could not start: " + errText(r.Err), again
	case r.End == TimedOut:
		return p.timedOut(it)
	case r.End == Overflowed, r.End == Exited && !m.fits:
		return "output over 1 MiB", "send it to a file and print one line"
	case r.End == Signaled:
		return signaled(r.Signal), again
	case r.Err != nil:
		return patternTrouble(r.Err), "a simpler EXPECT; then " + again
	case r.Code != 0:
		return p.exited(it, m, again)
	}
	miss := p.job.Engine.Explain(it.gate.Expect, m.output)
	if miss.Next != "" {
		again = miss.Next
	}
	return "exit 0, but " + missed(miss), again
}

// missed joins what the output lacks and why: the why of a pattern follows a
// colon, that of a substring a semicolon (9-surfaces, B1).
func missed(m expect.Miss) string {
	if m.Why == "" {
		return m.What
	}
	return strings.TrimSuffix(expect.Miss{What: m.What, Why: m.Why}.String(), "\n")
}

func (p *pool) timedOut(it *item) (reason, next string) {
	limit := timeout(it.gate, p.job.Timeout)
	more := min(86400, int(limit/time.Second)*5/2)
	next = fmt.Sprintf("TIMEOUT: %d under the gate", more)
	if p.job.Mode == AsPR {
		next += " (then sign again)"
	}
	return fmt.Sprintf("timed out after %ds", int(limit/time.Second)), next
}

func signaled(n int) string {
	if n == 9 {
		return "killed by signal 9 (memory?)"
	}
	return fmt.Sprintf("killed by signal %d", n)
}

func (p *pool) exited(it *item, m *measurement, again string) (reason, next string) {
	reason = fmt.Sprintf("exit %d", m.result.Code)
	if m.matched && it.gate.Expect != ExitStatusOnly {
		reason += "; EXPECT matched, but only exit 0 can pass"
	}
	if m.result.Code == 127 {
		if f := notFound.FindSubmatch(m.result.Tail); f != nil {
			reason = fmt.Sprintf("exit 127: %s: not found", f[1])
			if p.job.Container {
				return reason + " in this container", "use gatesworn/gatesworn/host, which runs on the runner after your setup steps"
			}
		}
	}
	if p.job.Unpassed != nil {
		if names := p.job.Unpassed(it.gate, m.output); len(names) > 0 {
			return fmt.Sprintf("%s; the output names %s, which is set here but not passed on", reason, names[0]),
				"ENV: " + names[0] + " under the gate"
		}
	}
	return reason, again
}

func patternTrouble(err error) string {
	if errors.Is(err, expect.ErrTimeout) {
		return "EXPECT took longer than 250 ms to match"
	}
	return "EXPECT could not be matched: " + err.Error()
}

func errText(err error) string {
	if err == nil {
		return "unknown reason"
	}
	return err.Error()
}

// signalName gives the usual name of a signal, or its number.
func signalName(n int) string {
	names := map[int]string{1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM"}
	if s, ok := names[n]; ok {
		return s
	}
	return fmt.Sprintf("signal %d", n)
}
