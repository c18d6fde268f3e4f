package gates

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gatesworn/gatesworn/gates/evidence"
	"github.com/gatesworn/gatesworn/gates/ledger"
)

// item is one gate on its way through a run.
type item struct {
	src   *Source
	stem  string
	gate  ledger.Gate
	ref   GateRef
	perm  Permission
	worth evidence.Worth
	asked bool
	run   bool // will be measured, if nothing it needs gets in the way
	out   Gate
	pass  *Pass // to be kept, or of a reused gate to be written
}

// Check judges the ledgers of a job: it decides every gate, runs what may and has
// to run, records the results and returns the report. The report is complete
// also when the error is not nil; the error then says what could not be known or
// written, and the report's verdict is VerdictError. A context that is done
// stops the checks that run; what is finished is kept.
func Check(ctx context.Context, job Job, permit Permit, exec Exec, watch Observer) (Report, error) {
	started := job.Now()
	job.onlyLocal()
	report := job.Base
	report.Schema, report.StartedAt = Schema, started
	items, err := job.items()
	if err != nil {
		return unjudged(finish(report, job, items, started)), nothing(err)
	}
	for i := range job.Sources {
		if !job.Sources[i].Doc.OK() {
			return finish(report, job, items, started), nil
		}
	}
	if err := job.locate(items); err != nil {
		return unjudged(finish(report, job, items, started)), nothing(err)
	}
	trouble := decide(ctx, job.Mode, permit, items)
	for _, it := range items {
		if it.out.State == Unapproved {
			watch.Withheld(it.out)
		}
	}
	if job.DecideOnly {
		for _, it := range items {
			if it.run {
				it.run, it.out.State, it.out.Reason = false, NotRun, "would run"
			}
		}
	}
	job.reuse(items)
	trouble = errors.Join(trouble, measure(ctx, job, items, exec, watch, started))
	if ctx.Err() != nil {
		trouble = errors.Join(trouble, ErrInterrupted)
	}
	report = finish(report, job, items, started)
	if trouble != nil {
		report = unjudged(report)
	}
	return report, trouble
}

// unjudged is a report that says nothing about success, whatever its gates say.
func unjudged(r Report) Report {
	r.Verdict, r.Conclusion = VerdictError, Failure
	return r
}

// ErrNothingJudged is wrapped where a run ended before it looked at any gate: a
// name that fits none, a CWD that leaves the repository. The report's states mean nothing then.
var ErrNothingJudged = errors.New("nothing was judged")

// nothing marks an error with ErrNothingJudged and leaves its text alone.
func nothing(err error) error { return &unjudgedError{err} }

type unjudgedError struct{ cause error }

func (e *unjudgedError) Error() string   { return e.cause.Error() }
func (e *unjudgedError) Unwrap() []error { return []error{e.cause, ErrNothingJudged} }

// ErrInterrupted is returned when the context ended before the run did.
var ErrInterrupted = errors.New("interrupted")

// items lists the gates of all ledgers, named, with what their author claims.
func (job *Job) items() ([]*item, error) {
	paths := make([]string, len(job.Sources))
	for i, s := range job.Sources {
		paths[i] = s.Path
	}
	stems := Names(paths)
	var items []*item
	for i := range job.Sources {
		src := &job.Sources[i]
		for _, g := range src.Doc.Gates {
			it := &item{src: src, stem: stems[i], gate: g, worth: evidence.Judge(g)}
			it.out = Gate{
				ID: g.ID, Name: stems[i] + ":" + g.ID, Title: g.Outcome, Line: g.Line,
				Check: g.Check, Expect: g.Expect, Claimed: claimed(g),
				DefinitionSHA256: evidence.DefinitionDigest(g),
				OlderEvidence:    it.worth.Reason == evidence.Unbound && g.Ticked,
			}
			if job.OtherTree != nil && it.worth.Tree != "" {
				it.out.EarlierTree = job.OtherTree(it.worth.Tree)
			}
			items = append(items, it)
		}
	}
	asked, err := job.Only.resolve(items)
	if err != nil {
		return items, err
	}
	for i, it := range items {
		it.asked = (len(job.Only) == 0 || asked[i]) && (job.Share == nil || job.Share(it.src.Path, it.gate.ID))
		it.out.NotAsked = !it.asked
		it.rest(job.Mode, job.proven())
	}
	return items, nil
}

// claimed is what the author says; giving a gate up does not change it.
func claimed(g ledger.Gate) Claimed {
	g.Abandoned = ""
	w := evidence.Judge(g)
	switch {
	case w.Claim == evidence.Met:
		return ClaimedMet
	case g.Ticked && (g.Runnable() || w.Reason == evidence.Automatic):
		return ClaimedStale
	default:
		return ClaimedUnmet
	}
}

