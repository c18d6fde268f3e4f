package approval_test

import (
	"strings"
	"testing"

	"github.com/gatesworn/gatesworn/approval"
)

func TestWeakening(t *testing.T) {
	t.Parallel()
	old := baseOracle()
	tests := []struct {
		name string
		edit func(*approval.Oracle)
		want string // joined by " / "
	}{
		{"nothing", func(*approval.Oracle) {}, ""},
		{"|| true", func(o *approval.Oracle) { o.Check = ptr("npm test || true") }, "`|| true`: this check can no longer fail"},
		{"|| :", func(o *approval.Oracle) { o.Check = ptr("(npm test||:)") }, "`||:`: this check can no longer fail"},
		{"|| exit 0", func(o *approval.Oracle) { o.Check = ptr("npm test || exit 0") }, "`|| exit 0`: this check can no longer fail"},
		{"|| echo", func(o *approval.Oracle) { o.Check = ptr("npm test || echo READY") }, "`|| echo`: a failure prints instead of failing"},
		{"; true", func(o *approval.Oracle) { o.Check = ptr("npm test; true") }, "`; true` at the end hides what came before"},
		{"; exit 0", func(o *approval.Oracle) { o.Check = ptr("npm test ; exit 0") }, "`; exit 0` at the end hides what came before"},
		{"; echo", func(o *approval.Oracle) { o.Check = ptr("npm test; echo READY") }, "`; echo READY`: the last command decides, and it always succeeds"},
		{"true", func(o *approval.Oracle) { o.Check = ptr("true") }, "`true` checks nothing"},
		{"set +e", func(o *approval.Oracle) { o.Check = ptr("set +e; npm test") }, "`set +e`: errors no longer stop the check"},
		{"background", func(o *approval.Oracle) { o.Check = ptr("npm test &") }, "`&` at the end: nobody waits for the result"},
		{"a test for truth", func(o *approval.Oracle) { o.Check = ptr("test true = \"$(x)\" && y") }, ""},
		{"EXPECT /^/", func(o *approval.Oracle) { o.Expect = ptr("/^/") }, "EXPECT /^/: every output matches"},
		{"EXPECT /.*/", func(o *approval.Oracle) { o.Expect = ptr("/.*/s") }, "EXPECT /.*/s: every output matches"},
		{"EXPECT //", func(o *approval.Oracle) { o.Expect = ptr("//") }, "EXPECT //: every output matches"},
		{"EXPECT /^a/", func(o *approval.Oracle) { o.Expect = ptr("/^a/") }, ""},
		{"INPUTS", func(o *approval.Oracle) { o.InputPatterns, o.Inputs = nil, nil }, "INPUTS no longer names scripts/*.sh"},
		{"NEEDS", func(o *approval.Oracle) { o.Needs = nil }, "NEEDS no longer names G2"},
		{"manual", func(o *approval.Oracle) { o.Check, o.Expect = nil, nil }, "CHECK is gone: nothing is measured any more, a tick is enough"},
	}
	for _, test := range tests {
		now := old
		test.edit(&now)
		if got := strings.Join(approval.Weakening(&old, now), " / "); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
		if got := approval.Weakening(&now, now); len(got) != 0 {
			t.Errorf("%s: the same is weaker: %v", test.name, got)
		}
	}
	fresh := old
	fresh.Check, fresh.Expect = ptr("make || true"), ptr("/^/")
	if got := approval.Weakening(nil, fresh); len(got) != 1 {
		t.Errorf("a new gate: %v", got)
	}
}

func TestSentence(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 100)
	tests := []struct {
		d    []approval.FieldChange
		want string
	}{
		{nil, "nothing differs from X"},
		{[]approval.FieldChange{{Field: "CWD", Old: "a", New: "b"}}, "CWD differs from X (was a, is b)"},
		{[]approval.FieldChange{{Field: "ENV", New: "b"}}, "ENV differs from X (is new: b)"},
		{[]approval.FieldChange{{Field: "ENV", Old: "b"}}, "ENV differs from X (was b, is gone)"},
		{[]approval.FieldChange{{Field: "a"}, {Field: "b"}, {Field: "c"}}, "a, b and c differ from X"},
		{[]approval.FieldChange{{Field: "a"}, {Field: "b"}, {Field: "c"}, {Field: "d"}, {Field: "e"}}, "a, b, c and 2 more differ from X"},
		{[]approval.FieldChange{{Field: "CHECK", Old: long, New: "x"}}, "CHECK differs from X (was " + strings.Repeat("é", 59) + "…, is x)"},
	}
	for _, test := range tests {
		if got := approval.Sentence(test.d, "X"); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

func TestReasonWords(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for r := approval.Undecided; r <= approval.EvidenceClaimed; r++ {
		if w := r.String(); w == "" || seen[w] {
			t.Errorf("reason %d: %q", r, w)
		}
		seen[r.String()] = true
		if r.Allows() != (r >= approval.ApprovedHere) {
			t.Errorf("%s allows: %v", r, r.Allows())
		}
	}
	if approval.Reason(99).String() != "undecided" || approval.Reason(99).Allows() {
		t.Error("an unknown reason")
	}
}
