package approval_test

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatesworn/gatesworn/approval"
)

// formats is a hand-written double: one word a line, "bad" is malformed.
type formats struct{}

func words(path string, data []byte) ([]string, error) {
	var all []string
	for i, l := range strings.Split(string(data), "\n") {
		if l == "bad" {
			return nil, fmt.Errorf("%s:%d: malformed", path, i+1)
		}
		if l != "" {
			all = append(all, l)
		}
	}
	sort.Strings(all)
	return all, nil
}

func (formats) Signers(path string, data []byte) ([]string, error) { return words(path, data) }
func (formats) Revoked(path string, data []byte) ([]string, error) { return words(path, data) }

const policyText = "version: 1\nproject: 7b1c9f0e4a5d4e6f\nrepository: o/r\nledgers: [GATES.md, \"gates/*.md\"]\n"

func rootTree() tree {
	return tree{
		"GATES.md":                               "- [ ] G1: one\n  CHECK: make\n  EXPECT: ok\n",
		".gatesworn/policy.yml":                  policyText,
		".gatesworn/allowed_signers":             "alice@example.org\nbob@example.org\n",
		".gatesworn/revoked":                     "sha256:aa\nsha256:bb\n",
		".gatesworn/approvals/1.approval":        "one",
		".gatesworn/approvals/1.approval.ab.sig": "sig",
	}
}

func TestReadTrustRoot(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		changes tree
		state   approval.RootState
		err     string
	}{
		{"valid", nil, approval.RootValid, ""},
		{"no revoked", tree{".gatesworn/revoked": "-"}, approval.RootValid, ""},
		{"nothing", tree{".gatesworn/policy.yml": "-", ".gatesworn/allowed_signers": "-", ".gatesworn/revoked": "-", ".gatesworn/approvals/1.approval": "-", ".gatesworn/approvals/1.approval.ab.sig": "-"}, approval.RootMissing, ""},
		{"no policy", tree{".gatesworn/policy.yml": "-"}, approval.RootMissing, ""},
		{"no signers file", tree{".gatesworn/allowed_signers": "-"}, approval.RootMissing, ""},
		{"empty signers", tree{".gatesworn/allowed_signers": ""}, approval.RootMissing, ""},
		{"malformed policy", tree{".gatesworn/policy.yml": policyText + "x: 1\n"}, approval.RootBroken, ".gatesworn/policy.yml:5:1: unknown key"},
		{"empty policy", tree{".gatesworn/policy.yml": ""}, approval.RootBroken, "is empty"},
		{"malformed signers", tree{".gatesworn/allowed_signers": "bad"}, approval.RootBroken, ".gatesworn/allowed_signers:1: malformed"},
		{"malformed revoked", tree{".gatesworn/revoked": "sha256:aa\nbad"}, approval.RootBroken, ".gatesworn/revoked:2: malformed"},
		{"policy is a link", tree{".gatesworn/policy.yml": "120000|x"}, approval.RootBroken, "not a symbolic link"},
		{"policy is executable", tree{".gatesworn/policy.yml": "100755|" + policyText}, approval.RootBroken, "not an executable"},
		{"policy is a submodule", tree{".gatesworn/policy.yml": "160000|x"}, approval.RootBroken, "not a submodule"},
		{"policy is a folder", tree{".gatesworn/policy.yml": "-", ".gatesworn/policy.yml/x": "x"}, approval.RootBroken, "not a folder"},
		{"an approval is a link", tree{".gatesworn/approvals/1.approval": "120000|x"}, approval.RootBroken, "1.approval must be a regular file"},
		{"approvals is a submodule", tree{".gatesworn/approvals/1.approval": "-", ".gatesworn/approvals/1.approval.ab.sig": "-", ".gatesworn/approvals": "160000|x"}, approval.RootBroken, "submodule"},
		{"unreadable", tree{".gatesworn/policy.yml": "ERROR"}, approval.RootBroken, "object is damaged"},
		{"too large", tree{".gatesworn/revoked": strings.Repeat("#", approval.MaxRootFile+1)}, approval.RootBroken, "over"},
	}
	for _, test := range tests {
		r := approval.ReadTrustRoot("main", "c0ffee", rootTree().with(test.changes), formats{})
		if r.State != test.state || (r.Err != nil) != (test.err != "") || r.Err != nil && !strings.Contains(r.Err.Error(), test.err) {
			t.Errorf("%s: state %d, error %v", test.name, r.State, r.Err)
		}
		if r.Ref != "main" || r.Commit != "c0ffee" {
			t.Errorf("%s: ref %q commit %q", test.name, r.Ref, r.Commit)
		}
		if r.State == approval.RootBroken && (r.Policy.Valid() || r.Principals != nil || r.PolicySHA256 != "") {
			t.Errorf("%s: a broken root holds values", test.name)
		}
	}
	whole := approval.ReadTrustRoot("main", "c", tree{".gatesworn": "120000|elsewhere"}, formats{})
	if whole.State != approval.RootBroken {
		t.Error("a root that is a link was read")
	}
	r := approval.ReadTrustRoot("main", "c", rootTree(), formats{})
	if diff := cmp.Diff([]string{"alice@example.org", "bob@example.org"}, r.Principals); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"sha256:aa", "sha256:bb"}, r.Revoked); diff != "" {
		t.Error(diff)
	}
	if "sha256:"+r.PolicySHA256 != approval.Digest([]byte(policyText)) || r.SignersSHA256 == "" || r.RevokedSHA256 == "" {
		t.Error("digests", r)
	}
}

