package gates

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gatesworn/gatesworn/gates/evidence"
	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/gatesworn/gatesworn/gates/schedule"
)

// pool runs the gates that have to be measured and hands out results in ledger order.
type pool struct {
	job     Job
	items   []*item
	tasks   []int // index into items of every task
	exec    Exec
	watch   Observer
	start   time.Time
	events  chan event
	settled []bool           // per item: its final state is known and recorded
	printed int              // items before this one have been announced
	lost    map[string][]int // items whose result could not be recorded, by cause
	causes  map[string]error
}

// event is news from a check or from a recorder.
type event struct {
	item     int
	measured *measurement
	recorded Recorded
	err      error
}

// measurement is what one check showed.
type measurement struct {
	result  Result
	output  string // canonical
	fits    bool   // output is within the limit
	matched bool
	passed  bool
	changed error // a bound file differs
	began   time.Time
}

// measure runs what has to run, at most job.Jobs at a time, and announces every gate.
func measure(ctx context.Context, job Job, items []*item, exec Exec, watch Observer, started time.Time) error {
	p := &pool{
		job: job, items: items, exec: exec, watch: watch, start: started,
		events:  make(chan event, max(1, job.Jobs)),
		settled: make([]bool, len(items)), lost: map[string][]int{}, causes: map[string]error{},
	}
	queue := p.queue()
	planned := 0
	for i, it := range items {
		p.settled[i] = !it.run
		if it.run {
			planned++
		}
	}
	watch.Planned(planned)
	restored := p.restore()
	p.announce()
	p.loop(ctx, queue, restored)
	p.abandonRest(ctx)
	return p.unrecorded()
}

// lose takes back a pass that did not reach the disk. A failure stays one.
func (p *pool) lose(i int, err error) {
	it := p.items[i]
	p.lost[err.Error()] = append(p.lost[err.Error()], i)
	p.causes[err.Error()] = err
	if it.out.State == Met {
		it.out.State, it.out.Reason = NotRun, "it passed, but the result could not be written"
		it.out.Next = "gatesworn check " + it.out.Name
	}
}

// unrecorded says what could not be recorded: each cause once, in ledger order.
func (p *pool) unrecorded() error {
	texts := slices.Collect(maps.Keys(p.lost))
	for _, t := range texts {
		slices.Sort(p.lost[t])
	}
	slices.SortFunc(texts, func(a, b string) int { return p.lost[a][0] - p.lost[b][0] })
	errs := make([]error, len(texts))
	for n, t := range texts {
		var names []string
		for _, i := range p.lost[t] {
			names = append(names, p.items[i].out.Name)
		}
		if more := len(names) - maxLost; more > 0 {
			names = append(names[:maxLost], fmt.Sprintf("%d more", more))
		}
		errs[n] = fmt.Errorf("cannot record %s: %w", strings.Join(names, ", "), p.causes[t])
	}
	return errors.Join(errs...)
}

// maxLost is how many gates one error about the ledger names.
const maxLost = 4

// queue turns the gates to run into tasks. A need that is met by its claim, where
// claims count, is no need any more; one that is not met and will not run blocks.
func (p *pool) queue() *schedule.Queue {
	index := map[string]int{}
	task := map[int]int{}
	for i, it := range p.items {
		index[it.src.Path+"\x00"+it.gate.ID] = i
		if it.run {
			task[i] = len(p.tasks)
			p.tasks = append(p.tasks, i)
		}
	}
	tasks := make([]schedule.Task, len(p.tasks))
	var blocked []int
	for t, i := range p.tasks {
		it := p.items[i]
		tasks[t] = schedule.Task{Reads: it.gate.Reads, Writes: it.gate.Writes}
		if p.job.Expected != nil {
			tasks[t].Expected = p.job.Expected(it.ref)
		}
		for _, id := range it.gate.Needs {
			n := index[it.src.Path+"\x00"+id]
			if need, ok := task[n]; ok {
				tasks[t].Needs = append(tasks[t].Needs, need)
			} else if !p.needMet(p.items[n]) && it.out.State != Blocked {
				p.block(it, p.items[n])
				blocked = append(blocked, t)
			}
		}
	}
	q := schedule.New(tasks, max(1, p.job.Jobs))
	for _, t := range blocked {
		p.blockTask(q, t)
	}
	return q
}

