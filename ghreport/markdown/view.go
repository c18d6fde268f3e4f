package markdown

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/gatesworn/gatesworn/gates"

	"github.com/gatesworn/gatesworn/internal/lazyregexp"
)

var (
	repoName = lazyregexp.New(`^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$`)
	hexName  = lazyregexp.New(`^[0-9a-f]{7,64}$`)
	origin   = lazyregexp.New(`^https?://[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._~/-]*)?$`)
)

// item is a gate with what only its ledger and its siblings know.
type item struct {
	*gates.Gate
	path  string // of its ledger
	label string // the id, or the qualified name where the id is not unique
}

// view is a report in the order in which people need it.
type view struct {
	r     *gates.Report
	at    Place
	met   []item
	open  []item // not met, in ledger order
	total int
}

func newView(r *gates.Report, at Place) *view {
	v := &view{r: r, at: at}
	seen := map[string]int{}
	for i := range r.Ledgers {
		for j := range r.Ledgers[i].Gates {
			seen[r.Ledgers[i].Gates[j].ID]++
		}
	}
	for i := range r.Ledgers {
		l := &r.Ledgers[i]
		for j := range l.Gates {
			g := &l.Gates[j]
			if g.NotAsked {
				continue // named gates only: the others were not judged
			}
			it := item{Gate: g, path: l.Path, label: g.ID}
			if seen[g.ID] > 1 && g.Name != "" {
				it.label = g.Name
			}
			v.total++
			if g.State == gates.Met {
				v.met = append(v.met, it)
			} else {
				v.open = append(v.open, it)
			}
		}
	}
	return v
}

// broken lists the findings that made a ledger unreadable.
func (v *view) broken() []brokenLine {
	var out []brokenLine
	for i := range v.r.Ledgers {
		l := &v.r.Ledgers[i]
		for j := range l.Findings {
			if l.Findings[j].Level == "error" {
				out = append(out, brokenLine{l.Path, &l.Findings[j]})
			}
		}
	}
	return out
}

type brokenLine struct {
	path string
	*gates.Finding
}

// bootstrap reports whether the trust ref has no root yet.
func (v *view) bootstrap() bool { return v.r.Trust.Mode == "none" }

// signed reports whether signatures decide, not this machine's approvals.
func (v *view) signed() bool { return v.r.Trust.Mode == "allowlist" || v.bootstrap() }

func (v *view) trustName() string {
	switch {
	case v.r.Trust.Ref != "":
		return strings.TrimPrefix(strings.TrimPrefix(v.r.Trust.Ref, "refs/heads/"), "refs/remotes/origin/")
	case v.r.Subject.Base != "":
		return v.r.Subject.Base
	}
	return "the default branch"
}

// base is the repository's address, or "".
func (v *view) base() string {
	server := strings.TrimSuffix(v.at.Server, "/")
	if !origin.MatchString(server) || !repoName.MatchString(v.r.Subject.Repository) {
		return ""
	}
	return server + "/" + v.r.Subject.Repository
}

// commit renders a commit as a short name, linked where that is possible.
func (v *view) commit(sha string) string {
	if !hexName.MatchString(sha) {
		return ""
	}
	short := "`" + sha[:7] + "`"
	if b := v.base(); b != "" {
		return "[" + short + "](" + b + "/commit/" + sha + ")"
	}
	return short
}

// name renders a gate's label, linked to its ledger line.
func (v *view) name(it item) string {
	sha := v.r.Subject.HeadSHA
	if sha == "" {
		sha = v.r.Subject.JudgedCommit
	}
	b := v.base()
	if b == "" || it.Line < 1 || !hexName.MatchString(sha) {
		return inline(it.label)
	}
	segs := strings.Split(it.path, "/")
	for i := range segs {
		segs[i] = url.PathEscape(segs[i])
	}
	path := strings.NewReplacer("(", "%28", ")", "%29", "*", "%2A", "_", "%5F", "~", "%7E", "@", "%40").Replace(strings.Join(segs, "/"))
	// GitHub shows a Markdown file rendered, without line anchors, unless plain=1.
	return "[" + inline(it.label) + "](" + b + "/blob/" + sha + "/" + path + "?plain=1#L" + strconv.Itoa(it.Line) + ")"
}

// labels joins at most n labels: "G1, G2 and 5 more".
func labels(items []item, n int) string {
	var b strings.Builder
	for i, it := range items {
		if i == n {
			b.WriteString(" and " + strconv.Itoa(len(items)-n) + " more")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(it.label)
	}
	return b.String()
}

// seconds writes a duration in milliseconds as people read it.
func seconds(ms int64) string {
	if ms < 0 {
		ms = 0
	}
	if ms >= 60_000 {
		return strconv.FormatInt(ms/60_000, 10) + " min " + strconv.FormatInt(ms%60_000/1000, 10) + " s"
	}
	if ms < 50 {
		return "under 0.1 s"
	}
	tenths := (ms + 50) / 100
	return strconv.FormatInt(tenths/10, 10) + "." + strconv.FormatInt(tenths%10, 10) + " s"
}
