package ghtest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"time"
)

// Fault is something that goes wrong with calls of one kind.
type Fault struct {
	Method string // "" for any
	Path   string // part of the path, "" for any
	Body   string // part of the request's body, "" for any
	Skip   int    // let that many matching calls pass first
	Times  int    // 0 means always

	Status int         // answer with that status; 0 for a torn connection, or for the real answer when only Delay or Gate is set
	Header http.Header // on top of the usual ones
	Answer string      // body; "" for a message of the usual form
	After  bool        // the call takes effect, only its answer is lost or replaced
	Half   bool        // send half of the real answer, then close (implies After)
	Delay  time.Duration
	// Gate, if set, is waited for before anything is sent: slowness without a clock.
	Gate <-chan struct{}
}

// Break adds a fault. Faults are tried in the order in which they were added.
func (s *Server) Break(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.Half || f.slow() {
		f.After = true
	}
	if f.Times == 0 {
		f.Times = -1
	}
	s.fault = append(s.fault, &f)
}

// slow reports whether the fault only holds the real answer back.
func (f *Fault) slow() bool { return f.Status == 0 && !f.Half && (f.Delay > 0 || f.Gate != nil) }

// Mend removes all faults.
func (s *Server) Mend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = nil
}

// next takes the fault that r meets, or nil.
func (s *Server) next(r *http.Request) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	var body string
	for _, f := range s.fault {
		if f.Body != "" && body == "" {
			body = peek(r)
		}
		switch {
		case f.Times == 0, f.Method != "" && f.Method != r.Method, !strings.Contains(r.URL.Path, f.Path), !strings.Contains(body, f.Body):
			continue
		case f.Skip > 0:
			f.Skip--
			continue
		}
		if f.Times > 0 {
			f.Times--
		}
		return f
	}
	return nil
}

// play sends what the fault says; false when the real answer is to be sent.
func (f *Fault) play(w http.ResponseWriter, r *http.Request, rec *httptest.ResponseRecorder) bool {
	if f.Gate != nil {
		select {
		case <-f.Gate:
		case <-r.Context().Done():
			return true
		}
	}
	if f.Delay > 0 {
		select {
		case <-time.After(f.Delay):
		case <-r.Context().Done():
			return true
		}
	}
	switch {
	case f.slow():
		return false
	case f.Half:
		for k, v := range rec.Header() {
			w.Header()[k] = v
		}
		w.Header().Set("Content-Length", "1000000")
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes()[:rec.Body.Len()/2])
		_ = http.NewResponseController(w).Flush()
		tear(w)
	case f.Status == 0:
		tear(w)
	default:
		w.Header().Set("Date", rec.Header().Get("Date"))
		for k, v := range f.Header {
			w.Header()[http.CanonicalHeaderKey(k)] = v
		}
		if f.Answer != "" {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(f.Status)
			_, _ = w.Write([]byte(f.Answer))
			return true
		}
		fail(w, f.Status, http.StatusText(f.Status))
	}
	return true
}

// tear closes the connection without another byte.
func tear(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}
