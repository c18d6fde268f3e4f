package doctor

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/goccy/go-yaml"
)

// MaxWorkflow is the largest workflow looked at, in bytes.
const MaxWorkflow = 1 << 20

// node is a mapping of a workflow.
type node map[string]any

func (n node) text(key string) string { s, _ := n[key].(string); return s }

func (n node) child(key string) node { m, _ := n[key].(map[string]any); return m }

// list reads a list, or a single word as a list of one.
func (n node) list(key string) []string {
	switch v := n[key].(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, e := range v {
			if s, ok := e.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

type workflow struct {
	path string
	top  node
	on   map[string]node // triggers
	jobs []job
}

type job struct {
	id, name string
	node     node
	steps    []node
}

func parseWorkflow(path string, data []byte) (workflow, error) {
	w := workflow{path: path, on: map[string]node{}}
	if len(data) > MaxWorkflow {
		return w, errors.New("is too large")
	}
	var top map[string]any
	if err := yaml.Unmarshal(data, &top); err != nil {
		return w, errors.New("cannot be read as YAML")
	}
	w.top = top
	for _, event := range w.top.list("on") {
		w.on[event] = node{}
	}
	for event := range w.top.child("on") {
		w.on[event] = w.top.child("on").child(event)
	}
	if len(w.on) == 0 {
		return w, errors.New("has no triggers")
	}
	for id := range w.top.child("jobs") {
		j := job{id: id, name: id, node: w.top.child("jobs").child(id)}
		if n := j.node.text("name"); n != "" {
			j.name = n
		}
		steps, _ := j.node["steps"].([]any)
		for _, s := range steps {
			if m, ok := s.(map[string]any); ok {
				j.steps = append(j.steps, m)
			}
		}
		w.jobs = append(w.jobs, j)
	}
	sort.Slice(w.jobs, func(i, k int) bool { return w.jobs[i].id < w.jobs[k].id })
	return w, nil
}

// ours reports a step that runs gatesworn, and whether on the host.
func ours(step node) (is, host bool) {
	name, _, _ := strings.Cut(step.text("uses"), "@")
	return name == "gatesworn/gatesworn" || name == "gatesworn/gatesworn/host", name == "gatesworn/gatesworn/host"
}

// measuring are the jobs in which commands of a pull request run.
func (w workflow) measuring() []job {
	return slices.DeleteFunc(slices.Clone(w.jobs), func(j job) bool { _, at, _ := j.step(); return at < 0 })
}

// step finds the measuring step.
func (j job) step() (s node, at int, host bool) {
	for i, s := range j.steps {
		if is, host := ours(s); is && s.child("with").text("mode") != "publish" {
			return s, i, host
		}
	}
	return nil, -1, false
}

// triggers compares with what a required check needs.
func (w workflow) triggers(out *Result, branch string) {
	pr, ok := w.on["pull_request"]
	if !ok {
		out.weak(w.path, "add pull_request to its triggers", "pull requests do not start it")
	} else {
		if !slices.Contains(pr.list("types"), "edited") {
			out.weak(w.path, "types: [opened, synchronize, reopened, edited]", "a request that is retargeted is not judged again: edited is missing")
		}
		for _, filter := range []string{"paths", "paths-ignore", "branches", "branches-ignore"} {
			if _, is := pr[filter]; is {
				out.weak(w.path, "remove the filter", "%s: a request that it leaves out waits for the check for ever, or needs none", filter)
			}
		}
	}
	if _, ok := w.on["merge_group"]; !ok {
		out.weak(w.path, "add merge_group to its triggers", "the merge queue would wait for it for ever")
	}
	push, ok := w.on["push"]
	if branches := push.list("branches"); !ok || branch != "" && len(branches) > 0 && !slices.Contains(branches, branch) {
		out.weak(w.path, fmt.Sprintf("add push: {branches: [%s]} to its triggers", orBranch(branch)), "it does not run on the default branch, so that GitHub does not offer its name as a required check")
	}
	for _, event := range []string{"pull_request_target", "issue_comment", "workflow_run"} {
		if _, is := w.on[event]; is {
			out.weak(w.path, "remove the trigger", "%s would run a fork's commands with this repository's rights; gatesworn refuses it", event)
		}
	}
	if cancels(w.top) {
		out.weak(w.path, "remove cancel-in-progress", "a cancelled run leaves the required check without an answer")
	}
}

func orBranch(b string) string {
	if b == "" {
		return "main"
	}
	return b
}

func cancels(n node) bool {
	v, is := n.child("concurrency")["cancel-in-progress"]
	return is && v != false
}

var pinned = regexp.MustCompile(`@[0-9a-f]{40}$`)

// examine looks at the job that is to be required.
func (j job) examine(out *Result, w workflow) {
	step, at, host := j.step()
	for _, n := range []node{j.node, step} {
		if v, is := n["continue-on-error"]; is && v != false {
			out.weak(w.path, "remove it", "job %s: continue-on-error makes the check green whatever was measured", j.id)
		}
	}
	for what, n := range map[string]node{"job": j.node, "step": step} {
		if cond := n.text("if"); cond != "" && cond != "always()" {
			out.weak(w.path, "remove the condition", "job %s: the %s has an if:, and what is skipped counts as passed", j.id, what)
		}
	}
	if cancels(j.node) {
		out.weak(w.path, "remove cancel-in-progress", "job %s can be cancelled", j.id)
	}
	j.token(out, w)
	if labels := strings.Join(j.node.list("runs-on"), " "); strings.Contains(labels, "self-hosted") {
		out.weak(w.path, "use a hosted runner, or keep the repository private", "job %s runs on a machine of yours: commands of a pull request can stay there", j.id)
	}
	for i, s := range j.steps {
		uses := s.text("uses")
		if uses != "" && !strings.HasPrefix(uses, "./") && !pinned.MatchString(uses) {
			out.weak(w.path, "pin it: uses: …@<40 hex digits>", "job %s uses %s, which can be moved to other code", j.id, uses)
		}
		if strings.HasPrefix(uses, "actions/checkout@") && s.child("with")["persist-credentials"] != false {
			out.weak(w.path, "with: {persist-credentials: false}", "job %s: the checkout keeps the token where checks could read it", j.id)
		}
		if host && i < at && s.text("run") != "" {
			out.weak(w.path, "move what can wait behind the gatesworn step", "job %s: a run: step before gatesworn may run the request's code and replace the judge", j.id)
		}
	}
}

// token wants permissions that are named and cannot write.
func (j job) token(out *Result, w workflow) {
	const next = "permissions: {contents: read, pull-requests: read}"
	value, is := j.node["permissions"]
	if !is {
		value, is = w.top["permissions"]
	}
	if !is {
		out.weak(w.path, next, "job %s has no permissions: and may have a token that can write", j.id)
		return
	}
	if s, ok := value.(string); ok && s == "write-all" {
		out.weak(w.path, next, "job %s: the token can write everything", j.id)
	}
	m, _ := value.(map[string]any)
	var write []string
	for name, v := range m {
		if v == "write" {
			write = append(write, name)
		}
	}
	if slices.Sort(write); len(write) > 0 {
		out.weak(w.path, "measure in one job, publish in another (examples/two-jobs.yml)", "job %s runs the request's commands beside a token with %s: write", j.id, strings.Join(write, ", "))
	}
}
