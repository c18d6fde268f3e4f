package expect

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"modernc.org/quickjs"
)

const (
	// memoryLimit bounds one machine, in bytes. A greedy loop over an output of
	// 1 MiB keeps tens of bytes for each character.
	memoryLimit = 64 << 20
	// readLimit bounds the engine time that one Engine spends on Validate. The
	// 80 000 patterns of an 8 MiB ledger take 0.2 s; 8 000 hostile ones
	// (\p{RGI_Emoji} again and again) would take a quarter of an hour.
	readLimit = 10 * time.Second
	// maxKnown bounds the remembered answers of Validate.
	maxKnown = 1 << 17
)

var (
	errClosed = errors.New("the pattern engine is closed")
	errBudget = errors.New("the patterns before this one took 10 s to read; nothing more is read")
)

// Engine validates and matches values. It starts nothing until a pattern needs
// it, then keeps up to GOMAXPROCS machines and runs as many matches at a time.
// It is safe for concurrent use. The zero Engine refuses every pattern.
type Engine struct {
	limit time.Duration // of one match: Limit, more in tests about anything else
	slots chan struct{} // one for each machine in use

	mu     sync.Mutex
	closed bool
	idle   []*machine
	known  map[string]error
	spent  time.Duration // by Validate, in the engine
}

// New returns an Engine. Its machines live outside Go's heap: Close it.
func New() *Engine { return newEngine(Limit) }

func newEngine(limit time.Duration) *Engine {
	return &Engine{
		limit: limit,
		slots: make(chan struct{}, runtime.GOMAXPROCS(0)),
		known: make(map[string]error),
	}
}

// Close releases the machines; one in use goes when its match ends. Patterns
// are refused from then on.
func (e *Engine) Close() {
	e.mu.Lock()
	idle := e.idle
	e.idle, e.closed = nil, true
	e.mu.Unlock()
	for _, m := range idle {
		m.close()
	}
}

// Validate is the package's Validate. It remembers its answers, and refuses
// patterns once those of one Engine took 10 s of reading.
func (e *Engine) Validate(value string) error {
	x := Parse(value)
	if !x.Pattern {
		return nil
	}
	if err := x.check(); err != nil {
		return err
	}
	if x.plain() {
		return nil
	}
	e.mu.Lock()
	err, ok := e.known[value]
	over := e.spent > readLimit
	e.mu.Unlock()
	switch {
	case ok:
		return err
	case over:
		return errBudget
	}
	_, took, err := e.run(x, nil)
	if errors.Is(err, ErrTimeout) {
		err = errors.New("the pattern takes longer than 250 ms to read")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.spent += took
	if len(e.known) < maxKnown && !errors.Is(err, errClosed) {
		e.known[value] = err
	}
	return err
}

// Match is the package's Match. At most GOMAXPROCS matches run at a time; time
// spent waiting for a turn does not count against Limit.
func (e *Engine) Match(value, output string) (bool, error) {
	x := Parse(value)
	if !x.Pattern {
		return x.Text != "" && strings.Contains(output, x.Text), nil
	}
	if err := x.check(); err != nil {
		return false, err
	}
	// The engine would see another string than the one that was digested.
	if !utf8.ValidString(output) {
		return false, errors.New("the output is not canonical: invalid UTF-8")
	}
	ok, _, err := e.run(x, &output)
	return ok, err
}

// run compiles x and, with an output, tests it. It returns the engine's time.
func (e *Engine) run(x Expectation, output *string) (bool, time.Duration, error) {
	if e.slots == nil {
		return false, 0, errClosed
	}
	e.slots <- struct{}{}
	defer func() { <-e.slots }()
	m, err := e.take()
	if err != nil {
		return false, 0, err
	}
	start := time.Now()
	ok, err := m.test(x, output)
	took := time.Since(start)
	var syntax *syntaxError
	e.put(m, err == nil || errors.As(err, &syntax))
	return ok, took, err
}

// take returns an idle machine or a new one.
func (e *Engine) take() (*machine, error) {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil, errClosed
	}
	if n := len(e.idle); n > 0 {
		m := e.idle[n-1]
		e.idle = e.idle[:n-1]
		e.mu.Unlock()
		return m, nil
	}
	e.mu.Unlock()
	return newMachine(e.limit)
}

// put keeps a machine for the next match, unless it was stopped in the middle
// of one.
func (e *Engine) put(m *machine, sound bool) {
	e.mu.Lock()
	keep := sound && !e.closed
	if keep {
		e.idle = append(e.idle, m)
	}
	e.mu.Unlock()
	if !keep {
		m.close()
	}
}

// program is all the script there is: no part of a ledger or an output is ever
// joined to it. A fresh RegExp has lastIndex 0.
const program = `(function (RegExp) {
	"use strict";
	return function (source, flags, output) {
		const pattern = new RegExp(source, flags);
		return output === null || pattern.test(output);
	};
})(RegExp)`

// machine is one JavaScript machine; one goroutine at a time uses it.
type machine struct {
	vm *quickjs.VM
	fn quickjs.Value // program's function
}

func newMachine(limit time.Duration) (m *machine, err error) {
	vm, err := quickjs.NewVM()
	if err != nil {
		return nil, fmt.Errorf("the pattern engine cannot start: %v", err)
	}
	vm.SetMemoryLimit(memoryLimit)
	fn, err := vm.EvalValue(program, quickjs.EvalGlobal)
	if err == nil {
		err = vm.SetEvalTimeout(limit)
	}
	if err != nil {
		_ = vm.Close()
		return nil, fmt.Errorf("the pattern engine cannot start: %v", err)
	}
	return &machine{vm: vm, fn: fn}, nil
}

func (m *machine) close() {
	m.fn.Free()
	_ = m.vm.Close() // it reports nothing that anybody could act on
}

// syntaxError is the engine's refusal of a pattern.
type syntaxError struct{ reason string }

func (e *syntaxError) Error() string { return "invalid regular expression: " + e.reason }

// test compiles x and, with an output, tests it. The limit starts in fn.Call,
// when the values are the engine's. An engine that panics gave no answer: it
// is translated C, and a fault in it must fail one gate, not the run.
func (m *machine) test(x Expectation, output *string) (ok bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			ok, err = false, fmt.Errorf("the pattern engine failed: %v", p)
		}
	}()
	args := []any{nil, nil, nil}
	for i, s := range []*string{&x.Text, &x.Flags, output} {
		if s == nil {
			continue
		}
		v, err := m.vm.NewString(*s)
		if err != nil {
			return false, fmt.Errorf("the pattern engine cannot hold the text: %v", err)
		}
		defer v.Free()
		args[i] = v
	}
	answer, err := m.fn.Call(quickjs.UndefinedValue, args...)
	if err != nil {
		return false, translate(err)
	}
	ok, isBool := answer.(bool)
	if !isBool {
		return false, fmt.Errorf("the pattern engine answered %v", answer)
	}
	return ok, nil
}

// translate turns the engine's errors into ours.
func translate(err error) error {
	var thrown *quickjs.Error
	if !errors.As(err, &thrown) {
		return fmt.Errorf("the pattern engine failed: %v", err)
	}
	switch {
	case thrown.Name == "SyntaxError":
		return &syntaxError{reason: thrown.Message}
	case thrown.Name == "InternalError" && thrown.Message == "interrupted":
		return ErrTimeout
	}
	return fmt.Errorf("the pattern engine failed: %s: %s", strings.ToLower(thrown.Name), thrown.Message)
}
