package ghtest

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Repo is the one repository.
type Repo struct {
	ID            int64
	Owner, Name   string
	DefaultBranch string
	Private       bool
}

// FullName is owner/name.
func (r Repo) FullName() string { return r.Owner + "/" + r.Name }

// File is a blob of a tree. An empty Mode is 100644.
type File struct {
	Mode string
	Data string
}

// Pull is a pull request. HeadRepo 0 means the repository itself, -1 a fork that is gone.
type Pull struct {
	Number           int
	State            string // "" is open
	HeadSHA, HeadRef string
	BaseRef          string
	MergeCommit      string
	HeadRepo         int64
	Author           string
}

// CheckRun is the model's check run.
type CheckRun struct {
	ID                                                      int64
	Name, HeadSHA, ExternalID, DetailsURL, Status, App      string
	Conclusion, Title, Summary, Text, StartedAt, FinishedAt string
	Annotations                                             []Annotation
}

// Annotation is the model's annotation.
type Annotation struct {
	Path, Level, Title, Message, RawDetails string
	StartLine, EndLine                      int
}

// Comment is the model's comment.
type Comment struct {
	ID           int64
	Pull         int
	Author, Body string
	Edits        int
}

// Run is the model's workflow run.
type Run struct {
	ID                   int64
	Attempt              int
	Event, Path, HeadSHA string
}

type commit struct {
	tree    string
	parents []string
}

type entry struct{ mode, kind, sha string }

type store struct {
	blobs    map[string][]byte
	trees    map[string]map[string]entry // full listing of a tree, by path
	commits  map[string]commit
	branches map[string]string
	pulls    map[int]Pull
	checks   []*CheckRun
	comments []*Comment
	runs     map[int64]Run
	id       int64
}

func (d *store) init() {
	*d = store{blobs: map[string][]byte{}, trees: map[string]map[string]entry{}, commits: map[string]commit{}, branches: map[string]string{}, pulls: map[int]Pull{}, runs: map[int64]Run{}, id: 1000}
}

func (d *store) next() int64 { d.id++; return d.id }

func object(kind string, data []byte) string {
	h := sha1.New()
	fmt.Fprintf(h, "%s %d\x00", kind, len(data))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}

// Commit adds a commit with exactly those files, as real git objects, and returns
// its name.
func (s *Server) Commit(files map[string]File, parents ...string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	tree := s.db.tree(files)
	var b strings.Builder
	b.WriteString("tree " + tree + "\n")
	for _, p := range parents {
		b.WriteString("parent " + p + "\n")
	}
	b.WriteString("author A <a@example.org> 1790000000 +0000\ncommitter A <a@example.org> 1790000000 +0000\n\nx\n")
	sha := object("commit", []byte(b.String()))
	s.db.commits[sha] = commit{tree, append([]string(nil), parents...)}
	return sha
}

// tree stores files as blobs and trees and returns the top tree's name.
func (d *store) tree(files map[string]File) string {
	type dir map[string]any
	top := dir{}
	for path, f := range files {
		at, parts := top, strings.Split(path, "/")
		for _, p := range parts[:len(parts)-1] {
			next, ok := at[p].(dir)
			if !ok {
				next = dir{}
				at[p] = next
			}
			at = next
		}
		at[parts[len(parts)-1]] = f
	}
	var write func(dir) (string, map[string]entry)
	write = func(at dir) (string, map[string]entry) {
		all := map[string]entry{}
		var names []string
		for n := range at {
			names = append(names, n)
		}
		key := func(n string) string {
			if _, ok := at[n].(dir); ok {
				return n + "/"
			}
			return n
		}
		sort.Slice(names, func(i, j int) bool { return key(names[i]) < key(names[j]) })
		var b bytes.Buffer
		for _, n := range names {
			e := entry{mode: "40000", kind: "tree"}
			switch v := at[n].(type) {
			case dir:
				sha, below := write(v)
				e.sha = sha
				for p, x := range below {
					all[n+"/"+p] = x
				}
			case File:
				e = entry{mode: v.Mode, kind: "blob", sha: object("blob", []byte(v.Data))}
				if e.mode == "" {
					e.mode = "100644"
				}
				d.blobs[e.sha] = []byte(v.Data)
			}
			raw, _ := hex.DecodeString(e.sha)
			fmt.Fprintf(&b, "%s %s\x00%s", e.mode, n, raw)
			all[n] = e
		}
		sha := object("tree", b.Bytes())
		d.trees[sha] = all
		return sha, all
	}
	sha, _ := write(top)
	return sha
}

// Branch points a branch at a commit.
func (s *Server) Branch(name, sha string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.db.branches[name] = sha
}

// Pull adds or replaces a pull request.
func (s *Server) Pull(p Pull) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.db.pulls[p.Number] = p
}

// Run adds or replaces a workflow run.
func (s *Server) Run(r Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.db.runs[r.ID] = r
}

// AddComment posts a comment as somebody and returns its id.
func (s *Server) AddComment(pull int, author, body string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &Comment{ID: s.db.next(), Pull: pull, Author: author, Body: body}
	s.db.comments = append(s.db.comments, c)
	return c.ID
}

// EditComment changes a comment behind everybody's back.
func (s *Server) EditComment(id int64, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.db.comment(id); c != nil {
		c.Body = body
	}
}

// AddCheck adds a check run as it is and returns its id.
func (s *Server) AddCheck(c CheckRun) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.ID = s.db.next()
	if c.App == "" {
		c.App = s.App
	}
	s.db.checks = append(s.db.checks, &c)
	return c.ID
}

// Checks returns all check runs, oldest first.
func (s *Server) Checks() []CheckRun {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []CheckRun
	for _, c := range s.db.checks {
		out = append(out, *c)
	}
	return out
}

// Comments returns a pull request's comments, oldest first.
func (s *Server) Comments(pull int) []Comment {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Comment
	for _, c := range s.db.comments {
		if c.Pull == pull {
			out = append(out, *c)
		}
	}
	return out
}

func (d *store) comment(id int64) *Comment {
	for _, c := range d.comments {
		if c.ID == id {
			return c
		}
	}
	return nil
}

func (d *store) check(id int64) *CheckRun {
	for _, c := range d.checks {
		if c.ID == id {
			return c
		}
	}
	return nil
}

func number(r *http.Request, name string) int64 {
	n, _ := strconv.ParseInt(r.PathValue(name), 10, 64)
	return n
}

func peek(r *http.Request) string {
	data, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(data))
	return string(data)
}

// page cuts a list of n as per_page and page say and sets the Link header; it
// returns the bounds.
func page(w http.ResponseWriter, r *http.Request, n int) (int, int) {
	q := r.URL.Query()
	per, err := strconv.Atoi(q.Get("per_page"))
	if err != nil || per < 1 {
		per = 30
	}
	per = min(per, 100)
	at, err := strconv.Atoi(q.Get("page"))
	if err != nil || at < 1 {
		at = 1
	}
	last := max((n+per-1)/per, 1)
	var links []string
	link := func(p int, rel string) {
		u := url.URL{Scheme: "http", Host: r.Host, Path: r.URL.Path}
		q.Set("page", strconv.Itoa(p))
		u.RawQuery = q.Encode()
		links = append(links, fmt.Sprintf("<%s>; rel=%q", u.String(), rel))
	}
	if at > 1 {
		link(at-1, "prev")
	}
	if at < last {
		link(at+1, "next")
		link(last, "last")
	}
	if len(links) > 0 {
		w.Header().Set("Link", strings.Join(links, ", "))
	}
	return min((at-1)*per, n), min(at*per, n)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
