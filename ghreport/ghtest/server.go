package ghtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Token is the token that the double accepts.
const Token = "ghs_doubleDoubleToilAndTrouble0123456789"

// maxBody bounds a request the double reads.
const maxBody = 16 << 20

// Server is the double. Its fields may be changed before the first call; its
// methods are safe for concurrent use.
type Server struct {
	URL string // to be used as the API's address

	Repo Repo
	App  string // slug of the app whose token is used; comments are by App+"[bot]"
	// May says what the token may do: contents, checks, pull_requests, actions, each
	// "", "read" or "write". A missing permission answers 403.
	May map[string]string
	// Now is the server's clock.
	Now func() time.Time
	// MaxOutput and MaxComment are GitHub's limits, in bytes; tests may lower them.
	MaxOutput, MaxComment int

	t     testing.TB
	http  *httptest.Server
	mux   *http.ServeMux
	mu    sync.Mutex
	db    store
	calls []Call
	fault []*Fault
}

// Call is one recorded exchange.
type Call struct {
	Method, Path, Query string
	Body                string
	Status              int // 0: no answer was sent
}

func (c Call) String() string { return fmt.Sprintf("%s %s %d", c.Method, c.Path, c.Status) }

// Option changes how a double is built.
type Option func(*options)

type options struct {
	wrap func(http.Handler) http.Handler
}

// Wrap puts a handler around the double, inside of what scripts faults: a validator.
func Wrap(w func(http.Handler) http.Handler) Option { return func(o *options) { o.wrap = w } }

// New starts a double that stops with the test: repository octo/widgets, branch
// main, the permissions of a job that may write checks and comments.
func New(t testing.TB, opts ...Option) *Server {
	t.Helper()
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	s := &Server{
		t: t, App: "github-actions", Now: time.Now, MaxOutput: 65535, MaxComment: 65536,
		Repo: Repo{ID: 7001, Owner: "octo", Name: "widgets", DefaultBranch: "main"},
		May:  map[string]string{"contents": "read", "checks": "write", "pull_requests": "write", "actions": "read"},
	}
	s.db.init()
	s.routes()
	var inner http.Handler = s.mux
	if o.wrap != nil {
		inner = o.wrap(inner)
	}
	s.http = httptest.NewServer(s.outer(inner))
	t.Cleanup(s.http.Close)
	s.URL = s.http.URL
	return s
}

// Client returns a client of the server's that keeps no connections after the test.
func (s *Server) Client() *http.Client { return s.http.Client() }

// Calls returns what was called since the start or the last Forget.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Call(nil), s.calls...)
}

// Forget clears the record of calls.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = nil
}

// Count counts recorded calls with that method ("" for any) whose path contains part.
func (s *Server) Count(method, part string) int {
	n := 0
	for _, c := range s.Calls() {
		if (method == "" || c.Method == method) && strings.Contains(c.Path, part) {
			n++
		}
	}
	return n
}

// Reads and Writes count recorded calls.
func (s *Server) Reads() int  { return s.Count(http.MethodGet, "") }
func (s *Server) Writes() int { return len(s.Calls()) - s.Reads() }

// outer records, authorises and plays faults; what it lets pass is the model's.
func (s *Server) outer(inner http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
		if err != nil {
			s.t.Errorf("ghtest: reading %s %s: %v", r.Method, r.URL.Path, err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		call := Call{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Body: string(body)}
		f := s.next(r)
		rec := httptest.NewRecorder()
		if f == nil || f.After {
			s.answer(rec, r, inner)
		}
		status := rec.Code
		if f != nil && !f.slow() {
			status = f.Status
		}
		call.Status = status
		s.mu.Lock()
		s.calls = append(s.calls, call)
		s.mu.Unlock()
		if f != nil && f.play(w, r, rec) {
			return
		}
		send(w, rec)
	})
}

func send(w http.ResponseWriter, rec *httptest.ResponseRecorder) {
	for k, v := range rec.Header() {
		w.Header()[k] = v
	}
	w.WriteHeader(rec.Code)
	_, _ = w.Write(rec.Body.Bytes())
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, inner http.Handler) {
	h := w.Header()
	h.Set("Date", s.Now().UTC().Format(http.TimeFormat))
	h.Set("X-Ratelimit-Limit", "1000")
	h.Set("X-Ratelimit-Remaining", "900")
	h.Set("X-Ratelimit-Reset", fmt.Sprint(s.Now().Add(time.Hour).Unix()))
	h.Set("X-Ratelimit-Resource", "core")
	if r.Header.Get("User-Agent") == "" {
		s.t.Errorf("ghtest: %s %s without a User-Agent", r.Method, r.URL.Path)
	}
	if got := r.Header.Get("Authorization"); got != "Bearer "+Token && got != "token "+Token {
		fail(w, http.StatusUnauthorized, "Bad credentials")
		return
	}
	inner.ServeHTTP(w, r)
}