// rest gives a gate the state it has if it is never measured, and says whether it has to be.
// With prove a claim is not enough.
func (it *item) rest(mode Mode, prove bool) {
	claimMet := it.worth.Claim == evidence.Met
	switch {
	case it.worth.Claim == evidence.Abandoned:
		it.out.State, it.out.Reason = Abandoned, it.gate.Abandoned
	case !it.asked:
		it.out.State, it.out.Reason = NotRun, "not asked for"
	case !it.gate.Runnable() && claimMet && mode != AsPR:
		it.out.State = Met
	case !it.gate.Runnable():
		it.out.State, it.out.Reason = Manual, manualReason(it.worth)
		it.out.Next = "untick it, or say what was seen in EVIDENCE"
		if !it.gate.Ticked {
			it.out.Next = "do it, tick the box and say what was seen in EVIDENCE"
		}
	case mode == Status && claimMet:
		it.out.State = Met
	case mode == Status:
		it.out.State, it.out.Reason = NotRun, staleReason(it.gate, it.worth)
		it.out.Next = "gatesworn check " + it.out.Name
	case mode == Unmet && claimMet && !it.src.Standing && !prove:
		it.out.State = Met
	default:
		it.run = true
		it.out.State, it.out.Reason = NotRun, staleReason(it.gate, it.worth)
		it.out.Next = "gatesworn check " + it.out.Name
	}
}

func manualReason(w evidence.Worth) string {
	if w.Reason == evidence.Automatic {
		return "a manual gate cannot carry automatic evidence"
	}
	return "no evidence yet"
}

func staleReason(g ledger.Gate, w evidence.Worth) string {
	if !g.Ticked {
		return "not ticked"
	}
	switch w.Reason {
	case evidence.Unbound:
		return "ticked with evidence from an older checker, which names no command"
	case evidence.Other:
		return "ticked, but its evidence is for another definition"
	case evidence.Malformed:
		return "ticked, but its evidence line is malformed"
	case evidence.Pending:
		return "ticked, but its evidence is pending"
	default:
		return ""
	}
}

// locate resolves the folder of every gate that would run; --status looks at none.
func (job *Job) locate(items []*item) error {
	var errs []error
	for _, it := range items {
		it.ref = GateRef{Name: it.out.Name, Ledger: it.src.Path, Abs: it.src.Abs, Gate: it.gate}
		if job.Mode == Status || it.src.Dir == nil {
			continue
		}
		if !it.run && job.Mode != AsPR {
			continue
		}
		abs, rel, err := it.src.Dir(it.gate)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", it.out.Name, err))
			continue
		}
		it.ref.Dir, it.ref.RelDir, it.out.CWD = abs, rel, rel
	}
	return errors.Join(errs...)
}

// decide asks for every permission before anything runs.
func decide(ctx context.Context, mode Mode, permit Permit, items []*item) error {
	var errs []error
	for _, it := range items {
		manual := !it.gate.Runnable() && mode == AsPR
		if !it.asked || it.worth.Claim == evidence.Abandoned || !it.run && !manual {
			continue
		}
		perm, err := permit.Permit(ctx, it.ref)
		it.perm = perm
		it.out.OracleSHA256, it.out.Changed, it.out.Was, it.out.Approval = perm.Oracle, perm.Changed, perm.Was, perm.Approval
		switch {
		case err != nil:
			it.run = false
			it.out.State, it.out.Reason = Unapproved, "its approval could not be read"
			it.out.Next = "gatesworn explain " + it.out.Name
			errs = append(errs, fmt.Errorf("cannot decide %s: %w", it.out.Name, err))
		case manual && perm.Manual:
			it.out.State, it.out.Reason, it.out.Next = Met, perm.Reason, ""
		case manual:
			it.out.State, it.out.Reason, it.out.Next = Manual, perm.Reason, perm.Next
		case !perm.Allowed:
			it.run = false
			it.out.State, it.out.Reason, it.out.Next = Unapproved, perm.Reason, perm.Next
		}
	}
	return errors.Join(errs...)
}

// finish assembles the report from the gates' final states.
func finish(report Report, job Job, items []*item, started time.Time) Report {
	byLedger := map[string]*Ledger{}
	report.Ledgers = make([]Ledger, len(job.Sources))
	for i, s := range job.Sources {
		report.Ledgers[i] = s.summary()
		byLedger[s.Path] = &report.Ledgers[i]
	}
	for _, it := range items {
		l := byLedger[it.src.Path]
		l.Gates = append(l.Gates, it.out)
	}
	for _, r := range job.Removed {
		report = withRemoved(report, r)
	}
	report.DurationMS = job.Now().Sub(started).Milliseconds()
	return Evaluate(report)
}

func (s *Source) summary() Ledger {
	l := Ledger{Path: s.Path, Kind: "task", SHA256: s.SHA256, Findings: []Finding{}, Gates: []Gate{}}
	if s.Standing {
		l.Kind = "standing"
	}
	for _, f := range s.Doc.Findings {
		l.Findings = append(l.Findings, reportFinding(f))
	}
	return l
}

// withRemoved adds a removed gate under its ledger, making one for a ledger that vanished.
func withRemoved(report Report, r Removal) Report {
	g := r.Gate
	g.State, g.Line = Removed, 0
	for i := range report.Ledgers {
		if report.Ledgers[i].Path == r.Ledger {
			report.Ledgers[i].Gates = append(report.Ledgers[i].Gates, g)
			return report
		}
	}
	report.Ledgers = append(report.Ledgers, Ledger{Path: r.Ledger, Kind: "standing", Findings: []Finding{}, Gates: []Gate{g}})
	return report
}
