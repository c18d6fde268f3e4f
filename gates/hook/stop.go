package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/gatesworn/gatesworn/gates/scope"
	"github.com/gatesworn/gatesworn/internal/escape"
	"github.com/gatesworn/gatesworn/internal/jsontext"
)

// Limits of one answer.
const (
	MaxBlocks = 6   // consecutive blocks without progress
	MaxReason = 300 // bytes of a reason or message

	maxInput  = 1 << 20         // bytes read from the agent
	inputWait = 2 * time.Second // for the agent to write them
	workWait  = 8 * time.Second // for all ledgers to be read; the hook's own limit is 20 s
	lockWait  = 2 * time.Second // for the state's lock
)

// Stop answers an agent that wants to stop.
type Stop struct {
	Dir      string           // absolute; where to look when the agent names no folder
	Scope    string           // --scope of the installed hook
	Env      string           // the value of UNLAZY_SCOPE
	StateDir string           // the user's private folder, for a lock; "" for none
	Now      func() time.Time // required

	// NeedsPerson reports that a runnable gate of a ledger, relative to the root it
	// was found at, waits for somebody's approval. Nil means that only manual gates
	// need a person.
	NeedsPerson func(root, ledger string, g ledger.Gate) bool
	// Policy gives the policy of the tree at root, nil for none. Standing ledgers
	// are measured, never ticked: only their errors count here.
	Policy func(root string) *scope.Policy
}

// Answer is what the hook prints. The zero value is silence: the agent may stop.
type Answer struct {
	Block   bool
	Reason  string // with Block: what the agent reads
	Message string // without: what its user reads
}

// JSON is the answer's line without line ending, nil for silence.
func (a Answer) JSON() []byte {
	var v any
	switch {
	case a.Block:
		v = struct {
			Decision string `json:"decision"`
			Reason   string `json:"reason"`
		}{"block", a.Reason}
	case a.Message != "":
		v = struct {
			Message string `json:"systemMessage"`
		}{a.Message}
	default:
		return nil
	}
	line, err := json.Marshal(v)
	if err != nil {
		return nil // strings always marshal
	}
	return line
}

func message(format string, args ...any) Answer {
	return Answer{Message: fit(fmt.Sprintf("gatesworn: "+format, args...))}
}

// fit makes text one visible line of at most MaxReason bytes.
func fit(text string) string { return escape.Cut(escape.Line(text), MaxReason) }

// event is what the agent says. Everything in it is optional.
type event struct{ dir, session string }

// Answer reads the hook's JSON and decides. It always returns: what cannot be
// read or takes too long lets the agent go.
func (s Stop) Answer(ctx context.Context, stdin io.Reader) Answer {
	e, ok := readEvent(ctx, stdin)
	if !ok {
		return Answer{}
	}
	ctx, cancel := context.WithTimeout(ctx, workWait)
	defer cancel()
	done := make(chan Answer, 1)
	go func() {
		defer func() {
			if recover() != nil { // status 2 of a crash would block the agent for ever
				done <- message("a fault of its own, please report it; not blocking")
			}
		}()
		done <- s.decide(ctx, e)
	}()
	select {
	case a := <-done:
		return a
	case <-ctx.Done():
		return message("the ledgers could not be read in time; not blocking")
	}
}

func readEvent(ctx context.Context, stdin io.Reader) (event, bool) {
	type input struct {
		data []byte
		err  error
	}
	got := make(chan input, 1)
	go func() {
		data, err := io.ReadAll(io.LimitReader(stdin, maxInput+1))
		got <- input{data, err}
	}()
	ctx, cancel := context.WithTimeout(ctx, inputWait)
	defer cancel()
	select {
	case in := <-got:
		if in.err != nil || len(in.data) > maxInput {
			return event{}, false
		}
		return parseEvent(in.data)
	case <-ctx.Done():
		return event{}, false
	}
}

func parseEvent(data []byte) (event, bool) {
	ms, err := jsontext.Object(data)
	if err != nil {
		return event{}, false
	}
	var e event
	other := ""
	for _, m := range ms {
		text, err := jsontext.String(m.Value)
		if err != nil {
			continue // of another kind: as if it were not there
		}
		switch m.Name {
		case "cwd":
			e.dir = text
		case "session_id":
			e.session = text
		case "sessionId":
			other = text
		}
	}
	if e.session == "" {
		e.session = other
	}
	if e.session == "" {
		e.session = "anonymous"
	}
	return e, true
}

func (s Stop) decide(ctx context.Context, e event) Answer {
	root, targets, err := s.find(e)
	w := work{}
	switch {
	case errors.As(err, new(*scope.IDError)):
		return message("the installed hook names an invalid scope; not blocking")
	case errors.As(err, new(*scope.AmbiguousError)):
		return message("%v; none is bound to this session, not blocking; next: gatesworn scope bind", err)
	case errors.As(err, new(*scope.UnknownError)):
		return message("%v; not blocking", err)
	case errors.Is(err, scope.ErrNone), err == nil:
		w = s.look(ctx, root, targets)
	default:
		w.items = []item{{name: "ledgers", trouble: err.Error()}}
	}
	if ctx.Err() != nil {
		return Answer{} // nobody listens any more, and nothing is to be recorded
	}
	st := state{root: root, scope: targets.Scope, session: e.session, lockDir: s.StateDir, now: s.Now}
	if len(w.items) == 0 {
		st.forget(ctx)
		if len(w.abandoned) == 0 {
			return Answer{}
		}
		return message("HANDOFF REQUIRED: %d abandoned: %s", len(w.abandoned), list(w.abandoned, 5))
	}
	blocks, err := st.count(ctx, w.progress())
	if err != nil {
		return message("could not record this block (%v); not blocking, to avoid a trap", err)
	}
	if blocks > MaxBlocks {
		return Answer{Message: w.released()}
	}
	return Answer{Block: true, Reason: w.reason(targets)}
}

// find looks for ledgers where the agent works, then in the folders above up to
// the top of its git work tree, then in the hook's own folder: an agent that
// stops in a subfolder is asked all the same.
func (s Stop) find(e event) (root string, t scope.Targets, err error) {
	var nothing error
	for _, dir := range s.roots(e.dir) {
		o := scope.Options{Scope: s.Scope, Env: s.Env, Session: e.session}
		if s.Policy != nil {
			o.Policy = s.Policy(dir)
		}
		t, err = scope.Discover(dir, o)
		switch {
		case errors.Is(err, scope.ErrNone) && t.Scope == "", errors.As(err, new(*scope.UnknownError)):
			if nothing == nil || !errors.Is(err, scope.ErrNone) {
				nothing = err
			}
		default:
			return dir, t, err
		}
	}
	if nothing == nil {
		nothing = scope.ErrNone
	}
	return s.Dir, scope.Targets{}, nothing
}

func (s Stop) roots(dir string) []string {
	var roots []string
	if filepath.IsAbs(dir) && !strings.ContainsRune(dir, 0) {
		roots = upToTop(filepath.Clean(dir))
	}
	if s.Dir != "" {
		roots = append(roots, upToTop(s.Dir)...)
	}
	return roots
}

// upToTop is dir and the folders above it up to the one that holds .git; only dir
// outside of git.
func upToTop(dir string) []string {
	all := []string{dir}
	for at := dir; ; {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return all
		} else if !errors.Is(err, fs.ErrNotExist) && at == dir {
			return all[:1]
		}
		up := filepath.Dir(at)
		if up == at || len(all) > 64 {
			return all[:1]
		}
		at = up
		all = append(all, at)
	}
}