// fail answers as the service does.
func fail(w http.ResponseWriter, status int, message string, errs ...string) {
	body := map[string]any{"message": message, "documentation_url": "https://docs.github.com/rest", "status": fmt.Sprint(status)}
	if len(errs) > 0 {
		list := make([]any, len(errs))
		for i, e := range errs {
			list[i] = map[string]any{"resource": "x", "code": "custom", "field": "x", "message": e}
		}
		body["errors"] = list
	}
	reply(w, status, body)
}

func reply(w http.ResponseWriter, status int, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(err.Error())
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(data)
}

// may answers 403, as for an integration, when a permission is missing.
func (s *Server) may(w http.ResponseWriter, what, need string) bool {
	have := s.May[what]
	if have == "write" || have == "read" && need == "read" {
		return true
	}
	fail(w, http.StatusForbidden, "Resource not accessible by integration")
	return false
}

func (s *Server) routes() {
	s.mux = http.NewServeMux()
	base := "/repos/{owner}/{repo}"
	route := func(pattern string, h func(http.ResponseWriter, *http.Request)) {
		s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if r.PathValue("owner") != s.Repo.Owner || r.PathValue("repo") != s.Repo.Name {
				fail(w, http.StatusNotFound, "Not Found")
				return
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			h(w, r)
		})
	}
	route("GET "+base, s.getRepo)
	route("GET "+base+"/branches/{branch}", s.getBranch)
	route("GET "+base+"/pulls/{number}", s.getPull)
	route("GET "+base+"/git/commits/{sha}", s.getCommit)
	route("GET "+base+"/git/trees/{sha}", s.getTree)
	route("GET "+base+"/git/blobs/{sha}", s.getBlob)
	route("GET "+base+"/git/ref/{ref...}", s.getRef)
	route("GET "+base+"/actions/runs/{id}", s.getRun)
	route("GET "+base+"/commits/{ref}/check-runs", s.listChecks)
	route("POST "+base+"/check-runs", s.createCheck)
	route("GET "+base+"/check-runs/{id}", s.getCheck)
	route("PATCH "+base+"/check-runs/{id}", s.updateCheck)
	route("GET "+base+"/check-runs/{id}/annotations", s.listAnnotations)
	// Both of /issues/1/comments and /issues/comments/1 fit one pattern.
	s.mux.HandleFunc(base+"/issues/{a}/{b}", func(w http.ResponseWriter, r *http.Request) {
		h := s.issue(r)
		if h == nil {
			s.unmatched(w, r)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		h(w, r)
	})
	s.mux.HandleFunc("/", s.unmatched)
}

func (s *Server) unmatched(w http.ResponseWriter, r *http.Request) {
	s.t.Errorf("ghtest: unmatched request %s %s", r.Method, r.URL)
	fail(w, http.StatusNotFound, "Not Found")
}

// issue finds what answers for comments.
func (s *Server) issue(r *http.Request) http.HandlerFunc {
	if r.PathValue("a") == "comments" {
		r.SetPathValue("id", r.PathValue("b"))
		switch r.Method {
		case http.MethodGet:
			return s.getComment
		case http.MethodPatch:
			return s.updateComment
		case http.MethodDelete:
			return s.deleteComment
		}
		return nil
	}
	r.SetPathValue("number", r.PathValue("a"))
	switch {
	case r.PathValue("b") != "comments":
	case r.Method == http.MethodGet:
		return s.listComments
	case r.Method == http.MethodPost:
		return s.createComment
	}
	return nil
}

// decode reads a request's JSON strictly: a field the double does not know fails
// the test, one of the wrong type is a 422.
func (s *Server) decode(w http.ResponseWriter, r *http.Request, v any) bool {
	dec := json.NewDecoder(r.Body)
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		if strings.Contains(err.Error(), "unknown field") {
			s.t.Errorf("ghtest: %s %s: %v", r.Method, r.URL.Path, err)
		}
		fail(w, http.StatusUnprocessableEntity, "Invalid request.", err.Error())
		return false
	}
	return true
}