// needMet reports whether a gate that will not run satisfies a need of another.
func (p *pool) needMet(it *item) bool {
	if !it.asked && p.job.Mode == Unmet {
		return it.worth.Claim == evidence.Met
	}
	return it.out.State == Met && (p.job.Mode == Unmet || !it.gate.Runnable())
}

// block marks a gate that cannot run because of another one.
func (p *pool) block(it, need *item) {
	it.out.State = Blocked
	it.out.Reason = fmt.Sprintf("needs %s, which %s", need.out.Name, describe(need.out))
	it.out.Next = "gatesworn check " + need.out.Name + " " + it.out.Name
	switch need.out.State {
	case Unapproved, Manual, Blocked:
		if need.out.Next != "" {
			it.out.Next = need.out.Next
		}
	case Abandoned:
		it.out.Next = "drop " + need.out.Name + " from NEEDS, or take back its ABANDON"
	}
}

func describe(g Gate) string {
	switch g.State {
	case Failed:
		return "failed"
	case Blocked, Abandoned, Removed:
		return "is " + string(g.State)
	case Unapproved:
		return "is not approved"
	case Manual:
		return "waits for a person"
	default:
		if g.NotAsked && g.Claimed == ClaimedMet {
			return "was not measured in this run"
		}
		return "is not met"
	}
}

// blockTask takes a blocked gate out of the queue, and with it everything that needs it.
func (p *pool) blockTask(q *schedule.Queue, t int) {
	for _, b := range q.Block(t) {
		it := p.items[p.tasks[b.Task]]
		if it.out.State != Blocked {
			p.block(it, p.items[p.tasks[b.Need]])
		}
		it.run = false
	}
	p.items[p.tasks[t]].run = false
}

// loop starts checks as slots free up until nothing is left to start or to wait for.
// waiting is the number of events that are to come already.
func (p *pool) loop(ctx context.Context, q *schedule.Queue, waiting int) {
	running := 0
	for {
		for ctx.Err() == nil {
			t, ok := q.Next()
			if !ok {
				break
			}
			i := p.tasks[t]
			p.watch.Started(p.items[i].out.Name, p.job.Now())
			running++
			waiting++
			go func() { p.events <- event{item: i, measured: p.check(ctx, p.items[i])} }()
		}
		if running == 0 {
			p.flush()
		}
		if waiting == 0 {
			return
		}
		e := <-p.events
		waiting--
		if e.measured == nil {
			p.recorded(e)
			continue
		}
		running--
		if p.finished(e) {
			waiting++
		}
		it := p.items[e.item]
		for _, b := range q.Done(p.taskOf(e.item), it.out.State == Met) {
			blocked := p.items[p.tasks[b.Task]]
			p.block(blocked, p.items[p.tasks[b.Need]])
			p.settle(p.tasks[b.Task])
		}
	}
}

