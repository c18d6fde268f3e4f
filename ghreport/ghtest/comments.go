package ghtest

import (
	"net/http"
	"strconv"
	"strings"
)

func (s *Server) listComments(w http.ResponseWriter, r *http.Request) {
	if !s.may(w, "pull_requests", "read") {
		return
	}
	pull := int(number(r, "number"))
	if _, ok := s.db.pulls[pull]; !ok {
		fail(w, http.StatusNotFound, "Not Found")
		return
	}
	var all []*Comment
	for _, c := range s.db.comments {
		if c.Pull == pull {
			all = append(all, c)
		}
	}
	from, to := page(w, r, len(all))
	list := []any{}
	for _, c := range all[from:to] {
		list = append(list, s.commentJSON(c))
	}
	reply(w, http.StatusOK, list)
}

// body reads and checks a comment's text.
func (s *Server) body(w http.ResponseWriter, r *http.Request) (string, bool) {
	var in struct {
		Body *string `json:"body"`
	}
	if !s.decode(w, r, &in) {
		return "", false
	}
	if in.Body == nil || strings.TrimSpace(*in.Body) == "" {
		fail(w, http.StatusUnprocessableEntity, "Validation Failed", "body can't be blank")
		return "", false
	}
	if len(*in.Body) > s.MaxComment {
		fail(w, http.StatusUnprocessableEntity, "Validation Failed", "body is too long (maximum is 65536 characters)")
		return "", false
	}
	return *in.Body, true
}

func (s *Server) createComment(w http.ResponseWriter, r *http.Request) {
	if !s.may(w, "pull_requests", "write") {
		return
	}
	pull := int(number(r, "number"))
	if _, ok := s.db.pulls[pull]; !ok {
		fail(w, http.StatusNotFound, "Not Found")
		return
	}
	body, ok := s.body(w, r)
	if !ok {
		return
	}
	c := &Comment{ID: s.db.next(), Pull: pull, Author: s.App + "[bot]", Body: body}
	s.db.comments = append(s.db.comments, c)
	reply(w, http.StatusCreated, s.commentJSON(c))
}

func (s *Server) getComment(w http.ResponseWriter, r *http.Request) {
	if !s.may(w, "pull_requests", "read") {
		return
	}
	if c := s.db.comment(number(r, "id")); c != nil {
		reply(w, http.StatusOK, s.commentJSON(c))
		return
	}
	fail(w, http.StatusNotFound, "Not Found")
}

func (s *Server) updateComment(w http.ResponseWriter, r *http.Request) {
	if !s.may(w, "pull_requests", "write") {
		return
	}
	c := s.db.comment(number(r, "id"))
	if c == nil {
		fail(w, http.StatusNotFound, "Not Found")
		return
	}
	body, ok := s.body(w, r)
	if !ok {
		return
	}
	c.Body = body
	c.Edits++
	reply(w, http.StatusOK, s.commentJSON(c))
}

func (s *Server) deleteComment(w http.ResponseWriter, r *http.Request) {
	if !s.may(w, "pull_requests", "write") {
		return
	}
	id := number(r, "id")
	for i, c := range s.db.comments {
		if c.ID == id {
			s.db.comments = append(s.db.comments[:i:i], s.db.comments[i+1:]...)
			w.WriteHeader(http.StatusNoContent)
			return
		}
	}
	fail(w, http.StatusNotFound, "Not Found")
}

func (s *Server) commentJSON(c *Comment) map[string]any {
	id := strconv.FormatInt(c.ID, 10)
	return map[string]any{
		"id": c.ID, "node_id": "IC_" + id, "body": c.Body, "user": s.userJSON(c.Author),
		"url": s.api() + "/issues/comments/" + id, "issue_url": s.api() + "/issues/" + strconv.Itoa(c.Pull),
		"html_url":   s.web() + "/pull/" + strconv.Itoa(c.Pull) + "#issuecomment-" + id,
		"created_at": stamp(s.Now()), "updated_at": stamp(s.Now()), "author_association": "NONE",
	}
}
