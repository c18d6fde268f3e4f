package ghreport

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/ghreport/ghtest"
)

func TestCommentPolicies(t *testing.T) {
	t.Parallel()
	red, green := "realistic", "met"
	for _, tc := range []struct {
		policy CommentPolicy
		runs   []string // reports
		want   []CommentDone
	}{
		{CommentFailures, []string{green, red, red, green, green}, []CommentDone{CommentNotNeeded, CommentCreated, CommentUnchanged, CommentUpdated, CommentUnchanged}},
		{CommentChanges, []string{green, green, red, red}, []CommentDone{CommentCreated, CommentUnchanged, CommentUpdated, CommentUnchanged}},
		{CommentAlways, []string{green, green, red}, []CommentDone{CommentCreated, CommentUnchanged, CommentUpdated}},
		{CommentNever, []string{red, green}, []CommentDone{"", ""}},
		{"", []string{red}, []CommentDone{""}},
	} {
		w := newWorld(t)
		for i, name := range tc.runs {
			tg := w.target
			tg.Comment, tg.RunID = tc.policy, int64(200+i)
			tg.Place.Log = fmt.Sprint("https://github.com/octo/widgets/actions/runs/", tg.RunID)
			if out := w.publish(t, tg, w.load(t, name)); out.Comment != tc.want[i] || len(out.Faults) > 0 {
				t.Errorf("%s run %d (%s): %q, want %q; %v", tc.policy, i, name, out.Comment, tc.want[i], out.Faults)
			}
		}
	}
}

// With "changes", a run that measures the same states on a new head leaves the comment.
func TestCommentChangesIgnoresTheCommit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.target.Comment = CommentChanges
	w.publish(t, w.target, failing(2))
	next := w.target
	next.HeadSHA, next.RunID = w.Commit(map[string]ghtest.File{"x": {Data: "y"}}, w.head), 101
	w.Pull(ghtest.Pull{Number: 412, HeadSHA: next.HeadSHA})
	r := failing(2)
	r.Subject.HeadSHA = next.HeadSHA
	if out := w.publish(t, next, r); out.Comment != CommentUnchanged {
		t.Errorf("%+v", out)
	}
	next.RunID++
	next.Comment = CommentFailures
	if out := w.publish(t, next, r); out.Comment != CommentUpdated {
		t.Errorf("%+v", out)
	}
}

// Complaint B7.65: a busy request, ours first or far down, quoted, copied, edited.
func TestCommentIsFound(t *testing.T) {
	t.Parallel()
	for _, at := range []int{1, 101, 350} {
		w := newWorld(t)
		marked := marker{Name: named(DefaultCheckName), Head: w.head, Run: 1, Attempt: 1}.String() + "old"
		ours := int64(0)
		for i := 1; i <= 350; i++ {
			if i == at {
				ours = w.AddComment(412, "github-actions[bot]", marked)
				continue
			}
			w.AddComment(412, "octocat", fmt.Sprint("comment ", i))
		}
		w.AddComment(412, "mallory", marked)                                                                                // copied
		w.AddComment(412, "github-actions[bot]", "> "+marked+"\n\nquoted by another workflow")                              // quoted
		w.AddComment(412, "github-actions[bot]", marker{Name: named("another check"), Head: w.head, Run: 1}.String()+"old") // not this one
		w.AddComment(412, "github-actions[bot]", "<!-- gatesworn:6e6f74206a736f6e -->\nnot a marker")
		out := w.publish(t, w.target, failing(1))
		if out.Comment != CommentUpdated || !strings.HasSuffix(out.CommentURL, fmt.Sprint(ours)) {
			t.Errorf("at %d: %+v", at, out)
		}
		if n := len(w.Comments(412)); n != 354 {
			t.Errorf("at %d: %d comments", at, n)
		}
	}
}

// Somebody edits our comment: the visible text is never believed, and is rewritten.
func TestCommentEditedByAPerson(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.target.Comment = CommentChanges
	w.publish(t, w.target, failing(1))
	c := w.mine(t)
	line, _, _ := strings.Cut(c.Body, "\n")
	w.EditComment(c.ID, line+"\n### all met, merge it")
	next := w.target
	next.RunID++
	if out := w.publish(t, next, failing(1)); out.Comment != CommentUpdated {
		t.Errorf("%+v", out)
	}
	if strings.Contains(w.mine(t).Body, "merge it") {
		t.Error("the forged text is still there")
	}
}

func TestCommentOrder(t *testing.T) {
	t.Parallel()
	t.Run("the head moved on", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.Pull(ghtest.Pull{Number: 412, HeadSHA: strings.Repeat("b", 40)})
		if out := w.publish(t, w.target, failing(1)); out.Comment != CommentSuperseded || len(w.Comments(412)) != 0 {
			t.Errorf("%+v", out)
		}
	})
	t.Run("a newer run was here", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		newer := w.target
		newer.RunID = 500
		w.publish(t, newer, w.load(t, "met"))
		w.publish(t, newer, failing(3))
		if out := w.publish(t, w.target, failing(1)); out.Comment != CommentSuperseded {
			t.Errorf("%+v", out)
		}
		if !strings.Contains(w.mine(t).Body, "0 of 3 gates met") {
			t.Error("the older run overwrote the newer one")
		}
	})
	t.Run("a forged marker", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.AddComment(412, "github-actions[bot]", marker{Name: named(DefaultCheckName), Head: w.head, Run: 1 << 60, Attempt: 1}.String()+"forged")
		if out := w.publish(t, w.target, failing(1)); out.Comment != CommentUpdated {
			t.Errorf("a run that no check run confirms holds the comment: %+v", out)
		}
	})
	t.Run("an older head", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.AddComment(412, "github-actions[bot]", marker{Name: named(DefaultCheckName), Head: strings.Repeat("c", 40), Run: 9999, Attempt: 1}.String()+"old")
		if out := w.publish(t, w.target, failing(1)); out.Comment != CommentUpdated {
			t.Errorf("%+v", out)
		}
	})
}

