package ghreport

import (
	"context"
	"crypto/sha1" //nolint:gosec // a git object's name, not a signature
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/go-github/v62/github"

	"github.com/gatesworn/gatesworn/internal/lazyregexp"
)

// Repository is what the API says about the repository now.
type Repository struct {
	ID            int64
	FullName      string // owner/name as the service spells it, after renames
	DefaultBranch string
	Private       bool
}

// Pull is what the API says about a pull request now.
type Pull struct {
	Number           int
	State            string // open, closed
	Merged           bool
	HeadSHA, HeadRef string
	BaseSHA, BaseRef string
	HeadRepoID       int64 // 0 when the fork is gone
	BaseRepoID       int64
	MergeCommitSHA   string // of the test merge, or ""
	Author           string
}

// Fork reports whether the head is not in the base's repository. A head whose
// repository is gone counts as a fork.
func (p Pull) Fork() bool { return p.HeadRepoID == 0 || p.HeadRepoID != p.BaseRepoID }

// Branch is a branch's tip.
type Branch struct{ Name, Commit, Tree string }

// Commit is a commit's place in history.
type Commit struct {
	SHA, Tree string
	Parents   []string
}

// TreeEntry is a path of a recursive listing.
type TreeEntry struct {
	Path string
	Mode string // 100644, 100755, 120000, 160000, 040000
	Type string // blob, tree, commit
	SHA  string
	Size int // of a blob
}

// Repository asks for the repository: one read.
func (c *Client) Repository(ctx context.Context) (Repository, error) {
	var r github.Repository
	if _, err := c.get(ctx, "", &r); err != nil {
		return Repository{}, err
	}
	return Repository{ID: r.GetID(), FullName: r.GetFullName(), DefaultBranch: r.GetDefaultBranch(), Private: r.GetPrivate()}, nil
}

// Pull asks for a pull request: one read.
func (c *Client) Pull(ctx context.Context, number int) (Pull, error) {
	var p github.PullRequest
	if _, err := c.get(ctx, "/pulls/"+strconv.Itoa(number), &p); err != nil {
		return Pull{}, err
	}
	return Pull{
		Number: p.GetNumber(), State: p.GetState(), Merged: p.GetMerged(),
		HeadSHA: p.GetHead().GetSHA(), HeadRef: p.GetHead().GetRef(), BaseSHA: p.GetBase().GetSHA(), BaseRef: p.GetBase().GetRef(),
		HeadRepoID: p.GetHead().GetRepo().GetID(), BaseRepoID: p.GetBase().GetRepo().GetID(),
		MergeCommitSHA: p.GetMergeCommitSHA(), Author: p.GetUser().GetLogin(),
	}, nil
}

// Branch asks for a branch's tip and its tree: one read.
func (c *Client) Branch(ctx context.Context, name string) (Branch, error) {
	var b github.Branch
	if _, err := c.get(ctx, "/branches/"+url.PathEscape(name), &b); err != nil {
		return Branch{}, err
	}
	out := Branch{Name: b.GetName(), Commit: b.GetCommit().GetSHA(), Tree: b.GetCommit().GetCommit().GetTree().GetSHA()}
	if out.Name != name || !objectName.MatchString(out.Commit) || !objectName.MatchString(out.Tree) {
		return Branch{}, fmt.Errorf("%w: branch %q", errAnswer, name)
	}
	return out, nil
}

var objectName = lazyregexp.New(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// Commit asks for a commit's tree and parents: one read.
func (c *Client) Commit(ctx context.Context, sha string) (Commit, error) {
	if !objectName.MatchString(sha) {
		return Commit{}, fmt.Errorf("commit %q is not a full object name", sha)
	}
	var m github.Commit
	if _, err := c.get(ctx, "/git/commits/"+sha, &m); err != nil {
		return Commit{}, err
	}
	out := Commit{SHA: m.GetSHA(), Tree: m.GetTree().GetSHA()}
	for _, p := range m.Parents {
		out.Parents = append(out.Parents, p.GetSHA())
	}
	if out.SHA != sha || !objectName.MatchString(out.Tree) {
		return Commit{}, fmt.Errorf("%w: commit %s", errAnswer, sha)
	}
	return out, nil
}

// Tree lists a tree with everything beneath: one read. A listing that the service
// cut short is an error, never a part.
func (c *Client) Tree(ctx context.Context, sha string) ([]TreeEntry, error) {
	if !objectName.MatchString(sha) {
		return nil, fmt.Errorf("tree %q is not a full object name", sha)
	}
	var t github.Tree
	if _, err := c.get(ctx, "/git/trees/"+sha+"?recursive=1", &t); err != nil {
		return nil, err
	}
	if t.GetTruncated() || t.GetSHA() != sha {
		return nil, fmt.Errorf("%w: the tree %s is too large for one listing", errAnswer, sha)
	}
	out := make([]TreeEntry, 0, len(t.Entries))
	for _, e := range t.Entries {
		out = append(out, TreeEntry{Path: e.GetPath(), Mode: e.GetMode(), Type: e.GetType(), SHA: e.GetSHA(), Size: e.GetSize()})
	}
	return out, nil
}

// Blob reads a blob: one read. Bytes that do not hash to its name are an error.
func (c *Client) Blob(ctx context.Context, sha string) ([]byte, error) {
	if !objectName.MatchString(sha) {
		return nil, fmt.Errorf("blob %q is not a full object name", sha)
	}
	var b github.Blob
	if _, err := c.get(ctx, "/git/blobs/"+sha, &b); err != nil {
		return nil, err
	}
	data := []byte(b.GetContent())
	if b.GetEncoding() == "base64" {
		var err error
		if data, err = base64.StdEncoding.DecodeString(strings.ReplaceAll(b.GetContent(), "\n", "")); err != nil {
			return nil, fmt.Errorf("%w: blob %s", errAnswer, sha)
		}
	}
	if BlobName(data, len(sha)) != sha {
		return nil, fmt.Errorf("%w: blob %s has other bytes than its name says", errAnswer, sha)
	}
	return data, nil
}

// BlobName is git's name for a blob, in 40 or 64 hex digits.
func BlobName(data []byte, digits int) string {
	var h hash.Hash = sha1.New() //nolint:gosec // see the import
	if digits == 64 {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", len(data))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}

// WorkflowRun is a run of a workflow, which a fork cannot forge.
type WorkflowRun struct {
	ID      int64
	Attempt int
	Event   string // pull_request, push, …
	Path    string // .github/workflows/….yml
	HeadSHA string
	Status  string
}

// WorkflowRun asks for a run: one read. It needs actions: read unless the
// repository is public.
func (c *Client) WorkflowRun(ctx context.Context, id int64) (WorkflowRun, error) {
	var r struct {
		ID         int64  `json:"id"`
		RunAttempt int    `json:"run_attempt"`
		Event      string `json:"event"`
		Path       string `json:"path"`
		HeadSHA    string `json:"head_sha"`
		Status     string `json:"status"`
	}
	if _, err := c.get(ctx, "/actions/runs/"+strconv.FormatInt(id, 10), &r); err != nil {
		return WorkflowRun{}, err
	}
	return WorkflowRun{ID: r.ID, Attempt: r.RunAttempt, Event: r.Event, Path: r.Path, HeadSHA: r.HeadSHA, Status: r.Status}, nil
}

// PermissionError reports whether err means that the token may not do what was
// asked, or that the thing is not visible to it: GitHub does not tell these apart.
func PermissionError(err error) bool { return Classify(err) == Denied }
