package runner

import (
	"bytes"
	"encoding/binary"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gatesworn/gatesworn/gates"
)

func TestFramesRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := setup{
			grace: time.Duration(rapid.Int64Min(0).Draw(t, "grace")),
			limit: time.Duration(rapid.Int64Min(0).Draw(t, "limit")),
			sweep: rapid.Bool().Draw(t, "sweep"),
		}
		if rapid.Bool().Draw(t, "user") {
			s.user = &User{rapid.Uint32().Draw(t, "uid"), rapid.Uint32().Draw(t, "gid")}
		}
		o := order{
			seq: rapid.Uint64().Draw(t, "seq"), env: rapid.IntRange(0, maxEnvs-1).Draw(t, "env"),
			timeout: time.Duration(rapid.Int64Min(0).Draw(t, "timeout")),
			shell:   rapid.String().Draw(t, "shell"), dir: rapid.String().Draw(t, "dir"), script: rapid.String().Draw(t, "script"),
		}
		env := rapid.SliceOf(rapid.String()).Draw(t, "vars")
		var c capture
		c.add(stdout, rapid.SliceOf(rapid.Byte()).Draw(t, "stdout"))
		c.add(stderr, rapid.SliceOf(rapid.Byte()).Draw(t, "stderr"))
		out := outcome{
			end: gates.End(rapid.IntRange(0, 5).Draw(t, "end")), code: rapid.IntRange(0, 255).Draw(t, "code"),
			signal: rapid.IntRange(0, 64).Draw(t, "signal"), cause: cause(rapid.IntRange(0, 3).Draw(t, "cause")),
			errno: syscall.Errno(rapid.IntRange(0, 200).Draw(t, "errno")), duration: time.Duration(rapid.Int64Min(0).Draw(t, "duration")),
		}
		buf := s.append(nil)
		buf = appendEnv(buf, o.env, env)
		buf = o.append(buf)
		buf = appendCancel(buf, o.seq)
		buf = out.append(buf, o.seq, &c)

		r := bytes.NewReader(buf)
		s2, err1 := parseSetup(next(t, r, frameSetup))
		id, env2, err2 := parseEnv(next(t, r, frameEnv))
		o2, err3 := parseOrder(next(t, r, frameRun))
		b := body{rest: next(t, r, frameCancel)}
		seq3, err4 := b.number(), b.end()
		seq, out2, res, err5 := parseOutcome(next(t, r, frameDone))
		for _, err := range []error{err1, err2, err3, err4, err5} {
			if err != nil {
				t.Fatal(err)
			}
		}
		exported := cmp.AllowUnexported(setup{}, order{}, outcome{})
		diff := cmp.Diff(s, s2, exported) + cmp.Diff(o, o2, exported) + cmp.Diff(out, out2, exported) +
			cmp.Diff(append([]string{}, env...), append([]string{}, env2...))
		if diff != "" || id != o.env || seq != o.seq || seq3 != o.seq {
			t.Fatal(diff)
		}
		if !bytes.Equal(res.Stdout, c.streams[stdout]) || !bytes.Equal(res.Stderr, c.streams[stderr]) || !bytes.Equal(res.Tail, c.tail(nil)) {
			t.Fatal("output differs")
		}
	})
}

func next(t *rapid.T, r *bytes.Reader, want byte) []byte {
	kind, p, err := readFrame(r, nil)
	if err != nil || kind != want {
		t.Fatalf("frame %q, want %q: %v", kind, want, err)
	}
	return p
}

func TestReadFrameRefuses(t *testing.T) {
	t.Parallel()
	for name, p := range map[string][]byte{
		"nothing":       {},
		"short head":    {0, 0, 0},
		"length zero":   {0, 0, 0, 0, 'R'},
		"too long":      binary.BigEndian.AppendUint32(nil, maxFrame+1),
		"short body":    {0, 0, 0, 5, 'R', 1},
		"all bits long": {255, 255, 255, 255, 'R', 1},
	} {
		if _, _, err := readFrame(bytes.NewReader(append(p, make([]byte, 0)...)), nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// No body makes a parser panic or keep more than it was given.
func FuzzFrames(f *testing.F) {
	var c capture
	c.add(stdout, []byte("out"))
	for _, p := range [][]byte{
		setup{grace: 1, user: &User{1, 2}}.append(nil),
		appendEnv(nil, 1, []string{"A=1", "B"}),
		order{seq: 1, shell: "/bin/sh"}.append(nil),
		outcome{end: gates.Exited}.append(nil, 3, &c),
		{0, 0, 0, 2, 'E', 0xff},
	} {
		f.Add(p[headerLen:])
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		if s, err := parseSetup(p); err == nil && s.append(nil) == nil {
			t.Error("empty setup")
		}
		if id, env, err := parseEnv(p); err == nil && (id >= maxEnvs || len(env) > len(p)) {
			t.Errorf("id %d, %d variables of %d bytes", id, len(env), len(p))
		}
		if o, err := parseOrder(p); err == nil && len(o.shell)+len(o.dir)+len(o.script) > len(p) {
			t.Error("longer than the body")
		}
		if _, o, r, err := parseOutcome(p); err == nil && (o.end < 0 || o.end > gates.Interrupted || len(r.Stdout)+len(r.Stderr)+len(r.Tail) > len(p)) {
			t.Errorf("%+v", o)
		}
	})
}