func (p *pool) taskOf(i int) int {
	lo, hi := 0, len(p.tasks)
	for lo < hi {
		if mid := (lo + hi) / 2; p.tasks[mid] < i {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// flush has everything that is waiting written now: nothing else will end.
func (p *pool) flush() {
	for _, s := range p.job.Sources {
		if s.Recorder != nil {
			s.Recorder.Flush()
		}
	}
}

// finished takes in a measurement; it reports whether a recorder will answer for it.
func (p *pool) finished(e event) bool {
	it, m := p.items[e.item], e.measured
	p.watch.Ended(it.out.Name)
	p.conclude(it, m)
	written := it.src.Recorder != nil
	if !written && p.job.Reuse == nil || m.result.End == Interrupted || m.changed != nil {
		p.settle(e.item)
		return false
	}
	entry := Entry{Gate: it.gate, Passed: m.passed}
	if m.passed {
		line, err := evidence.Format(it.gate, evidence.Run{
			Output: m.output, Shell: p.job.Shell, Dir: it.ref.Dir, Path: p.job.Path, Tree: p.job.Tree,
		})
		if err != nil {
			if written {
				p.lose(e.item, err)
			}
			p.settle(e.item)
			return false
		}
		entry.Evidence = line
		it.pass = &Pass{At: m.began.Add(m.result.Duration), Evidence: line}
	}
	if !written {
		p.keep(it)
		p.settle(e.item)
		return false
	}
	p.record(e.item, entry)
	return true
}

// record hands a result to its ledger; what became of it is an event.
func (p *pool) record(i int, entry Entry) {
	p.items[i].src.Recorder.Record(entry, func(r Recorded, err error) {
		p.events <- event{item: i, recorded: r, err: err}
	})
}

// recorded takes in what became of a result.
func (p *pool) recorded(e event) {
	it := p.items[e.item]
	switch e.recorded {
	case RecordWritten, RecordUnneeded:
		p.keep(it)
	case RecordStale:
		it.out.State, it.out.Stale = NotRun, true
		it.out.Reason = "its definition changed while the check ran; the result was discarded"
		it.out.Next = "gatesworn check " + it.out.Name
	case RecordAbandoned:
		it.out.State, it.out.Reason, it.out.Next = Abandoned, "given up while the check ran", ""
	default:
		err := e.err
		if err == nil {
			err = errors.New("the result was not written")
		}
		p.lose(e.item, err)
	}
	p.settle(e.item)
}

// settle marks a gate's state as final and announces what is next in ledger order.
func (p *pool) settle(i int) {
	p.settled[i] = true
	p.announce()
}

// abandonRest announces what an interrupted run never came to.
func (p *pool) abandonRest(ctx context.Context) {
	for i, it := range p.items {
		if !p.settled[i] {
			if ctx.Err() != nil {
				it.out.Reason = "interrupted before it ran"
			}
			p.settled[i] = true
		}
	}
	p.announce()
}

func (p *pool) announce() {
	for p.printed < len(p.items) && p.settled[p.printed] {
		if it := p.items[p.printed]; it.asked {
			p.watch.Result(it.out)
		}
		p.printed++
	}
}

// check runs one gate and compares its output with what it expects.
func (p *pool) check(ctx context.Context, it *item) *measurement {
	m := &measurement{began: p.job.Now()}
	if m.changed = unchanged(it.perm); m.changed != nil {
		return m
	}
	m.result = p.exec.Exec(ctx, Command{
		Shell: p.job.Shell, Script: it.gate.Check, Dir: it.ref.Dir,
		Env: p.job.Env(it.gate), Timeout: timeout(it.gate, p.job.Timeout),
	})
	if m.changed = unchanged(it.perm); m.changed != nil {
		return m
	}
	if m.result.End != Exited {
		return m
	}
	if m.output, m.fits = evidence.Canonical(m.result.Stdout, m.result.Stderr); !m.fits {
		return m
	}
	m.matched, m.result.Err = p.job.Engine.Match(it.gate.Expect, m.output)
	m.passed = m.matched && m.result.Err == nil && m.result.Code == 0
	return m
}

func unchanged(perm Permission) error {
	if perm.Unchanged == nil {
		return nil
	}
	return perm.Unchanged()
}

func timeout(g ledger.Gate, standard time.Duration) time.Duration {
	if g.Timeout > 0 {
		return time.Duration(g.Timeout) * time.Second
	}
	return standard
}

// conclude turns a measurement into the gate's state and its run.
func (p *pool) conclude(it *item, m *measurement) {
	r := m.result
	run := &Run{DurationMS: r.Duration.Milliseconds(), StartedMS: m.began.Sub(p.start).Milliseconds()}
	switch r.End {
	case Exited:
		code := r.Code
		run.Exit, run.Matched = &code, m.matched
		if m.fits {
			sum := sha256.Sum256([]byte(m.output))
			run.OutputSHA256, run.OutputBytes = hex.EncodeToString(sum[:]), len(m.output)
		}
	case Signaled:
		run.Signal = signalName(r.Signal)
	case TimedOut:
		run.TimedOut = true
	}
	it.out.Run = run
	switch {
	case r.End == Interrupted:
		it.out.State, it.out.Reason = NotRun, "interrupted"
	case m.passed:
		it.out.State, it.out.Reason, it.out.Next = Met, "", ""
	default:
		run.Tail = string(r.Tail)
		it.out.State = Failed
		it.out.Reason, it.out.Next = p.cause(it, m)
	}
}
