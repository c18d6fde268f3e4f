package ghreport

import (
	"context"
	"slices"

	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/ghreport/markdown"
)

// defaultAuthor writes the comments of a workflow's own token.
const defaultAuthor = "github-actions[bot]"

// sticky is the one comment a pull request has from us.
type sticky struct {
	api    Comments
	checks Checks
	t      Target
	author string
	out    *Outcome
}

// keep creates, edits or leaves the comment, as the policy says.
func (s *sticky) keep(ctx context.Context, r *gates.Report) {
	if s.t.PullRequest == 0 || s.t.Comment == CommentNever || s.t.Comment == "" {
		return
	}
	head, err := s.api.Head(ctx, s.t.PullRequest)
	if err != nil {
		s.out.fault(SinkComment, "read the pull request", err)
		return
	}
	if head != s.t.HeadSHA {
		s.out.Comment = CommentSuperseded
		return
	}
	ours, err := s.ours(ctx)
	if err != nil {
		s.out.fault(SinkComment, "list the comments", err)
		return
	}
	body, m := s.render(r)
	if len(ours) == 0 {
		if s.t.Comment == CommentFailures && r.Conclusion == gates.Success {
			s.out.Comment = CommentNotNeeded
			return
		}
		s.create(ctx, body, m)
		return
	}
	s.dedupe(ctx, ours)
	s.edit(ctx, ours[0], body, m)
}

// render returns the whole body and its marker.
func (s *sticky) render(r *gates.Report) (string, marker) {
	visible := markdown.Comment(r, s.t.Place, markdown.MaxComment-maxMarker)
	still := s.t.Place
	still.Log = "" // differs from run to run
	m := marker{
		Name: named(s.t.CheckName), Head: s.t.HeadSHA, Run: s.t.RunID, Attempt: s.t.Attempt,
		Content: digest(markdown.Comment(r, still, markdown.MaxComment-maxMarker))[:32],
		States:  states(r), Sum: sum(visible),
	}
	return m.String() + visible, m
}

// ours lists our comments, oldest first. The author is part of what makes a
// comment ours: anybody can copy a marker.
func (s *sticky) ours(ctx context.Context) ([]Comment, error) {
	all, err := s.api.List(ctx, s.t.PullRequest)
	if err != nil {
		return nil, err
	}
	var out []Comment
	for _, c := range all {
		if m, _, ok := parseMarker(c.Body); ok && m.Name == named(s.t.CheckName) && c.Author == s.author {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b Comment) int { return int(a.ID - b.ID) })
	return out, nil
}

// dedupe deletes all but the oldest.
func (s *sticky) dedupe(ctx context.Context, ours []Comment) {
	for _, c := range ours[1:] {
		if err := s.api.Delete(ctx, c.ID); err != nil {
			s.out.fault(SinkComment, "delete a second comment", err)
			return
		}
	}
}

// create posts the comment, then looks whether another run did the same meanwhile.
// Both keep the older one.
func (s *sticky) create(ctx context.Context, body string, m marker) {
	c, err := s.api.Create(ctx, s.t.PullRequest, body)
	if err != nil && Classify(err) != Unavailable {
		s.out.fault(SinkComment, "post the comment", err)
		return
	}
	ours, lerr := s.ours(ctx)
	switch {
	case lerr != nil && err != nil:
		s.out.fault(SinkComment, "post the comment", err)
		return
	case len(ours) == 0 && err != nil:
		if c, err = s.api.Create(ctx, s.t.PullRequest, body); err != nil {
			s.out.fault(SinkComment, "post the comment", err)
			return
		}
	case len(ours) > 1:
		s.dedupe(ctx, ours)
		fallthrough
	case len(ours) == 1 && ours[0].ID != c.ID:
		if err == nil || ours[0].Body != body {
			s.edit(ctx, ours[0], body, m)
			return
		}
		c = ours[0]
	}
	s.done(CommentCreated, c)
}

// edit brings the comment up to date unless a newer run wrote it or there is
// nothing to say.
func (s *sticky) edit(ctx context.Context, c Comment, body string, m marker) {
	old, visible, _ := parseMarker(c.Body)
	intact := old.Sum == sum(visible)
	switch {
	case s.newer(ctx, old):
		s.done(CommentSuperseded, c)
		return
	case intact && old.Content == m.Content,
		intact && s.t.Comment == CommentChanges && old.States == m.States:
		s.done(CommentUnchanged, c)
		return
	}
	got, err := s.api.Update(ctx, c.ID, body)
	if Classify(err) == Unavailable { // the same body again does no harm
		got, err = s.api.Update(ctx, c.ID, body)
	}
	if err != nil {
		s.out.fault(SinkComment, "edit the comment", err)
		return
	}
	s.done(CommentUpdated, got)
}

// newer reports whether the marker is of a later run for the commit that is the
// head now. A marker is only text: the run must show in a check run that our app
// made, where the API lets us look.
func (s *sticky) newer(ctx context.Context, m marker) bool {
	theirs, mine := run{m.Run, m.Attempt}, run{s.t.RunID, s.t.Attempt}
	if m.Head != s.t.HeadSHA || !theirs.after(mine) {
		return false
	}
	there, err := s.checks.CheckRuns(ctx, s.t.HeadSHA, s.t.CheckName)
	if err != nil {
		return true
	}
	for _, r := range there {
		if _, ro, ok := parseExternalID(r.ExternalID); ok && ro == theirs {
			return true
		}
	}
	return false
}

func (s *sticky) done(how CommentDone, c Comment) {
	s.out.Comment, s.out.CommentURL = how, c.URL
}
