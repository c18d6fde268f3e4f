package ghreport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// GitHub's rules of conduct (docs: rest/using-the-rest-api/best-practices and
// rate-limits, read 2026-11).
const (
	writeSpacing   = time.Second      // between writes under load
	writeBurst     = 6                // writes before spacing starts; a usual run needs no more
	secondaryPause = 60 * time.Second // after a limit without headers; doubled each time
	firstBackoff   = time.Second      // before a repeated read; doubled each time
	maxTries       = 4
	maxAnswer      = 64 << 20 // bytes of one answer
)

// pace is the transport that waits: it keeps writes serial and apart, honours
// retry-after, then the reset time, then backs off, and repeats what is known not
// to have happened: every read, a write that was refused for a limit, a write whose
// connection was never made. A write that may have happened is not repeated here.
type pace struct {
	base    http.RoundTripper
	now     func() time.Time
	sleep   func(context.Context, time.Duration) error
	maxWait time.Duration
	timeout time.Duration

	write sync.Mutex // held while a write is under way

	mu     sync.Mutex // guards the rest
	waited time.Duration
	until  time.Time // no call before
	last   time.Time // end of the last write
	writes int
	slow   bool // a limit was met: writes are spaced from now on
	ahead  time.Duration
	dated  bool
}

func newPace(cfg Config) *pace {
	p := &pace{base: cfg.Transport, now: cfg.Now, sleep: cfg.Sleep, maxWait: cfg.MaxWait, timeout: cfg.CallTimeout}
	if p.maxWait <= 0 {
		p.maxWait = DefaultMaxWait
	}
	if p.timeout <= 0 {
		p.timeout = DefaultCallTimeout
	}
	return p
}

func (p *pace) offset() (time.Duration, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ahead, p.dated
}

func isWrite(req *http.Request) bool {
	return req.Method != http.MethodGet && req.Method != http.MethodHead
}

// RoundTrip implements http.RoundTripper. The answer it returns is read whole.
func (p *pace) RoundTrip(req *http.Request) (*http.Response, error) {
	if isWrite(req) {
		p.write.Lock()
		defer p.write.Unlock()
	}
	var resp *http.Response
	var err error
	for try := 1; ; try++ {
		if !p.wait(req.Context(), p.due(isWrite(req))) {
			if resp != nil || err != nil {
				return resp, err
			}
			return nil, errTooLong
		}
		resp, err = p.once(req)
		pause, again := p.judge(req, resp, err, try)
		if !again || try == maxTries || req.Context().Err() != nil {
			return resp, err
		}
		p.hold(pause)
	}
}

// errTooLong means that a call was not made, since what is left of the total
// does not cover the wait that GitHub asked for.
var errTooLong = &limitError{}

type limitError struct{}

func (*limitError) Error() string   { return "GitHub asks for a longer wait than is left" }
func (*limitError) Timeout() bool   { return false }
func (*limitError) Temporary() bool { return true }

// due is how long to wait before the next call.
func (p *pace) due(write bool) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	d := p.until.Sub(now)
	if write && (p.slow || p.writes >= writeBurst) {
		d = max(d, p.last.Add(writeSpacing).Sub(now))
	}
	return d
}

// wait sleeps for d out of the total; false when that is not to be had.
func (p *pace) wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	p.mu.Lock()
	if p.waited+d > p.maxWait {
		p.mu.Unlock()
		return false
	}
	p.waited += d
	p.mu.Unlock()
	if end, ok := ctx.Deadline(); ok && end.Before(p.now().Add(d)) {
		return false
	}
	return p.sleep(ctx, d) == nil
}

// hold forbids calls for d.
func (p *pace) hold(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.now().Add(d); t.After(p.until) {
		p.until = t
	}
}

// once makes one exchange and reads its answer to the end, so that a slow or torn
// body is a failure here, where it can be repeated.
func (p *pace) once(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(req.Context(), p.timeout)
	defer cancel()
	r := req.Clone(ctx)
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		r.Body = body
	}
	resp, err := p.base.RoundTrip(r)
	p.mu.Lock()
	if isWrite(req) {
		p.writes++
		p.last = p.now()
	}
	p.mu.Unlock()
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err == nil && len(data) > maxAnswer {
		err = fmt.Errorf("an answer over %d bytes", maxAnswer)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errAnswer, err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(data))
	p.note(resp)
	return resp, nil
}

// note keeps what an answer says about clock and limit.
func (p *pace) note(resp *http.Response) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		p.ahead, p.dated = t.Sub(p.now()), true
	}
	if resp.StatusCode >= 300 {
		return
	}
	if reset, ok := resetTime(resp); ok && reset.After(p.until) {
		p.until = reset
	}
	// What was just noted would make go-github refuse the next call by the real clock.
	for _, h := range [...]string{"X-Ratelimit-Remaining", "X-Ratelimit-Reset", "X-Ratelimit-Limit", "X-Ratelimit-Used", "X-Ratelimit-Resource"} {
		resp.Header.Del(h)
	}
}

// resetTime returns when an exhausted primary limit ends.
func resetTime(resp *http.Response) (time.Time, bool) {
	if resp.Header.Get("X-Ratelimit-Remaining") != "0" {
		return time.Time{}, false
	}
	n, err := strconv.ParseInt(resp.Header.Get("X-Ratelimit-Reset"), 10, 64)
	if err != nil || n <= 0 {
		return time.Time{}, false
	}
	return time.Unix(n+1, 0), true
}

// judge says whether a call may be repeated, and after how long.
func (p *pace) judge(req *http.Request, resp *http.Response, err error, try int) (time.Duration, bool) {
	backoff := firstBackoff << (try - 1)
	if err != nil {
		return backoff, !isWrite(req) || neverSent(err)
	}
	if !isLimit(resp) {
		return backoff, resp.StatusCode >= 500 && !isWrite(req)
	}
	p.mu.Lock()
	p.slow = true
	p.mu.Unlock()
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s >= 0 {
		return time.Duration(min(s, 1<<20)) * time.Second, true
	}
	if reset, ok := resetTime(resp); ok {
		return max(reset.Sub(p.now()), 0), true
	}
	return secondaryPause << (try - 1), true
}

// neverSent reports whether the connection was not even made.
func neverSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// isLimit tells a rate limit from a missing permission, which is a 403 as well.
func isLimit(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusTooManyRequests:
		return true
	case http.StatusForbidden:
		if resp.Header.Get("Retry-After") != "" || resp.Header.Get("X-Ratelimit-Remaining") == "0" {
			return true
		}
		data, _ := io.ReadAll(resp.Body) // in memory already
		resp.Body = io.NopCloser(bytes.NewReader(data))
		low := strings.ToLower(string(data[:min(len(data), 4096)]))
		return strings.Contains(low, "secondary rate limit") || strings.Contains(low, "abuse detection")
	}
	return false
}
