package approval

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/gatesworn/gatesworn/gates/ledger"

	"github.com/gatesworn/gatesworn/internal/lazyregexp"
)

// value is one value of the file; at is its key, for values that are nothing.
type value struct {
	node ast.Node
	at   *token.Token
}

func (v value) token() *token.Token {
	if v.node != nil && v.node.GetToken() != nil {
		return v.node.GetToken()
	}
	return v.at
}

// key is one key that policy.yml may hold.
type key struct {
	name     string
	required bool
	read     func(*reader, value)
}

// The keys in the order the documentation shows them.
var topKeys = []key{
	{"version", true, func(r *reader, v value) { r.number(v, 1, 1, &r.policy.Version) }},
	{"project", true, func(r *reader, v value) { r.text(v, project, "8 to 64 of A-Z a-z 0-9 . _ -", &r.policy.Project) }},
	{"repository", true, func(r *reader, v value) { r.text(v, repository, "owner/name", &r.policy.Repository) }},
	{"ledgers", false, func(r *reader, v value) { r.list(v, glob, &r.policy.Ledgers) }},
	{"tasks", false, func(r *reader, v value) { r.list(v, glob, &r.policy.Tasks) }},
	{"branches", false, func(r *reader, v value) { r.list(v, branch, &r.policy.Branches) }},
	{"approvals", false, func(r *reader, v value) { r.nested(v, approvalKeys) }},
	{"removal", false, func(r *reader, v value) { choice(r, v, &r.policy.Removal, RemovalDeny, RemovalAllow) }},
	{"manual", false, func(r *reader, v value) { choice(r, v, &r.policy.Manual, ManualSigned, ManualEvidence) }},
	{"keys", false, func(r *reader, v value) { choice(r, v, &r.policy.Keys, KeysAny, KeysHardware) }},
	{"clean", false, func(r *reader, v value) { choice(r, v, &r.policy.Clean, CleanRequired, CleanReport) }},
	{"shell", false, func(r *reader, v value) { r.text(v, shellPath, "an absolute path", &r.policy.Shell) }},
	{"jobs", false, func(r *reader, v value) { r.number(v, 1, 64, &r.policy.Jobs) }},
	{"env", false, func(r *reader, v value) { r.list(v, envName, &r.policy.Env) }},
}

var approvalKeys = []key{
	{"threshold", false, func(r *reader, v value) { r.number(v, 1, 64, &r.policy.Threshold) }},
	{"inputs", false, func(r *reader, v value) { choice(r, v, &r.policy.Inputs, InputsOptional, InputsRequired) }},
	{"max-age", false, func(r *reader, v value) { r.days(v, &r.policy.MaxAge) }},
}

var (
	repository = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9-]{0,99}/[A-Za-z0-9._-]{1,100}$`)
	shellPath  = lazyregexp.New(`^/[A-Za-z0-9._+/-]{1,299}$`)
	decimal    = lazyregexp.New(`^[1-9][0-9]{0,8}$`)
	days       = lazyregexp.New(`^[1-9][0-9]{0,3}d$`)
	branchName = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._/@+-]{0,254}$`)
)

func lookup(keys []key, name string) (key, bool) {
	for _, k := range keys {
		if k.name == name {
			return k, true
		}
	}
	return key{}, false
}

func names(keys []key) string {
	all := make([]string, len(keys))
	for i, k := range keys {
		all[i] = k.name
	}
	return strings.Join(all, ", ")
}

// scalar returns the text of a plain or quoted scalar. A project of digits only
// is a number to YAML: what counts is what is written, not how YAML types it.
func (r *reader) scalar(v value, want string) (string, bool) {
	switch n := v.node.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.IntegerNode:
		return n.Token.Value, true
	case *ast.FloatNode:
		return n.Token.Value, true
	}
	r.problem(v.token(), "must be %s, not %s", want, kindOf(v.node))
	return "", false
}

func (r *reader) text(v value, form *lazyregexp.Regexp, want string, to *string) {
	s, ok := r.scalar(v, want)
	if !ok {
		return
	}
	if !form.MatchString(s) {
		r.problem(v.token(), "%q is not %s", s, want)
		return
	}
	*to = s
}

func (r *reader) number(v value, low, high int, to *int) {
	n, ok := v.node.(*ast.IntegerNode)
	if !ok {
		r.problem(v.token(), "must be %s, not %s", span(low, high), kindOf(v.node))
		return
	}
	i, err := strconv.Atoi(n.Token.Value)
	if err != nil || !decimal.MatchString(n.Token.Value) || i < low || i > high {
		r.problem(v.token(), "%q is not %s in plain digits", n.Token.Value, span(low, high))
		return
	}
	*to = i
}

func span(low, high int) string {
	if low == high {
		return fmt.Sprintf("the number %d", low)
	}
	return fmt.Sprintf("a number from %d to %d", low, high)
}

func (r *reader) days(v value, to *time.Duration) {
	s, ok := r.scalar(v, "days, such as 180d")
	if !ok {
		return
	}
	if !days.MatchString(s) {
		r.problem(v.token(), "%q is not days, such as 180d", s)
		return
	}
	n, _ := strconv.Atoi(strings.TrimSuffix(s, "d")) // at most four digits
	*to = time.Duration(n) * 24 * time.Hour
}

func choice[T ~string](r *reader, v value, to *T, allowed ...T) {
	words := make([]string, len(allowed))
	for i, a := range allowed {
		words[i] = string(a)
	}
	want := strings.Join(words, " or ")
	n, ok := v.node.(*ast.StringNode)
	if !ok {
		r.problem(v.token(), "must be %s, not %s", want, kindOf(v.node))
		return
	}
	for _, a := range allowed {
		if n.Value == string(a) {
			*to = a
			return
		}
	}
	r.problem(v.token(), "%q is not %s", n.Value, want)
}

func (r *reader) list(v value, check func(string) error, to *[]string) {
	n, ok := v.node.(*ast.SequenceNode)
	if !ok {
		r.problem(v.token(), "must be a list, such as [a, b], not %s", kindOf(v.node))
		return
	}
	items, seen := []string{}, map[string]bool{}
	for _, item := range n.Values {
		iv := value{node: item, at: v.token()}
		s, ok := r.scalar(iv, "text")
		if !ok {
			continue
		}
		if err := check(s); err != nil {
			r.problem(iv.token(), "%v", err)
			continue
		}
		if seen[s] {
			r.problem(iv.token(), "%q is listed twice", s)
			continue
		}
		seen[s] = true
		items = append(items, s)
	}
	*to = items
}

func (r *reader) nested(v value, keys []key) {
	m, ok := v.node.(*ast.MappingNode)
	if !ok {
		r.problem(v.token(), "must be a mapping of %s, not %s", names(keys), kindOf(v.node))
		return
	}
	r.mapping(m, v.token(), keys)
}

func glob(s string) error {
	_, err := parsePattern(s)
	return err
}

// branch accepts a branch's short name as git allows it, without the forms that
// mean something else: no refs/ (a tag could be named like the branch), no "..".
func branch(s string) error {
	if !branchName.MatchString(s) || strings.Contains(s, "..") || strings.Contains(s, "@{") || strings.HasPrefix(s, "refs/") || strings.HasSuffix(s, "/") {
		return fmt.Errorf("%q is not a branch name", s)
	}
	return nil
}

func envName(s string) error {
	if reason, ok := ledger.EnvNameAllowed(s); !ok {
		return fmt.Errorf("%q cannot be passed on: %s", s, reason)
	}
	return nil
}