func TestCompareRoots(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		changes tree
		want    string // "verb path" joined by blanks, or error:
	}{
		{"the same", nil, ""},
		{"files elsewhere", tree{"x": "y", "GATES.md": "z"}, ""},
		{"an approval more", tree{".gatesworn/approvals/2.approval": "two", ".gatesworn/approvals/2.approval.ab.sig": "s"}, ""},
		{"a signature more", tree{".gatesworn/approvals/1.approval.cd.sig": "s"}, ""},
		{"a revocation more", tree{".gatesworn/revoked": "sha256:aa\nsha256:bb\nsha256:cc\n"}, ""},
		{"revocations reordered", tree{".gatesworn/revoked": "sha256:bb\nsha256:aa\n"}, ""},
		{"attributes", tree{".gatesworn/.gitattributes": "x"}, ""},
		{"policy edited", tree{".gatesworn/policy.yml": policyText + "\n"}, "edits .gatesworn/policy.yml"},
		{"policy deleted", tree{".gatesworn/policy.yml": "-"}, "deletes .gatesworn/policy.yml"},
		{"signers edited", tree{".gatesworn/allowed_signers": "mallory\n"}, "edits .gatesworn/allowed_signers"},
		{"a revocation less", tree{".gatesworn/revoked": "sha256:bb\n"}, "edits .gatesworn/revoked"},
		{"revoked deleted", tree{".gatesworn/revoked": "-"}, "deletes .gatesworn/revoked"},
		{"an approval edited", tree{".gatesworn/approvals/1.approval": "one "}, "edits .gatesworn/approvals/1.approval"},
		{"an approval deleted", tree{".gatesworn/approvals/1.approval": "-"}, "deletes .gatesworn/approvals/1.approval"},
		{"an approval renamed", tree{".gatesworn/approvals/1.approval": "-", ".gatesworn/approvals/x.approval": "one"}, "deletes .gatesworn/approvals/1.approval"},
		{"a signature deleted", tree{".gatesworn/approvals/1.approval.ab.sig": "-"}, "deletes .gatesworn/approvals/1.approval.ab.sig"},
		{"two at once", tree{".gatesworn/policy.yml": "x", ".gatesworn/allowed_signers": "x"}, "edits .gatesworn/allowed_signers edits .gatesworn/policy.yml"},
		{"a link", tree{".gatesworn/approvals/x": "120000|y"}, "error: symbolic link"},
		{"a submodule", tree{".gatesworn/x": "160000|y"}, "error: submodule"},
		{"malformed revoked", tree{".gatesworn/revoked": "bad"}, "error: malformed"},
		{"damaged", tree{".gatesworn/policy.yml": "ERROR"}, "error: damaged"},
	}
	for _, test := range tests {
		c, err := approval.CompareRoots(rootTree(), rootTree().with(test.changes), formats{})
		if want, bad := strings.CutPrefix(test.want, "error: "); bad {
			if err == nil || !strings.Contains(err.Error(), want) || !c.Changed() {
				t.Errorf("%s: %+v, %v", test.name, c, err)
			}
			continue
		}
		var got []string
		for _, f := range c.Files {
			got = append(got, f.Verb()+" "+f.Path)
		}
		if err != nil || strings.Join(got, " ") != test.want || c.Changed() != (test.want != "") || !c.Compared {
			t.Errorf("%s: %v, %v", test.name, got, err)
		}
	}
	empty := tree{"GATES.md": "x"}
	c, err := approval.CompareRoots(empty, rootTree(), formats{})
	if err != nil || len(c.Files) != 2 || c.Files[0].Verb() != "adds" {
		t.Errorf("first set-up: %+v, %v", c, err)
	}
	if !(approval.RootChange{}).Changed() {
		t.Error("the zero comparison says unchanged")
	}
	lost, err := approval.CompareRoots(rootTree(), rootTree().with(tree{".gatesworn/revoked": "sha256:bb\n"}), formats{})
	if err != nil || len(lost.Files) != 1 || len(lost.Files[0].Lost) != 1 || lost.Files[0].Lost[0] != "sha256:aa" {
		t.Errorf("%+v %v", lost, err)
	}
}

