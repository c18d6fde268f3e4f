package allowlist

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/gatesworn/gatesworn/approval"
)

// files is a tree in memory.
type files struct {
	m     map[string]string
	reads *atomic.Int64
	noOID bool
	list  []approval.Entry
}

func newFiles() *files { return &files{m: map[string]string{}, reads: &atomic.Int64{}} }

func (f *files) Entries() []approval.Entry {
	if f.list != nil {
		return f.list
	}
	for p, text := range f.m {
		e := approval.Entry{Path: p, Mode: approval.ModeFile}
		if !f.noOID {
			sum := sha256.Sum256([]byte(text))
			e.OID = hex.EncodeToString(sum[:20])
		}
		f.list = append(f.list, e)
	}
	sort.Slice(f.list, func(i, j int) bool { return f.list[i].Path < f.list[j].Path })
	return f.list
}

func (f *files) Blob(e approval.Entry) ([]byte, error) {
	f.reads.Add(1)
	text, ok := f.m[e.Path]
	if !ok {
		return nil, errors.New("no such blob")
	}
	return []byte(text), nil
}

func (f *files) clone() *files {
	c := newFiles()
	for k, v := range f.m {
		c.m[k] = v
	}
	return c
}

const testProject = "7b1c9f0e4a5d4e6f"

func oracle(gate, check string) approval.Oracle {
	expect := "OK"
	return approval.Oracle{
		V: 1, Project: testProject, Ledger: "GATES.md", Gate: gate, Outcome: "it works: \"" + gate + "\"", Check: &check, Expect: &expect,
		CWD: ".", Needs: []string{}, InputPatterns: []string{}, Reads: []string{}, Writes: []string{}, Env: []string{},
	}
}

func approving(issued time.Time, oracles ...approval.Oracle) approval.Statement {
	return approval.Statement{Project: testProject, IssuedAt: issued, Approve: oracles}
}

