package ghreport

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/gatesworn/gatesworn/ghreport/markdown"

	"github.com/gatesworn/gatesworn/internal/lazyregexp"
)

// CommentPolicy says when the sticky comment is written. The zero value never does.
type CommentPolicy string

const (
	CommentNever    CommentPolicy = "never"
	CommentFailures CommentPolicy = "failures" // created when the conclusion is not success, then kept up to date
	CommentChanges  CommentPolicy = "changes"  // created on the first run, edited when the verdict or a gate's state changed
	CommentAlways   CommentPolicy = "always"
)

// DefaultCheckName is never the name of a job, so that it cannot be required by
// mistake (forks cannot create it).
const DefaultCheckName = "gatesworn report"

// Target says where a report is published and for which run.
type Target struct {
	CheckName   string // also tells several reports of one repository apart
	HeadSHA     string // full name of the commit that the check run is for
	Before      string // the head before this push, where a killed run may have left a check run open; or ""
	PullRequest int    // 0: no comment
	Comment     CommentPolicy
	Annotations bool
	// Stream names runs that replace each other: the workflow's path and the event,
	// and the pull request's number. A run never repairs another stream's.
	Stream  string
	RunID   int64 // the workflow run's; grows from run to run
	Attempt int   // from 1
	// Author is the login that our comments have; "" means the bot of the app that
	// made the check run, else github-actions[bot].
	Author     string
	DetailsURL string // or ""; GitHub overrides it for its own app
	Place      markdown.Place
}

var fullName = lazyregexp.New(`^[0-9a-f]{40}([0-9a-f]{24})?$`)

// Validate returns what is wrong with a target, or nil.
func (t Target) Validate() error {
	switch {
	case t.CheckName == "" || len(t.CheckName) > 200 || strings.ContainsAny(t.CheckName, "\r\n"):
		return fmt.Errorf("check name %q", t.CheckName)
	case !fullName.MatchString(t.HeadSHA):
		return fmt.Errorf("head %q is not a full commit name", t.HeadSHA)
	case t.Before != "" && !fullName.MatchString(t.Before):
		return fmt.Errorf("earlier head %q is not a full commit name", t.Before)
	case t.PullRequest < 0:
		return errors.New("negative pull request number")
	case t.RunID <= 0 || t.Attempt <= 0:
		return errors.New("no run id or attempt")
	}
	switch t.Comment {
	case "", CommentNever, CommentFailures, CommentChanges, CommentAlways:
		return nil
	}
	return fmt.Errorf("comment policy %q is none of failures, changes, always, never", t.Comment)
}

// run orders runs of one stream.
type run struct {
	id      int64
	attempt int
}

func (r run) after(o run) bool { return r.id > o.id || r.id == o.id && r.attempt > o.attempt }

// externalID is what a check run of ours carries, so that it is found again:
// gatesworn/1/<stream>/<run>/<attempt>, the stream as 16 hex digits of its hash.
func (t Target) externalID() string {
	return idPrefix + digest(t.Stream)[:16] + "/" + strconv.FormatInt(t.RunID, 10) + "/" + strconv.Itoa(t.Attempt)
}

const idPrefix = "gatesworn/1/"

// parseExternalID undoes externalID; false for anything that is not ours.
func parseExternalID(s string) (stream string, r run, ok bool) {
	rest, ok := strings.CutPrefix(s, idPrefix)
	f := strings.Split(rest, "/")
	if !ok || len(f) != 3 {
		return "", run{}, false
	}
	id, err1 := strconv.ParseInt(f[1], 10, 64)
	attempt, err2 := strconv.Atoi(f[2])
	if err1 != nil || err2 != nil || id <= 0 || attempt <= 0 {
		return "", run{}, false
	}
	return f[0], run{id, attempt}, true
}
