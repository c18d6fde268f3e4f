package ghtest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"unicode/utf8"
)

// checkIn is what create and update take.
type checkIn struct {
	Name        *string    `json:"name"`
	HeadSHA     *string    `json:"head_sha"`
	DetailsURL  *string    `json:"details_url"`
	ExternalID  *string    `json:"external_id"`
	Status      *string    `json:"status"`
	Conclusion  *string    `json:"conclusion"`
	StartedAt   *string    `json:"started_at"`
	CompletedAt *string    `json:"completed_at"`
	Output      *outputIn  `json:"output"`
	Actions     []struct{} `json:"actions"`
}

type outputIn struct {
	Title       *string        `json:"title"`
	Summary     *string        `json:"summary"`
	Text        *string        `json:"text"`
	Annotations []annotationIn `json:"annotations"`
}

type annotationIn struct {
	Path      *string `json:"path"`
	StartLine *int    `json:"start_line"`
	EndLine   *int    `json:"end_line"`
	Level     *string `json:"annotation_level"`
	Message   *string `json:"message"`
	Title     *string `json:"title"`
	Raw       *string `json:"raw_details"`
}

func (s *Server) createCheck(w http.ResponseWriter, r *http.Request) {
	var in checkIn
	if !s.may(w, "checks", "write") || !s.decode(w, r, &in) {
		return
	}
	if in.Name == nil || in.HeadSHA == nil || *in.Name == "" {
		fail(w, http.StatusUnprocessableEntity, "Invalid request.", "name and head_sha are required")
		return
	}
	if _, ok := s.db.commits[*in.HeadSHA]; !ok {
		fail(w, http.StatusUnprocessableEntity, "No commit found for SHA: "+*in.HeadSHA)
		return
	}
	c := &CheckRun{Name: *in.Name, HeadSHA: *in.HeadSHA, Status: "queued", App: s.App, StartedAt: stamp(s.Now())}
	if !s.set(w, c, in) {
		return
	}
	c.ID = s.db.next()
	s.db.checks = append(s.db.checks, c)
	reply(w, http.StatusCreated, s.checkJSON(c))
}

func (s *Server) updateCheck(w http.ResponseWriter, r *http.Request) {
	var in checkIn
	if !s.may(w, "checks", "write") || !s.decode(w, r, &in) {
		return
	}
	c := s.db.check(number(r, "id"))
	switch {
	case c == nil:
		fail(w, http.StatusNotFound, "Not Found")
		return
	case c.App != s.App:
		fail(w, http.StatusForbidden, "Invalid app_id `1` - check run can only be modified by the GitHub App that created it.")
		return
	}
	changed := *c
	changed.Annotations = slices.Clone(c.Annotations)
	if s.set(w, &changed, in) {
		*c = changed
		reply(w, http.StatusOK, s.checkJSON(c))
	}
}

// set applies in to c, or answers 422 and leaves it half done.
func (s *Server) set(w http.ResponseWriter, c *CheckRun, in checkIn) bool {
	if bad := s.invalid(in); bad != "" {
		fail(w, http.StatusUnprocessableEntity, "Invalid request.", bad)
		return false
	}
	put := func(to *string, from *string) {
		if from != nil {
			*to = *from
		}
	}
	put(&c.Name, in.Name)
	put(&c.DetailsURL, in.DetailsURL)
	put(&c.ExternalID, in.ExternalID)
	put(&c.StartedAt, in.StartedAt)
	put(&c.FinishedAt, in.CompletedAt)
	put(&c.Status, in.Status)
	if c.Status != "completed" {
		c.Conclusion, c.FinishedAt = "", ""
	}
	if in.Conclusion != nil {
		c.Status, c.Conclusion = "completed", *in.Conclusion
		if c.FinishedAt == "" {
			c.FinishedAt = stamp(s.Now())
		}
	}
	if o := in.Output; o != nil {
		c.Title, c.Summary, c.Text = *o.Title, *o.Summary, ""
		put(&c.Text, o.Text)
		for _, a := range o.Annotations {
			n := Annotation{Path: *a.Path, StartLine: *a.StartLine, EndLine: *a.EndLine, Level: *a.Level, Message: *a.Message}
			put(&n.Title, a.Title)
			put(&n.RawDetails, a.Raw)
			c.Annotations = append(c.Annotations, n)
		}
	}
	return true
}

