package runner

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/gatesworn/gatesworn/gates"
)

// The protocol between the checker and a slot helper: a frame is four bytes of
// length (big endian, of what follows), one byte of kind and the body. Strings
// and numbers in a body are length-prefixed varints. JSON that repeats the
// environment costs 1.4 times as much per check.
const (
	frameSetup  = 'S' // to the helper, first: how to work
	frameEnv    = 'E' // to the helper: an environment and the number it is known by
	frameRun    = 'R' // to the helper: one check
	frameCancel = 'C' // to the helper: stop the check with this number
	frameDone   = 'D' // from the helper: how the check ended
	frameFail   = 'F' // from the helper: it cannot work, and why
)

const (
	protocol  = 1
	headerLen = 5
	maxFrame  = 32 << 20 // a script is at most a ledger's 8 MiB, a result 1 MiB and the tail
	maxEnvs   = 8        // environments a helper remembers
)

var errFrame = errors.New("malformed frame")

// begin starts a frame in buf; finish fills in its length.
func begin(buf []byte, kind byte) []byte { return append(buf, 0, 0, 0, 0, kind) }

func finish(buf []byte, start int) []byte {
	binary.BigEndian.PutUint32(buf[start:], uint32(len(buf)-start-4))
	return buf
}

func putString(buf []byte, s string) []byte {
	return append(binary.AppendUvarint(buf, uint64(len(s))), s...)
}

func putBytes(buf, p []byte) []byte {
	return append(binary.AppendUvarint(buf, uint64(len(p))), p...)
}

// readFrame reads one frame, reusing buf for its body.
func readFrame(r io.Reader, buf []byte) (kind byte, body []byte, err error) {
	var head [headerLen]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n == 0 || n > maxFrame {
		return 0, nil, errFrame
	}
	n--
	if uint32(cap(buf)) < n {
		buf = make([]byte, n)
	}
	body = buf[:n]
	if _, err := io.ReadFull(r, body); err != nil {
		return 0, nil, fmt.Errorf("%w: %v", errFrame, err)
	}
	return head[4], body, nil
}

// body reads the fields of a frame; the first thing wrong sticks.
type body struct {
	rest []byte
	bad  bool
}

func (b *body) number() uint64 {
	v, n := binary.Uvarint(b.rest)
	if n <= 0 {
		b.bad, b.rest = true, nil
		return 0
	}
	b.rest = b.rest[n:]
	return v
}

func (b *body) bytes() []byte {
	n := b.number()
	if n > uint64(len(b.rest)) {
		b.bad, b.rest = true, nil
		return nil
	}
	p := b.rest[:n:n]
	b.rest = b.rest[n:]
	return p
}

func (b *body) string() string { return string(b.bytes()) }

// end reports an error unless every field was there and nothing is left.
func (b *body) end() error {
	if b.bad || len(b.rest) != 0 {
		return errFrame
	}
	return nil
}

// setup is the first frame a helper gets.
type setup struct {
	grace, limit time.Duration // from TERM to KILL; from KILL to giving up
	user         *User
	sweep        bool // no slot: kill everything of this user, then end
}

func (s setup) append(buf []byte) []byte {
	start := len(buf)
	buf = begin(buf, frameSetup)
	for _, v := range []uint64{protocol, uint64(s.grace), uint64(s.limit), flag(s.sweep), flag(s.user != nil)} {
		buf = binary.AppendUvarint(buf, v)
	}
	if s.user != nil {
		buf = binary.AppendUvarint(buf, uint64(s.user.UID))
		buf = binary.AppendUvarint(buf, uint64(s.user.GID))
	}
	return finish(buf, start)
}

func parseSetup(p []byte) (setup, error) {
	b := body{rest: p}
	if v := b.number(); v != protocol {
		return setup{}, fmt.Errorf("slot protocol %d, want %d", v, protocol)
	}
	s := setup{grace: time.Duration(b.number()), limit: time.Duration(b.number()), sweep: b.number() == 1}
	if b.number() == 1 {
		s.user = &User{UID: uint32(b.number()), GID: uint32(b.number())}
	}
	return s, b.end()
}

