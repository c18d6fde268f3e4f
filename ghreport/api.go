package ghreport

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/google/go-github/v62/github"

	"github.com/gatesworn/gatesworn/ghreport/markdown"
)

// Checks is what publishing a check run asks of the API.
type Checks interface {
	// CheckRuns lists every check run of that name on a commit, all attempts, all pages.
	CheckRuns(ctx context.Context, sha, name string) ([]CheckRun, error)
	// CreateCheckRun creates one on w.HeadSHA.
	CreateCheckRun(ctx context.Context, w CheckWrite) (CheckRun, error)
	// UpdateCheckRun changes what w sets. Its annotations are added to those there.
	UpdateCheckRun(ctx context.Context, id int64, w CheckWrite) (CheckRun, error)
}

// Comments is what keeping one sticky comment asks of the API.
type Comments interface {
	// Head returns the commit a pull request ends in now.
	Head(ctx context.Context, pull int) (string, error)
	// List returns every comment of a pull request, all pages, oldest first.
	List(ctx context.Context, pull int) ([]Comment, error)
	Create(ctx context.Context, pull int, body string) (Comment, error)
	Update(ctx context.Context, id int64, body string) (Comment, error)
	Delete(ctx context.Context, id int64) error
}

// CheckRun is a check run as the API shows it.
type CheckRun struct {
	ID          int64
	HeadSHA     string
	ExternalID  string
	Status      string // queued, in_progress, completed
	Conclusion  string
	URL         string // for people
	App         string // slug of the app that made it
	Annotations int    // how many it has
}

// CheckWrite is what to set. An empty Status or Conclusion is not sent; Output is
// sent if its Title is set.
type CheckWrite struct {
	Name, HeadSHA, ExternalID, DetailsURL string
	Status, Conclusion                    string
	StartedAt, CompletedAt                time.Time
	Output                                markdown.CheckRun // at most MaxAnnotations annotations
}

// MaxAnnotations is how many annotations one call may carry (REST description,
// check run "output.annotations").
const MaxAnnotations = 50

// Comment is a comment of a pull request.
type Comment struct {
	ID     int64
	Body   string
	Author string // login
	URL    string // for people
}

// CheckRuns implements Checks.
func (c *Client) CheckRuns(ctx context.Context, sha, name string) ([]CheckRun, error) {
	var out []CheckRun
	q := url.Values{"check_name": {name}, "filter": {"all"}, "per_page": {"100"}}
	first := "repos/" + c.owner + "/" + c.repo + "/commits/" + url.PathEscape(sha) + "/check-runs?" + q.Encode()
	err := c.pages(first, func(path string) (*github.Response, error) {
		var page github.ListCheckRunsResults
		resp, err := c.do(ctx, http.MethodGet, path, nil, &page)
		for _, r := range page.CheckRuns {
			if r.GetName() == name {
				out = append(out, showRun(r))
			}
		}
		return resp, err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func showRun(r *github.CheckRun) CheckRun {
	return CheckRun{
		ID: r.GetID(), HeadSHA: r.GetHeadSHA(), ExternalID: r.GetExternalID(), Status: r.GetStatus(), Conclusion: r.GetConclusion(),
		URL: r.GetHTMLURL(), App: r.GetApp().GetSlug(), Annotations: r.GetOutput().GetAnnotationsCount(),
	}
}

// CreateCheckRun implements Checks.
func (c *Client) CreateCheckRun(ctx context.Context, w CheckWrite) (CheckRun, error) {
	r, _, err := c.gh.Checks.CreateCheckRun(ctx, c.owner, c.repo, github.CreateCheckRunOptions{
		Name: w.Name, HeadSHA: w.HeadSHA, DetailsURL: text(w.DetailsURL), ExternalID: text(w.ExternalID),
		Status: text(w.Status), Conclusion: text(w.Conclusion), StartedAt: stamp(w.StartedAt), CompletedAt: stamp(w.CompletedAt), Output: output(w.Output),
	})
	if err != nil {
		return CheckRun{}, err
	}
	return showRun(r), nil
}

// UpdateCheckRun implements Checks.
func (c *Client) UpdateCheckRun(ctx context.Context, id int64, w CheckWrite) (CheckRun, error) {
	r, _, err := c.gh.Checks.UpdateCheckRun(ctx, c.owner, c.repo, id, github.UpdateCheckRunOptions{
		Name: w.Name, DetailsURL: text(w.DetailsURL), ExternalID: text(w.ExternalID),
		Status: text(w.Status), Conclusion: text(w.Conclusion), CompletedAt: stamp(w.CompletedAt), Output: output(w.Output),
	})
	if err != nil {
		return CheckRun{}, err
	}
	return showRun(r), nil
}

func output(o markdown.CheckRun) *github.CheckRunOutput {
	if o.Title == "" {
		return nil
	}
	out := &github.CheckRunOutput{Title: &o.Title, Summary: &o.Summary, Text: text(o.Text)}
	for i := range o.Annotations {
		a := &o.Annotations[i]
		out.Annotations = append(out.Annotations, &github.CheckRunAnnotation{
			Path: &a.Path, StartLine: &a.Line, EndLine: &a.Line, AnnotationLevel: &a.Level,
			Message: &a.Message, Title: text(a.Title), RawDetails: text(a.RawDetails),
		})
	}
	return out
}

func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func stamp(t time.Time) *github.Timestamp {
	if t.IsZero() {
		return nil
	}
	return &github.Timestamp{Time: t.UTC().Truncate(time.Second)}
}

// Head implements Comments.
func (c *Client) Head(ctx context.Context, pull int) (string, error) {
	p, err := c.Pull(ctx, pull)
	return p.HeadSHA, err
}

// List implements Comments.
func (c *Client) List(ctx context.Context, pull int) ([]Comment, error) {
	var out []Comment
	first := "repos/" + c.owner + "/" + c.repo + "/issues/" + strconv.Itoa(pull) + "/comments?per_page=100"
	err := c.pages(first, func(path string) (*github.Response, error) {
		var page []*github.IssueComment
		resp, err := c.do(ctx, http.MethodGet, path, nil, &page)
		for _, m := range page {
			out = append(out, comment(m))
		}
		return resp, err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func comment(m *github.IssueComment) Comment {
	return Comment{ID: m.GetID(), Body: m.GetBody(), Author: m.GetUser().GetLogin(), URL: m.GetHTMLURL()}
}

// Create implements Comments.
func (c *Client) Create(ctx context.Context, pull int, body string) (Comment, error) {
	m, _, err := c.gh.Issues.CreateComment(ctx, c.owner, c.repo, pull, &github.IssueComment{Body: &body})
	if err != nil {
		return Comment{}, err
	}
	return comment(m), nil
}

// Update implements Comments.
func (c *Client) Update(ctx context.Context, id int64, body string) (Comment, error) {
	m, _, err := c.gh.Issues.EditComment(ctx, c.owner, c.repo, id, &github.IssueComment{Body: &body})
	if err != nil {
		return Comment{}, err
	}
	return comment(m), nil
}

// Delete implements Comments.
func (c *Client) Delete(ctx context.Context, id int64) error {
	_, err := c.gh.Issues.DeleteComment(ctx, c.owner, c.repo, id)
	return err
}
