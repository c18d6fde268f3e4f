package ghreport

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/gofri/go-github-ratelimit/v2/github_ratelimit/github_primary_ratelimit"
	"github.com/google/go-github/v62/github"
)

// Kind says what a failed call means for the caller. The zero value is a failure
// of no known kind.
type Kind string

const (
	// Denied: 401, 403 or 404. GitHub answers either of the last two for a missing
	// permission, so they are one (8-github-facts; mikepenz/action-junit-report #23).
	Denied Kind = "denied"
	// Limited: a rate limit whose wait would exceed what is left of the total.
	Limited Kind = "limited"
	// Rejected: 400 or 422, the request itself was not accepted. Nothing was written.
	Rejected Kind = "rejected"
	// Unavailable: 5xx, no answer, half an answer. A write may have happened.
	Unavailable Kind = "unavailable"
	// Stopped: the context ended.
	Stopped Kind = "stopped"
)

// Classify names the kind of an error that a Client returned.
func Classify(err error) Kind {
	if err == nil {
		return ""
	}
	var (
		rate    *github.RateLimitError
		abuse   *github.AbuseRateLimitError
		primary *github_primary_ratelimit.RateLimitReachedError
		answer  *github.ErrorResponse
		network *url.Error
		op      net.Error
		long    *limitError
	)
	switch {
	case errors.As(err, &long):
		return Limited
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded) && !errors.As(err, &network):
		return Stopped
	case errors.As(err, &rate), errors.As(err, &abuse), errors.As(err, &primary):
		return Limited
	case errors.As(err, &answer) && answer.Response != nil:
		return kindOf(answer.Response.StatusCode)
	case errors.Is(err, errAnswer), errors.As(err, &network), errors.As(err, &op):
		return Unavailable
	}
	return ""
}

// errAnswer marks an answer that arrived and could not be read.
var errAnswer = errors.New("the answer cannot be read")

func kindOf(status int) Kind {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusNotFound:
		return Denied
	case status == http.StatusTooManyRequests:
		return Limited
	case status >= 500:
		return Unavailable
	case status >= 400:
		return Rejected
	}
	return ""
}

// Sink is one place a report is published to.
type Sink string

const (
	SinkCheck       Sink = "check run"
	SinkAnnotations Sink = "annotations"
	SinkComment     Sink = "comment"
)

// Fault is something that could not be published. It is data: no fault changes a
// verdict or stops another sink.
type Fault struct {
	Sink  Sink
	Doing string // "create the check run"
	Kind  Kind
	Err   error
}

// Error says what could not be done, in one line without a full stop.
func (f Fault) Error() string {
	s := "cannot " + f.Doing
	if f.Kind == Denied {
		return s + ": missing permission or not visible"
	}
	if f.Err != nil {
		s += ": " + oneLine(f.Err.Error())
	}
	return s
}

// Unwrap returns the error of the call.
func (f Fault) Unwrap() error { return f.Err }

func oneLine(s string) string {
	return strings.Join(strings.Fields(s), " ")
}
