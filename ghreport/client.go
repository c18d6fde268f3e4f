package ghreport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gofri/go-github-ratelimit/v2/github_ratelimit/github_primary_ratelimit"
	"github.com/google/go-github/v62/github"
	"golang.org/x/oauth2"

	"github.com/gatesworn/gatesworn/internal/lazyregexp"
)

// Config says how to reach the API. Nothing is read from the environment.
type Config struct {
	Repository string // owner/name
	Token      string // sent to BaseURL's host only, never part of an error
	BaseURL    string // "https://api.github.com"; http only for a loopback address
	// Transport carries the requests; nil means one of our own without a proxy.
	Transport http.RoundTripper
	// Now and Sleep are the clock that rate limits are judged by. Sleep returns
	// early, with the context's error, when the context ends.
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
	// MaxWait bounds the time spent waiting in total over the client's life: for
	// limits, between writes and before repetitions. 0 means DefaultMaxWait.
	MaxWait time.Duration
	// CallTimeout bounds one exchange, its answer read to the end. 0 means
	// DefaultCallTimeout.
	CallTimeout time.Duration
}

const (
	// DefaultMaxWait lets one secondary limit of a minute pass, not a primary one
	// of an hour: the job, not the report, is what a pull request waits for.
	DefaultMaxWait = 2 * time.Minute
	// DefaultCallTimeout is above GitHub's own limit of 10 seconds for a request
	// (docs: rest/using-the-rest-api/troubleshooting-the-rest-api).
	DefaultCallTimeout = 15 * time.Second
)

// Client talks to one repository over the REST API. It implements Checks and
// Comments and reads the facts in facts.go. It is safe for concurrent use; its
// writes are serial all the same.
type Client struct {
	gh          *github.Client
	owner, repo string
	pace        *pace
}

var repository = lazyregexp.New(`^[A-Za-z0-9._-]{1,100}/[A-Za-z0-9._-]{1,100}$`)

// NewClient checks cfg and makes a client of it. It makes no call.
func NewClient(cfg Config) (*Client, error) {
	if !repository.MatchString(cfg.Repository) || strings.Contains(cfg.Repository+"/", "./") {
		return nil, fmt.Errorf("repository %q is not owner/name", cfg.Repository)
	}
	base, err := baseURL(cfg.BaseURL)
	switch {
	case err != nil:
		return nil, err
	case cfg.Token == "":
		return nil, errors.New("no token")
	case cfg.Now == nil || cfg.Sleep == nil:
		return nil, errors.New("no clock")
	}
	if cfg.Transport == nil {
		cfg.Transport = &http.Transport{
			DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
			TLSHandshakeTimeout: 10 * time.Second,
			ForceAttemptHTTP2:   true,
		}
	}
	p := newPace(cfg)
	// From the outside in: the token is added; an exhausted primary limit, once
	// known, is not asked again; and pace waits, repeats and spaces. The library's
	// secondary limiter is not used: it sleeps by the real clock and sends a
	// request again with the body already consumed.
	hc := &http.Client{
		Transport: &oauth2.Transport{
			Source: oauth2.StaticTokenSource(&oauth2.Token{AccessToken: cfg.Token}),
			Base:   github_primary_ratelimit.New(p),
		},
		CheckRedirect: sameHost,
	}
	gh := github.NewClient(hc)
	gh.BaseURL, gh.UploadURL, gh.UserAgent = base, base, "gatesworn"
	owner, repo, _ := strings.Cut(cfg.Repository, "/")
	return &Client{gh: gh, owner: owner, repo: repo, pace: p}, nil
}

func baseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("the API's address is not an https URL")
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
		return nil, fmt.Errorf("the API's address %q is neither https nor on this machine", u.Redacted())
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + "/"
	return u, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// sameHost keeps the token, which oauth2 adds to every request, where it belongs,
// and a write from turning into a read.
func sameHost(req *http.Request, via []*http.Request) error {
	switch first := via[0]; {
	case len(via) > 5:
		return errors.New("more than 5 redirections")
	case req.URL.Host != first.URL.Host || req.URL.Scheme != first.URL.Scheme:
		return fmt.Errorf("redirected to another host %q", req.URL.Host)
	case req.Method != first.Method:
		return errors.New("a write was redirected")
	}
	return nil
}

// ServerOffset is how far the API's clock was ahead of ours at the last answer;
// false before the first.
func (c *Client) ServerOffset() (time.Duration, bool) { return c.pace.offset() }

// get reads path, relative to the repository, into v.
func (c *Client) get(ctx context.Context, path string, v any) (*github.Response, error) {
	return c.do(ctx, http.MethodGet, "repos/"+c.owner+"/"+c.repo+path, nil, v)
}

func (c *Client) do(ctx context.Context, method, path string, body, v any) (*github.Response, error) {
	req, err := c.gh.NewRequest(method, path, body)
	if err != nil {
		return nil, err
	}
	resp, err := c.gh.Do(ctx, req, v)
	if err != nil && resp != nil && resp.StatusCode < 300 {
		err = fmt.Errorf("%w: %v", errAnswer, err)
	}
	return resp, err
}

// next returns the path of the following page, from the Link header and never
// built by us; "" at the end. A link to another host is not followed.
func (c *Client) next(resp *github.Response) (string, error) {
	for _, l := range strings.Split(resp.Header.Get("Link"), ",") {
		target, rel, ok := strings.Cut(strings.TrimSpace(l), ">;")
		if !ok || !strings.Contains(rel, `rel="next"`) {
			continue
		}
		u, err := url.Parse(strings.TrimPrefix(target, "<"))
		if err != nil || u.Host != c.gh.BaseURL.Host || u.Scheme != c.gh.BaseURL.Scheme {
			return "", fmt.Errorf("%w: the next page is elsewhere", errAnswer)
		}
		return u.String(), nil
	}
	return "", nil
}

// maxPages bounds every listing: 100 pages of 100.
const maxPages = 100

// pages calls each with every page's path until there are no more.
func (c *Client) pages(first string, each func(path string) (*github.Response, error)) error {
	for path, n := first, 0; path != ""; n++ {
		if n == maxPages {
			return fmt.Errorf("%w: more than %d pages", errAnswer, maxPages)
		}
		resp, err := each(path)
		if err != nil {
			return err
		}
		if path, err = c.next(resp); err != nil {
			return err
		}
	}
	return nil
}