func flag(v bool) uint64 {
	if v {
		return 1
	}
	return 0
}

func appendEnv(buf []byte, id int, env []string) []byte {
	start := len(buf)
	buf = binary.AppendUvarint(begin(buf, frameEnv), uint64(id))
	buf = binary.AppendUvarint(buf, uint64(len(env)))
	for _, v := range env {
		buf = putString(buf, v)
	}
	return finish(buf, start)
}

func parseEnv(p []byte) (id int, env []string, err error) {
	b := body{rest: p}
	n := b.number()
	count := b.number()
	if n >= maxEnvs || count > uint64(len(b.rest)) {
		return 0, nil, errFrame
	}
	env = make([]string, count)
	for i := range env {
		env[i] = b.string()
	}
	return int(n), env, b.end()
}

// order is one check on its way to a helper.
type order struct {
	seq     uint64
	env     int
	timeout time.Duration
	shell   string
	dir     string
	script  string
}

func (o order) append(buf []byte) []byte {
	start := len(buf)
	buf = begin(buf, frameRun)
	for _, v := range []uint64{o.seq, uint64(o.env), uint64(o.timeout)} {
		buf = binary.AppendUvarint(buf, v)
	}
	for _, s := range []string{o.shell, o.dir, o.script} {
		buf = putString(buf, s)
	}
	return finish(buf, start)
}

func parseOrder(p []byte) (order, error) {
	b := body{rest: p}
	o := order{seq: b.number()}
	env := b.number()
	o.timeout = time.Duration(b.number())
	o.shell, o.dir, o.script = b.string(), b.string(), b.string()
	if env >= maxEnvs {
		return order{}, errFrame
	}
	o.env = int(env)
	return o, b.end()
}

func appendCancel(buf []byte, seq uint64) []byte {
	start := len(buf)
	return finish(binary.AppendUvarint(begin(buf, frameCancel), seq), start)
}

// cause says why a check has no result; the zero value is that it has one.
type cause int

const (
	causeNone cause = iota
	causeShell
	causeDir
	causeSurvived
)

// outcome is how a check ended, as its helper tells it.
type outcome struct {
	end      gates.End
	code     int
	signal   int
	cause    cause
	errno    syscall.Errno
	duration time.Duration
}

func (o outcome) append(buf []byte, seq uint64, c *capture) []byte {
	start := len(buf)
	buf = binary.AppendUvarint(begin(buf, frameDone), seq)
	for _, v := range []uint64{uint64(o.end), uint64(o.code), uint64(o.signal), uint64(o.cause), uint64(o.errno), uint64(o.duration)} {
		buf = binary.AppendUvarint(buf, v)
	}
	buf = putBytes(buf, c.streams[stdout])
	buf = putBytes(buf, c.streams[stderr])
	buf = binary.AppendUvarint(buf, uint64(c.tailLen()))
	return finish(c.tail(buf), start)
}

// parseOutcome returns the result; its byte slices lie in p.
func parseOutcome(p []byte) (seq uint64, o outcome, r gates.Result, err error) {
	b := body{rest: p}
	seq = b.number()
	o = outcome{
		end: gates.End(b.number()), code: int(b.number()), signal: int(b.number()),
		cause: cause(b.number()), errno: syscall.Errno(b.number()), duration: time.Duration(b.number()),
	}
	r = gates.Result{
		End: o.end, Code: o.code, Signal: o.signal, Duration: o.duration,
		Stdout: b.bytes(), Stderr: b.bytes(), Tail: b.bytes(),
	}
	if o.end < gates.NotStarted || o.end > gates.Interrupted {
		return 0, outcome{}, gates.Result{}, errFrame
	}
	return seq, o, r, b.end()
}