func TestSignedRoot(t *testing.T) {
	t.Parallel()
	changes := tree{".gatesworn/policy.yml": policyText + "\n", ".gatesworn/approvals/1.approval": "-"}
	c, err := approval.CompareRoots(rootTree(), rootTree().with(changes), formats{})
	if err != nil {
		t.Fatal(err)
	}
	root := map[string]string{
		".gatesworn/policy.yml":           strings.TrimPrefix(approval.Digest([]byte(policyText+"\n")), "sha256:"),
		".gatesworn/approvals/1.approval": approval.RootAbsent,
	}
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	good := func() (approval.RootChange, approval.Request) {
		s := statement{NoApprove: true}.value(t, 0)
		s.Root = root
		return c, approval.Request{Now: now, Root: validRoot(), Statements: []approval.Statement{s}}
	}
	tests := map[string]func(*approval.RootChange, *approval.Request){
		"by nobody":       func(_ *approval.RootChange, r *approval.Request) { r.Statements[0].Signatures = nil },
		"too few":         func(_ *approval.RootChange, r *approval.Request) { r.Root.Policy.Threshold = 2 },
		"expired":         func(_ *approval.RootChange, r *approval.Request) { r.Statements[0].ExpiresAt = now },
		"another project": func(_ *approval.RootChange, r *approval.Request) { r.Statements[0].Project = "aaaaaaaaaaaa" },
		"malformed":       func(_ *approval.RootChange, r *approval.Request) { r.Statements[0].Fault = "x" },
		"revoked": func(_ *approval.RootChange, r *approval.Request) {
			r.Revoked = approval.Unite([]string{r.Statements[0].ID})
		},
		"an old one again": func(_ *approval.RootChange, r *approval.Request) { r.Statements[0].Trusted = true },
		"no root in it":    func(_ *approval.RootChange, r *approval.Request) { r.Statements[0].Root = nil },
		"other content": func(_ *approval.RootChange, r *approval.Request) {
			r.Statements[0].Root = map[string]string{".gatesworn/policy.yml": strings.Repeat("0", 64), ".gatesworn/approvals/1.approval": approval.RootAbsent}
		},
		"a file short": func(_ *approval.RootChange, r *approval.Request) {
			r.Statements[0].Root = map[string]string{".gatesworn/policy.yml": root[".gatesworn/policy.yml"]}
		},
		"a broken root": func(_ *approval.RootChange, r *approval.Request) { r.Root = r.Root.Break(errors.New("x")) },
		"not compared":  func(c *approval.RootChange, _ *approval.Request) { *c = approval.RootChange{} },
		"no change":     func(c *approval.RootChange, _ *approval.Request) { *c = approval.RootChange{Compared: true} },
	}
	if by, ok := approval.SignedRoot(good()); !ok || len(by.By) != 1 {
		t.Error("a signed change does not count", by)
	}
	for name, edit := range tests {
		change, r := good()
		edit(&change, &r)
		if _, ok := approval.SignedRoot(change, r); ok {
			t.Errorf("%s: counts", name)
		}
	}
}

func TestRevocations(t *testing.T) {
	t.Parallel()
	r := approval.Unite([]string{"b", "a"}, nil, []string{"c", "a"})
	if diff := cmp.Diff([]string{"a", "b", "c"}, r.List()); diff != "" || !r.Has("c") || r.Has("d") || approval.Revocations(nil).Has("a") {
		t.Error(diff)
	}
}
