package ghtest

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

func (s *Server) api() string { return s.URL + "/repos/" + s.Repo.FullName() }
func (s *Server) web() string { return "https://github.com/" + s.Repo.FullName() }

func (s *Server) getRepo(w http.ResponseWriter, r *http.Request) {
	reply(w, http.StatusOK, s.repoJSON(s.Repo.ID, s.Repo.Owner))
}

func (s *Server) getBranch(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("branch")
	sha, ok := s.db.branches[name]
	if !s.may(w, "contents", "read") {
		return
	}
	if !ok {
		fail(w, http.StatusNotFound, "Branch not found")
		return
	}
	person := map[string]any{"name": "A", "email": "a@example.org", "date": stamp(s.Now())}
	c := s.db.commits[sha]
	reply(w, http.StatusOK, map[string]any{
		"name": name, "protected": false, "protection": map[string]any{}, "protection_url": s.api() + "/branches/" + name + "/protection",
		"_links": map[string]any{"html": s.web() + "/tree/" + name, "self": s.api() + "/branches/" + name},
		"commit": map[string]any{
			"sha": sha, "node_id": "C_" + sha, "url": s.api() + "/commits/" + sha, "html_url": s.web() + "/commit/" + sha, "comments_url": s.api() + "/commits/" + sha + "/comments",
			"author": nil, "committer": nil, "parents": s.parentsJSON(c.parents),
			"commit": map[string]any{
				"url": s.api() + "/git/commits/" + sha, "author": person, "committer": person, "message": "x", "comment_count": 0,
				"tree": map[string]any{"sha": c.tree, "url": s.api() + "/git/trees/" + c.tree},
			},
		},
	})
}

func (s *Server) parentsJSON(parents []string) []any {
	out := []any{}
	for _, p := range parents {
		out = append(out, map[string]any{"sha": p, "url": s.api() + "/git/commits/" + p, "html_url": s.web() + "/commit/" + p})
	}
	return out
}

func (s *Server) getCommit(w http.ResponseWriter, r *http.Request) {
	sha := r.PathValue("sha")
	c, ok := s.db.commits[sha]
	if !s.may(w, "contents", "read") {
		return
	}
	if !ok {
		fail(w, http.StatusNotFound, "Not Found")
		return
	}
	person := map[string]any{"name": "A", "email": "a@example.org", "date": stamp(s.Now())}
	reply(w, http.StatusOK, map[string]any{
		"sha": sha, "node_id": "C_" + sha, "url": s.api() + "/git/commits/" + sha, "html_url": s.web() + "/commit/" + sha, "message": "x",
		"author": person, "committer": person, "tree": map[string]any{"sha": c.tree, "url": s.api() + "/git/trees/" + c.tree}, "parents": s.parentsJSON(c.parents),
		"verification": map[string]any{"verified": false, "reason": "unsigned", "signature": nil, "payload": nil, "verified_at": nil},
	})
}

func (s *Server) getTree(w http.ResponseWriter, r *http.Request) {
	sha := r.PathValue("sha")
	tree, ok := s.db.trees[sha]
	if c, is := s.db.commits[sha]; is {
		sha, ok = c.tree, true
		tree = s.db.trees[sha]
	}
	if !s.may(w, "contents", "read") {
		return
	}
	if !ok {
		fail(w, http.StatusNotFound, "Not Found")
		return
	}
	var paths []string
	for p := range tree {
		if r.URL.Query().Get("recursive") != "" || !strings.Contains(p, "/") {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	list := []any{}
	for _, p := range paths {
		e := tree[p]
		mode := e.mode
		if mode == "40000" {
			mode = "040000"
		}
		item := map[string]any{"path": p, "mode": mode, "type": e.kind, "sha": e.sha, "url": s.api() + "/git/" + e.kind + "s/" + e.sha}
		if e.kind == "blob" {
			item["size"] = len(s.db.blobs[e.sha])
		}
		list = append(list, item)
	}
	reply(w, http.StatusOK, map[string]any{"sha": sha, "url": s.api() + "/git/trees/" + sha, "tree": list, "truncated": false})
}

func (s *Server) getBlob(w http.ResponseWriter, r *http.Request) {
	sha := r.PathValue("sha")
	data, ok := s.db.blobs[sha]
	if !s.may(w, "contents", "read") {
		return
	}
	if !ok {
		fail(w, http.StatusNotFound, "Not Found")
		return
	}
	reply(w, http.StatusOK, map[string]any{"sha": sha, "node_id": "B_" + sha, "size": len(data), "url": s.api() + "/git/blobs/" + sha, "content": wrapped(data), "encoding": "base64"})
}

// wrapped is base64 in lines of 60, as the service writes it.
func wrapped(data []byte) string {
	var b strings.Builder
	for line := range slices.Chunk([]byte(base64.StdEncoding.EncodeToString(data)), 60) {
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.String()
}

func (s *Server) getRef(w http.ResponseWriter, r *http.Request) {
	ref := r.PathValue("ref")
	sha, ok := s.db.branches[strings.TrimPrefix(ref, "heads/")]
	if !s.may(w, "contents", "read") {
		return
	}
	if !ok || !strings.HasPrefix(ref, "heads/") {
		fail(w, http.StatusNotFound, "Not Found")
		return
	}
	reply(w, http.StatusOK, map[string]any{
		"ref": "refs/" + ref, "node_id": "R_x", "url": s.api() + "/git/refs/" + ref,
		"object": map[string]any{"type": "commit", "sha": sha, "url": s.api() + "/git/commits/" + sha},
	})
}

func (s *Server) getPull(w http.ResponseWriter, r *http.Request) {
	p, ok := s.db.pulls[int(number(r, "number"))]
	if !s.may(w, "pull_requests", "read") {
		return
	}
	if !ok {
		fail(w, http.StatusNotFound, "Not Found")
		return
	}
	reply(w, http.StatusOK, s.pullJSON(p))
}

func (s *Server) getRun(w http.ResponseWriter, r *http.Request) {
	run, ok := s.db.runs[number(r, "id")]
	if !s.may(w, "actions", "read") {
		return
	}
	if !ok {
		fail(w, http.StatusNotFound, "Not Found")
		return
	}
	id := strconv.FormatInt(run.ID, 10)
	u := s.api() + "/actions/runs/" + id
	reply(w, http.StatusOK, map[string]any{
		"id": run.ID, "node_id": "WR_" + id, "head_branch": "main", "head_sha": run.HeadSHA, "run_number": 1, "run_attempt": run.Attempt, "display_title": "x",
		"event": run.Event, "path": run.Path, "status": "in_progress", "conclusion": nil, "workflow_id": 1, "url": u, "html_url": s.web() + "/actions/runs/" + id,
		"created_at": stamp(s.Now()), "updated_at": stamp(s.Now()), "pull_requests": []any{}, "head_commit": nil,
		"jobs_url": u + "/jobs", "logs_url": u + "/logs", "check_suite_url": s.api() + "/check-suites/5", "cancel_url": u + "/cancel", "rerun_url": u + "/rerun",
		"artifacts_url": u + "/artifacts", "workflow_url": s.api() + "/actions/workflows/1", "repository": s.repoJSON(s.Repo.ID, s.Repo.Owner), "head_repository": s.repoJSON(s.Repo.ID, s.Repo.Owner),
	})
}