// invalid says what the service would refuse.
func (s *Server) invalid(in checkIn) string {
	statuses := []string{"queued", "in_progress", "completed"}
	conclusions := []string{"success", "failure", "neutral", "cancelled", "skipped", "timed_out", "action_required"}
	switch {
	case in.Status != nil && !slices.Contains(statuses, *in.Status):
		return "status " + *in.Status
	case in.Conclusion != nil && !slices.Contains(conclusions, *in.Conclusion):
		return "conclusion " + *in.Conclusion
	case in.Status != nil && *in.Status == "completed" && in.Conclusion == nil:
		return "completed without a conclusion"
	case in.Conclusion != nil && (*in.Conclusion == "neutral" || *in.Conclusion == "skipped"):
		s.t.Errorf("ghtest: conclusion %s satisfies a required check", *in.Conclusion)
	case in.Output == nil:
		return ""
	}
	o := in.Output
	if o == nil {
		return ""
	}
	switch {
	case o.Title == nil || o.Summary == nil:
		return "output needs title and summary"
	case len(*o.Summary) > s.MaxOutput, o.Text != nil && len(*o.Text) > s.MaxOutput:
		return fmt.Sprintf("Only %d characters are allowed", s.MaxOutput)
	case len(o.Annotations) > 50:
		return "No more than 50 annotations"
	}
	for i, a := range o.Annotations {
		if bad := badAnnotation(a); bad != "" {
			return fmt.Sprintf("annotation %d: %s", i, bad)
		}
	}
	return ""
}

func badAnnotation(a annotationIn) string {
	switch {
	case a.Path == nil || *a.Path == "" || a.Message == nil || *a.Message == "":
		return "path and message must not be null"
	case a.StartLine == nil || a.EndLine == nil || *a.StartLine < 1 || *a.EndLine < *a.StartLine:
		return "lines"
	case a.Level == nil || !slices.Contains([]string{"notice", "warning", "failure"}, *a.Level):
		return "level"
	case len(*a.Message) > 64<<10:
		return "message is too long"
	case a.Title != nil && utf8.RuneCountInString(*a.Title) > 255:
		return "title is too long"
	case a.Raw != nil && len(*a.Raw) > 64<<10:
		return "raw_details is too long"
	}
	for _, s := range []*string{a.Message, a.Title, a.Raw} {
		if s == nil {
			continue
		}
		for _, r := range *s {
			if r > 0xFFFF {
				return "a character above U+FFFF"
			}
		}
	}
	return ""
}

func (s *Server) getCheck(w http.ResponseWriter, r *http.Request) {
	if !s.may(w, "checks", "read") {
		return
	}
	c := s.db.check(number(r, "id"))
	if c == nil {
		fail(w, http.StatusNotFound, "Not Found")
		return
	}
	reply(w, http.StatusOK, s.checkJSON(c))
}

func (s *Server) listChecks(w http.ResponseWriter, r *http.Request) {
	if !s.may(w, "checks", "read") {
		return
	}
	q := r.URL.Query()
	ref := r.PathValue("ref")
	var all []*CheckRun
	for _, c := range slices.Backward(s.db.checks) { // newest first, as the service
		if c.HeadSHA != ref || q.Get("check_name") != "" && c.Name != q.Get("check_name") || q.Get("status") != "" && c.Status != q.Get("status") {
			continue
		}
		if q.Get("filter") != "all" && slices.ContainsFunc(all, func(o *CheckRun) bool { return o.Name == c.Name && o.App == c.App }) {
			continue
		}
		all = append(all, c)
	}
	from, to := page(w, r, len(all))
	list := []any{}
	for _, c := range all[from:to] {
		list = append(list, s.checkJSON(c))
	}
	reply(w, http.StatusOK, map[string]any{"total_count": len(all), "check_runs": list})
}

func (s *Server) listAnnotations(w http.ResponseWriter, r *http.Request) {
	if !s.may(w, "checks", "read") {
		return
	}
	c := s.db.check(number(r, "id"))
	if c == nil {
		fail(w, http.StatusNotFound, "Not Found")
		return
	}
	from, to := page(w, r, len(c.Annotations))
	list := []any{}
	for _, a := range c.Annotations[from:to] {
		list = append(list, map[string]any{
			"path": a.Path, "start_line": a.StartLine, "end_line": a.EndLine, "start_column": nil, "end_column": nil,
			"annotation_level": a.Level, "title": orNil(a.Title), "message": a.Message, "raw_details": orNil(a.RawDetails), "blob_href": s.web() + "/blob/" + c.HeadSHA + "/" + a.Path,
		})
	}
	reply(w, http.StatusOK, list)
}

func (s *Server) checkJSON(c *CheckRun) map[string]any {
	id := strconv.FormatInt(c.ID, 10)
	return map[string]any{
		"id": c.ID, "node_id": "CR_" + id, "head_sha": c.HeadSHA, "name": c.Name, "external_id": c.ExternalID,
		"url": s.api() + "/check-runs/" + id, "html_url": s.web() + "/runs/" + id, "details_url": orNil(first(c.DetailsURL, s.web()+"/runs/"+id)),
		"status": c.Status, "conclusion": orNil(c.Conclusion), "started_at": orNil(c.StartedAt), "completed_at": orNil(c.FinishedAt),
		"output": map[string]any{
			"title": orNil(c.Title), "summary": orNil(c.Summary), "text": orNil(c.Text),
			"annotations_count": len(c.Annotations), "annotations_url": s.api() + "/check-runs/" + id + "/annotations",
		},
		"check_suite": map[string]any{"id": 5}, "app": s.appJSON(c.App), "pull_requests": []any{},
	}
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func first(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