func mustMarshal(t testing.TB, s approval.Statement) []byte {
	t.Helper()
	data, err := Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// add stores a statement with signatures and returns its path.
func (f *files) add(t testing.TB, s approval.Statement, by ...ssh.Signer) string {
	t.Helper()
	return f.addBytes(t, mustMarshal(t, s), s.IssuedAt, by...)
}

func (f *files) addBytes(t testing.TB, data []byte, issued time.Time, by ...ssh.Signer) string {
	t.Helper()
	path := StatementPath(issued, approval.Digest(data))
	f.m[path] = string(data)
	for _, k := range by {
		f.m[SignaturePath(path, k.PublicKey())] = string(sign(t, k, data))
	}
	return path
}

func mustOpen(t testing.TB, judged, trust *files, signers Signers) *List {
	t.Helper()
	o := Options{Judged: judged, Signers: signers, Now: testNow}
	if trust != nil {
		o.Trust = trust
	}
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func about(t testing.TB, l *List, gate string, digests ...string) []approval.Statement {
	t.Helper()
	out, err := l.About("GATES.md", gate, digests...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestListBasics(t *testing.T) {
	t.Parallel()
	ed, ec := sharedSigner(t, "ed25519"), sharedSigner(t, "ecdsa256")
	signers := mustSigners(t, line("alice", "", ed.PublicKey())+line("bob", "", ec.PublicKey()))
	f := newFiles()
	o := oracle("G1", "make test")
	path := f.add(t, approving(testNow, o), ed, ec)
	f.m[".gatesworn/approvals/README"] = "x"
	f.m[path+".12345678.sig.bak"] = "x"
	f.m[".gatesworn/approvals/2026-01-01-aaaaaaaaaaaa.approval.12345678.sig"] = "no statement"
	f.m[".gatesworn/approvals/in/a.approval"] = "too deep"
	f.m["GATES.md"] = "x"
	for _, noOID := range []bool{false, true} {
		f.noOID, f.list = noOID, nil
		l := mustOpen(t, f, f, signers)
		got := about(t, l, "G1", o.Digest())
		if len(got) != 1 || got[0].Path != path || got[0].ID != approval.Digest([]byte(f.m[path])) || !got[0].Trusted || got[0].Fault != "" {
			t.Fatalf("%+v", got)
		}
		var who []string
		for _, s := range got[0].Signatures {
			who = append(who, s.Principal+s.Fault)
		}
		slices.Sort(who)
		if !slices.Equal(who, []string{"alice", "bob"}) {
			t.Error(who)
		}
		if len(l.Stray()) != 4 {
			t.Error(l.Stray())
		}
		if got := about(t, l, "G2", oracle("G2", "x").Digest()); len(got) != 0 {
			t.Errorf("%+v", got)
		}
		if all, err := l.All(); err != nil || len(all) != 1 {
			t.Error(all, err)
		}
	}
}

// A file's name says nothing about who signed, and one person's two keys are one person.
func TestNamesMeanNothing(t *testing.T) {
	t.Parallel()
	ed, ec, stranger := sharedSigner(t, "ed25519"), sharedSigner(t, "ecdsa256"), newSigner(t, "ed25519")
	signers := mustSigners(t, line("alice", "", ed.PublicKey())+line("alice", "", ec.PublicKey()))
	f := newFiles()
	data := mustMarshal(t, approving(testNow, oracle("G1", "x")))
	path := f.addBytes(t, data, testNow, ed, ec)
	f.m[path+".00000000.sig"] = string(sign(t, stranger, data))
	f.m[SignaturePath(path, stranger.PublicKey())] = string(sign(t, ed, data)) // named after another key
	got := about(t, mustOpen(t, f, nil, signers), "G1", oracle("G1", "x").Digest())
	if len(got) != 1 {
		t.Fatal(got)
	}
	principals := map[string]bool{}
	faults := 0
	for _, s := range got[0].Signatures {
		if s.Fault != "" {
			faults++
			if !strings.Contains(s.Fault, ssh.FingerprintSHA256(stranger.PublicKey())) {
				t.Error(s.Fault)
			}
			continue
		}
		principals[s.Principal] = true
	}
	if len(principals) != 1 || faults != 1 {
		t.Errorf("%+v", got[0].Signatures)
	}
}

func TestTrustOnlyStatementsOnlyReplace(t *testing.T) {
	t.Parallel()
	ed := sharedSigner(t, "ed25519")
	signers := mustSigners(t, line("alice", "", ed.PublicKey()))
	judged, old, now := newFiles(), oracle("G1", "old"), oracle("G1", "new")
	judged.add(t, approving(testNow.Add(-2*time.Hour), old), ed)
	trust := judged.clone()
	s := approving(testNow.Add(-time.Hour), now)
	s.Replaces = []string{old.Digest(), now.Digest()}
	slices.Sort(s.Replaces)
	trust.add(t, s, ed)
	l := mustOpen(t, judged, trust, signers)
	for _, o := range []approval.Oracle{old, now} {
		for _, got := range about(t, l, "G1", o.Digest()) {
			if len(got.Replaces) > 0 && (!slices.Equal(got.Replaces, []string{old.Digest()}) || len(got.Approve) != 0 || !got.Trusted) {
				t.Errorf("%+v", got)
			}
		}
	}
	d := approval.Decide(request(l, t, old))
	if d.Allowed || d.Reason != approval.Replaced {
		t.Errorf("%+v", d)
	}
	if d := approval.Decide(request(l, t, now)); d.Allowed {
		t.Errorf("approved by a statement that the judged commit lacks: %+v", d)
	}
	// A judged commit that drops the signature of the newer statement does not revive the older.
	judged2 := trust.clone()
	for p := range judged2.m {
		if strings.HasPrefix(p, StatementPath(s.IssuedAt, approval.Digest(mustMarshal(t, s)))+".") {
			delete(judged2.m, p)
		}
	}
	if d := approval.Decide(request(mustOpen(t, judged2, trust, signers), t, old)); d.Allowed || d.Reason != approval.Replaced {
		t.Errorf("%+v", d)
	}
}

func request(l *List, t testing.TB, o approval.Oracle) approval.Request {
	t.Helper()
	return approval.Request{
		Mode: approval.ModeAllowlist, Now: testNow, Oracle: o, Statements: about(t, l, o.Gate, o.Digest()),
		Root: approval.TrustRoot{
			Ref: "main", State: approval.RootValid, Principals: l.opts.Signers.Principals(),
			Policy: approval.Policy{
				Version: 1, Project: testProject, Threshold: 1, Inputs: approval.InputsOptional, Keys: approval.KeysAny,
				Manual: approval.ManualSigned, Removal: approval.RemovalDeny,
			},
		},
	}
}

// Ten thousand old approvals of the same gates: only what names the oracle that is
// asked for is verified, and a statement is read once for the index.
func TestOldApprovalsAreNotVerified(t *testing.T) {
	t.Parallel()
	ed := sharedSigner(t, "ed25519")
	signers := mustSigners(t, line("alice", "", ed.PublicKey()))
	f := newFiles()
	const n = 300
	for i := range n {
		f.add(t, approving(testNow.Add(-time.Duration(i+2)*time.Hour), oracle("G1", fmt.Sprint("old ", i))), ed)
	}
	f.add(t, approving(testNow, oracle("G1", "now")), ed)
	l := mustOpen(t, f, nil, signers)
	if f.reads.Load() != 0 {
		t.Error("Open read files")
	}
	if got := about(t, l, "G1", oracle("G1", "now").Digest()); len(got) != 1 {
		t.Error(len(got))
	}
	if reads := f.reads.Load(); reads != n+1+2 {
		t.Errorf("%d reads: one a statement, then one statement and its signature", reads)
	}
	// A version that nobody signed: the newest others explain.
	got := about(t, l, "G1", oracle("G1", "tampered").Digest())
	if len(got) != shownOthers || !slices.ContainsFunc(got, func(s approval.Statement) bool { return s.IssuedAt.Equal(testNow) }) {
		t.Error(len(got))
	}
	if got := about(t, l, "G1"); len(got) != n+1 {
		t.Error(len(got))
	}
	older, err := l.Older("GATES.md", "G1", oracle("G1", "now").Digest())
	if err != nil || len(older) != n || !slices.IsSorted(older) {
		t.Error(len(older), err)
	}
}

func TestOlder(t *testing.T) {
	t.Parallel()
	ed, stranger := sharedSigner(t, "ed25519"), newSigner(t, "ed25519")
	f := newFiles()
	a, b, c, d, e := oracle("G1", "a"), oracle("G1", "b"), oracle("G1", "c"), oracle("G1", "d"), oracle("G1", "e")
	at := func(h int) time.Time { return testNow.Add(time.Duration(h-100) * time.Hour) }
	f.add(t, approving(at(1), a), ed)
	s := approving(at(2), b)
	s.Replaces = []string{a.Digest()}
	f.add(t, s, ed)
	s = approving(at(3), c)
	s.ExpiresAt = at(4)
	f.add(t, s, ed)
	f.add(t, approving(at(5), d), stranger)
	f.add(t, approving(at(6), oracle("G2", "x")), ed)
	l := mustOpen(t, f, nil, mustSigners(t, line("alice", "", ed.PublicKey())))
	got, err := l.Older("GATES.md", "G1", e.Digest())
	if err != nil || !slices.Equal(got, []string{b.Digest()}) {
		t.Errorf("%v %v; a is replaced, c expired, d unsigned", got, err)
	}
	if got, err := l.Older("GATES.md", "G1", b.Digest()); err != nil || len(got) != 0 {
		t.Error(got, err)
	}
}

func TestMalformedIsNamed(t *testing.T) {
	t.Parallel()
	ed := sharedSigner(t, "ed25519")
	signers := mustSigners(t, line("alice", "", ed.PublicKey()))
	o := oracle("G1", "x")
	good := string(mustMarshal(t, approving(testNow, o)))
	for name, bad := range map[string]string{
		"one blank more":     strings.Replace(good, "\"v\": 1", "\"v\":  1", 1),
		"minified":           strings.Join(strings.Fields(good), ""),
		"key in other case":  strings.Replace(good, "\"note\"", "\"Note\"", 1),
		"key repeated":       strings.Replace(good, "  \"note\": \"\"", "  \"note\": \"\",\n  \"note\": \"\"", 1),
		"no final newline":   strings.TrimSuffix(good, "\n"),
		"two final newlines": good + "\n",
		"CRLF":               strings.ReplaceAll(good, "\n", "\r\n"),
		"other escapes":      strings.Replace(good, "GATES.md", "\\u0047ATES.md", 1),
	} {
		if bad == good {
			t.Fatal(name)
		}
		f := newFiles()
		f.addBytes(t, []byte(bad), testNow, ed)
		l := mustOpen(t, f, nil, signers)
		got := about(t, l, "G1", o.Digest())
		if len(got) > 0 && (got[0].Fault == "" || len(got[0].Approve) > 0) {
			t.Errorf("%s: %+v", name, got)
		}
		d := approval.Decide(request(l, t, o))
		if d.Allowed || d.Reason != approval.Malformed && name != "other escapes" && name != "CRLF" {
			t.Errorf("%s: %v %s", name, d.Reason, d.Text)
		}
		if all, err := l.All(); err != nil || len(all) != 1 || all[0].Fault == "" {
			t.Errorf("%s: %+v %v", name, all, err)
		}
	}
	f := newFiles()
	f.addBytes(t, []byte(strings.Repeat("x", MaxStatement+1)), testNow, ed)
	if d := approval.Decide(request(mustOpen(t, f, nil, signers), t, o)); d.Allowed || d.Reason != approval.Malformed {
		t.Errorf("huge: %+v", d)
	}
	path := f.addBytes(t, []byte(good), testNow, ed)
	for i := range MaxSignatures {
		f.m[fmt.Sprintf("%s.%08x.sig", path, i)] = "x"
	}
	if d := approval.Decide(request(mustOpen(t, f, nil, signers), t, o)); d.Allowed {
		t.Errorf("too many signatures: %+v", d)
	}
}

func TestUnreadableIsAnError(t *testing.T) {
	t.Parallel()
	f := newFiles()
	f.add(t, approving(testNow, oracle("G1", "x")))
	f.Entries()
	f.m = map[string]string{}
	l := mustOpen(t, f, nil, Signers{})
	if _, err := l.About("GATES.md", "G1"); err == nil {
		t.Error("a statement that cannot be read is not 'no statement'")
	}
	if _, err := l.All(); err == nil {
		t.Error()
	}
	f.noOID, f.list = true, nil
	f.m["x"] = ""
}

func TestRoots(t *testing.T) {
	t.Parallel()
	ed := sharedSigner(t, "ed25519")
	f := newFiles()
	f.add(t, approval.Statement{Project: testProject, IssuedAt: testNow, Root: map[string]string{
		".gatesworn/policy.yml": strings.Repeat("a", 64), ".gatesworn/allowed_signers": approval.RootAbsent,
	}}, ed)
	f.add(t, approving(testNow, oracle("G1", "\n  \"root\": {")), ed)
	got, err := mustOpen(t, f, nil, mustSigners(t, line("alice", "", ed.PublicKey()))).Roots()
	if err != nil || len(got) != 1 || len(got[0].Root) != 2 || got[0].Signatures[0].Principal != "alice" {
		t.Error(got, err)
	}
}
