package action

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// MaxEvent is the largest event file read, in bytes; GitHub caps payloads at 25 MB
// (docs: webhooks).
const MaxEvent = 25 << 20

// ErrPrivileged is returned for an event whose workflow has the rights of the
// base repository while it handles something of a fork's.
var ErrPrivileged = errors.New("runs with the base repository's rights")

// Event is what the runner says about why this run exists. Of a pull request only
// the number counts; everything else is asked of the API and compared.
type Event struct {
	Name   string
	Action string
	Commit string // GITHUB_SHA: what is checked out and judged
	Number int    // of the pull request, 0 for other events
	Head   string // pull request: the head as the event has it
	Base   string // merge group, push, dispatch: the branch it belongs to
	Before string // pull request: the head before this push, or ""
	Run    int64  // workflow_run: whose end this is
}

// Signal is the runner's own description of the event.
type Signal struct {
	Name    string // GITHUB_EVENT_NAME
	SHA     string // GITHUB_SHA
	Ref     string // GITHUB_REF
	Payload []byte // of GITHUB_EVENT_PATH
}

type payload struct {
	Action      string `json:"action"`
	Before      string `json:"before"`
	Ref         string `json:"ref"`
	Deleted     bool   `json:"deleted"`
	PullRequest *struct {
		Number int `json:"number"`
		Head   struct {
			SHA string `json:"sha"`
		} `json:"head"`
	} `json:"pull_request"`
	MergeGroup *struct {
		HeadSHA string `json:"head_sha"`
		BaseRef string `json:"base_ref"`
	} `json:"merge_group"`
	WorkflowRun *struct {
		ID int64 `json:"id"`
	} `json:"workflow_run"`
}

var commitName = regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)

// ReadEvent reads an event in which code may run. Every other event is an error
// that says why; those that hand a fork's code the base's rights wrap ErrPrivileged.
func ReadEvent(s Signal) (Event, error) {
	switch s.Name {
	case "pull_request", "merge_group", "push", "workflow_dispatch":
	case "":
		return Event{}, errors.New("GITHUB_EVENT_NAME is not set: this is the entry point of the GitHub Action; here it is gatesworn check")
	case "pull_request_target", "issue_comment", "workflow_run", "pull_request_review", "pull_request_review_comment", "issues":
		return Event{}, fmt.Errorf("event %s %w: a pull request's commands would run with its token and secrets. Use on: pull_request", s.Name, ErrPrivileged)
	default:
		return Event{}, fmt.Errorf("event %q is not supported: use pull_request, merge_group, push or workflow_dispatch", s.Name)
	}
	p, err := readPayload(s)
	if err != nil {
		return Event{}, err
	}
	e := Event{Name: s.Name, Action: p.Action, Commit: s.SHA}
	switch s.Name {
	case "pull_request":
		return pullRequestEvent(e, p)
	case "merge_group":
		return mergeGroupEvent(e, p)
	}
	branch, ok := strings.CutPrefix(s.Ref, "refs/heads/")
	if !ok || branch == "" || p.Deleted {
		return Event{}, fmt.Errorf("event %s is for %q, which is no branch that stands: there is nothing to judge", s.Name, s.Ref)
	}
	e.Base = branch
	return e, nil
}

func readPayload(s Signal) (payload, error) {
	var p payload
	if !commitName.MatchString(s.SHA) {
		return p, fmt.Errorf("GITHUB_SHA %q is no full commit name", s.SHA)
	}
	if len(s.Payload) > MaxEvent {
		return p, fmt.Errorf("the event file is over %d MiB", MaxEvent>>20)
	}
	if err := json.Unmarshal(s.Payload, &p); err != nil {
		return p, fmt.Errorf("cannot read the event file: %v", err)
	}
	return p, nil
}

func pullRequestEvent(e Event, p payload) (Event, error) {
	switch {
	case p.PullRequest == nil || p.PullRequest.Number < 1 || !commitName.MatchString(p.PullRequest.Head.SHA):
		return Event{}, errors.New("the event file holds no pull request")
	case p.Action == "closed":
		return Event{}, errors.New("the pull request is closed: there is nothing to judge")
	}
	e.Number, e.Head = p.PullRequest.Number, p.PullRequest.Head.SHA
	if p.Action == "synchronize" && commitName.MatchString(p.Before) {
		e.Before = p.Before
	}
	return e, nil
}

func mergeGroupEvent(e Event, p payload) (Event, error) {
	if p.MergeGroup == nil {
		return Event{}, errors.New("the event file holds no merge group")
	}
	if p.MergeGroup.HeadSHA != e.Commit {
		return Event{}, fmt.Errorf("the merge group ends in %.12s, but GITHUB_SHA is %.12s", p.MergeGroup.HeadSHA, e.Commit)
	}
	base, ok := strings.CutPrefix(p.MergeGroup.BaseRef, "refs/heads/")
	if !ok || base == "" {
		return Event{}, errors.New("the merge group names no base branch")
	}
	e.Head, e.Base = e.Commit, base
	return e, nil
}

// ReadPublishEvent reads an event in publish mode, where nothing of a pull request
// runs: workflow_run, the second stage for forks, is allowed too.
func ReadPublishEvent(s Signal) (Event, error) {
	if s.Name != "workflow_run" {
		return ReadEvent(s)
	}
	p, err := readPayload(s)
	if err != nil {
		return Event{}, err
	}
	if p.WorkflowRun == nil || p.WorkflowRun.ID < 1 || p.Action != "completed" {
		return Event{}, errors.New("the event file holds no completed workflow run")
	}
	return Event{Name: s.Name, Action: p.Action, Commit: s.SHA, Run: p.WorkflowRun.ID}, nil
}
