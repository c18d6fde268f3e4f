package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gatesworn/gatesworn/approval"
)

// Repository is what is looked at, read once.
type Repository struct {
	Workflows      map[string][]byte // by path
	CodeOwners     []byte            // nil: there is none
	Default        string            // name of the default branch, as far as known
	Root           approval.TrustRoot
	RootBehind     bool     // this checkout has other root files than the trust ref
	Ledgers        []string // standing ledgers
	Prettier       bool     // Prettier is used
	PrettierIgnore []byte
}

// Finding is something weak, and what cures it.
type Finding struct {
	Path string // of the file it is about, or ""
	Text string
	Next string
}

// Result is what a look came to.
type Result struct {
	Weak    []Finding
	Unknown []string // what could not be looked at
	Looked  []string // what was looked at and is well
}

func (r *Result) weak(path, next, format string, args ...any) {
	r.Weak = append(r.Weak, Finding{Path: path, Text: fmt.Sprintf(format, args...), Next: next})
}

// Examine looks at everything.
func Examine(r Repository) Result {
	var out Result
	for _, look := range []struct {
		name string
		do   func(*Result)
	}{
		{"trust root", func(o *Result) { trustRoot(o, r) }},
		{"workflows", func(o *Result) { workflows(o, r) }},
		{"code owners", func(o *Result) { codeOwners(o, r) }},
		{"formatters", func(o *Result) { prettier(o, r) }},
	} {
		before := len(out.Weak) + len(out.Unknown)
		look.do(&out)
		if len(out.Weak)+len(out.Unknown) == before {
			out.Looked = append(out.Looked, look.name)
		}
	}
	return out
}

func trustRoot(out *Result, r Repository) {
	switch r.Root.State {
	case approval.RootValid:
		if r.RootBehind {
			out.weak("", "git fetch, then merge "+r.Root.Ref, "this checkout has other rules or signers than %s", r.Root.Ref)
		}
		if len(r.Root.Principals) == 0 {
			out.weak(approval.SignersPath, "add a line: NAME namespaces=\"gatesworn-approval\" ssh-ed25519 …", "nobody may sign")
		}
	case approval.RootMissing:
		out.weak("", "gatesworn init --github, and merge what it wrote", "%s has no .gatesworn/ with a policy and a signer: nothing vouches for any command", orDefault(r.Root.Ref))
	case approval.RootBroken:
		out.weak(approval.PolicyPath, "correct it on "+orDefault(r.Root.Ref), "the trust root cannot be read: %v", r.Root.Err)
	default:
		out.Unknown = append(out.Unknown, "the trust root: no default branch of a remote is known here; git remote set-head origin --auto")
	}
}

func orDefault(ref string) string {
	if ref == "" {
		return "the default branch"
	}
	return ref
}

// codeOwners wants an owner for whatever decides what counts.
func codeOwners(out *Result, r Repository) {
	const file = ".github/CODEOWNERS"
	if r.CodeOwners == nil {
		out.weak(file, "write /.github/ @you and /.gatesworn/ @you into it, and require a review from Code Owners",
			"there are no code owners: whoever may merge edits the judge")
		return
	}
	for _, want := range append([]string{".github/workflows/gatesworn.yml", ".gatesworn/policy.yml"}, r.Ledgers...) {
		if !owned(string(r.CodeOwners), want) {
			out.weak(file, "add a line for it", "nobody owns %s", want)
		}
	}
}

// owned reports whether the last matching line names an owner. It knows the plain
// patterns that people write for folders and files; another pattern does not count.
func owned(file, path string) bool {
	found := false
	for line := range strings.Lines(file) {
		fields := strings.Fields(strings.SplitN(line, "#", 2)[0])
		if len(fields) > 0 && covers(fields[0], path) {
			found = len(fields) > 1
		}
	}
	return found
}

func covers(pattern, path string) bool {
	p := strings.TrimPrefix(pattern, "/")
	switch {
	case pattern == "*", p == path, p == "**":
		return true
	case strings.HasSuffix(p, "/"):
		return strings.HasPrefix(path, p)
	case strings.HasSuffix(p, "/**"), strings.HasSuffix(p, "/*"):
		return strings.HasPrefix(path, p[:strings.LastIndexByte(p, '/')+1])
	}
	return !strings.ContainsAny(p, "*?[") && strings.HasPrefix(path, p+"/")
}

// prettier rewraps ledgers, and a rewrapped definition is another one.
func prettier(out *Result, r Repository) {
	if !r.Prettier {
		return
	}
	var lines []string
	for line := range strings.Lines(string(r.PrettierIgnore)) {
		lines = append(lines, strings.TrimPrefix(strings.TrimSpace(line), "/"))
	}
	for _, l := range r.Ledgers {
		if !slices.Contains(lines, l) && !slices.Contains(lines, "*.md") {
			out.weak(".prettierignore", "add the line "+l, "Prettier may rewrite %s", l)
		}
	}
	if !slices.Contains(lines, ".gatesworn") && !slices.Contains(lines, ".gatesworn/") {
		out.weak(".prettierignore", "add the line .gatesworn/", "Prettier may rewrite signed files")
	}
}

// workflows looks at those that run gatesworn.
func workflows(out *Result, r Repository) {
	names := map[string][]string{} // of jobs, by workflow file
	var ours []workflow
	for _, path := range slices.Sorted(maps.Keys(r.Workflows)) {
		w, err := parseWorkflow(path, r.Workflows[path])
		if err != nil {
			out.Unknown = append(out.Unknown, fmt.Sprintf("%s: %v", path, err))
			continue
		}
		for _, j := range w.jobs {
			names[j.name] = append(names[j.name], path)
		}
		if len(w.measuring()) > 0 {
			ours = append(ours, w)
		}
	}
	if len(ours) == 0 {
		out.weak("", "gatesworn init --github", "no workflow measures the gates")
	}
	for _, w := range ours {
		w.triggers(out, r.Default)
		for _, j := range w.measuring() {
			j.examine(out, w)
			if also := names[j.name]; len(also) > 1 {
				out.weak(w.path, "give the jobs different names", "the job name %q is also in %s: a required check looks at the name only", j.name, other(also, w.path))
			}
		}
	}
}

func other(paths []string, own string) string {
	for _, p := range paths {
		if p != own {
			return p
		}
	}
	return own
}