// Two runs post at the same moment: both end with the older comment, in the newer
// run's words.
func TestCommentRace(t *testing.T) {
	t.Parallel()
	for _, order := range [][2]int64{{100, 101}, {101, 100}} {
		w := newWorld(t)
		first, second := w.target, w.target
		first.RunID, second.RunID = order[0], order[1]
		a, b := w.publisher(t, first), w.publisher(t, second)
		a.Begin(context.Background())
		b.Begin(context.Background())
		// b lists no comment, then a posts, then b posts.
		b.note.author = "github-actions[bot]"
		b.note.api = afterList{b.note.api, func() { a.Finish(context.Background(), report(order[0])) }}
		b.Finish(context.Background(), report(order[1]))
		if got := w.mine(t); !strings.Contains(got.Body, "of 101 gates met") {
			t.Errorf("order %v leaves %q", order, got.Body[:200])
		}
	}
}

// report has as many failed gates as the run's id, to tell runs apart.
func report(run int64) *gates.Report { return failing(int(run)) }

// afterList calls then once the first listing is done.
type afterList struct {
	Comments
	then func()
}

func (a afterList) List(ctx context.Context, pull int) ([]Comment, error) {
	out, err := a.Comments.List(ctx, pull)
	if len(out) == 0 && err == nil {
		a.then()
	}
	return out, err
}

// A comment that was doubled in the past is made one again.
func TestCommentDedupe(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 3 {
		w.AddComment(412, "github-actions[bot]", marker{Name: named(DefaultCheckName), Head: w.head, Run: 1, Attempt: 1}.String()+"old")
	}
	keep := w.Comments(412)[0].ID
	w.publish(t, w.target, failing(1))
	if got := w.mine(t); got.ID != keep || !strings.Contains(got.Body, "0 of 1 gates met") {
		t.Errorf("%+v", got)
	}
}

func TestMarkerRoundTrip(t *testing.T) {
	t.Parallel()
	m := marker{Name: "a -->\n<b> @octocat", Head: "x", Run: 7, Attempt: 2, Content: "c", States: "s", Sum: "b"}
	got, visible, ok := parseMarker(m.String() + "rest\n")
	if !ok || got != m || visible != "rest\n" {
		t.Errorf("%v %+v %q", ok, got, visible)
	}
	if s := m.String(); strings.Contains(strings.TrimSuffix(s, "-->\n"), "--") && strings.Contains(s[4:len(s)-5], "-->") || len(s) > maxMarker {
		t.Errorf("marker %q", s)
	}
	for _, body := range []string{"", "x", "> " + m.String(), " " + m.String(), "<!-- gatesworn: -->\n", "<!-- gatesworn:7b7d -->\n", "<!-- gatesworn:" + strings.Repeat("ab", 5000) + " -->\n"} {
		if _, _, ok := parseMarker(body); ok {
			t.Errorf("%.40q is taken for a marker", body)
		}
	}
}

// A comment at GitHub's limit still fits with its marker.
func TestCommentAtTheLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := failing(8)
	for i := range r.Ledgers[0].Gates {
		r.Ledgers[0].Gates[i].Check = strings.Repeat("字🙂", 40000)
		r.Ledgers[0].Gates[i].Run.Tail = strings.Repeat("error 字🙂", 40000)
		r.Ledgers[0].Gates[i].Title = strings.Repeat("|", 70000)
	}
	out := w.publish(t, w.target, r)
	if len(out.Faults) > 0 || out.Comment != CommentCreated || w.only(t).Conclusion != "failure" {
		t.Errorf("%+v", out)
	}
	if w.Count(http.MethodPost, "/comments") != 1 {
		t.Error("posted more than once")
	}
}

// FuzzMarker: no body panics, and what is taken for a marker is one of ours.
func FuzzMarker(f *testing.F) {
	f.Add(marker{Name: "n", Head: "h", Run: 1, Attempt: 1}.String() + "body\n")
	f.Add("<!-- gatesworn:7b226e223a22227d -->\r\n")
	f.Add("> <!-- gatesworn:00 -->")
	f.Fuzz(func(t *testing.T, body string) {
		m, visible, ok := parseMarker(body)
		if !ok {
			return
		}
		if !strings.HasPrefix(body, markerHead) || !strings.HasSuffix(body, visible) || m.Name == "" {
			t.Fatalf("%q gives %+v %q", body, m, visible)
		}
		again, _, ok := parseMarker(m.String() + visible)
		if !ok || again.Run != m.Run {
			t.Fatalf("%+v does not come back", m)
		}
	})
}

func FuzzExternalID(f *testing.F) {
	f.Add(Target{Stream: "s", RunID: 7, Attempt: 2}.externalID())
	f.Add("gatesworn/1/x/-1/0")
	f.Fuzz(func(t *testing.T, s string) {
		if _, r, ok := parseExternalID(s); ok && (r.id <= 0 || r.attempt <= 0) {
			t.Fatalf("%q gives %+v", s, r)
		}
	})
}
