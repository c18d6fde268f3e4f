package judge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/gatesworn/gatesworn/internal/gitobj"
)

// checkInTitle is the ledger's warning that is an error in a pull request: a
// command in the title looks like a check and never runs (9-surfaces, B9).
const checkInTitle = "check-in-title"

// Sources reads the ledgers of the judged commit: the policy's, those the caller
// adds, and without a policy GATES.md and gates/*.md.
func (p *PullRequest) Sources(extra []string) ([]gates.Source, error) {
	var sources []gates.Source
	for _, path := range p.paths(extra) {
		at := approval.ReadLedger(p.judged, path)
		switch at.Side {
		case approval.SideAbsent:
			if slices.Contains(extra, path) {
				return nil, fmt.Errorf("commit %s has no ledger %q", p.Commit[:min(7, len(p.Commit))], path)
			}
			continue // the removal guard names what it lost
		case approval.SideRead, approval.SideUnparsable:
		default:
			return nil, fmt.Errorf("cannot read ledger %q: %w", path, at.Err)
		}
		sum := sha256.Sum256(at.Data)
		sources = append(sources, gates.Source{
			Path: path, Abs: filepath.Join(p.work.Top, filepath.FromSlash(path)), SHA256: hex.EncodeToString(sum[:]),
			Standing: p.Root.Policy.KindOf(path) == approval.Standing, Doc: strict(at.Doc),
			Dir: func(g ledger.Gate) (string, string, error) { return p.dir(path, g.CWD) },
		})
	}
	return sources, nil
}

// paths lists the ledgers to judge, the policy's first.
func (p *PullRequest) paths(extra []string) []string {
	var paths []string
	if p.Root.State == approval.RootValid {
		paths = append(paths, approval.StandingPaths(p.Root.Policy, p.trust, p.judged)...)
		paths = append(paths, approval.LedgerPaths(p.judged, p.Root.Policy.Tasks)...)
	} else {
		paths = append(paths, approval.LedgerPaths(p.judged, []string{"GATES.md", "gates/*.md"})...)
	}
	paths = append(paths, extra...)
	var unique []string
	for _, path := range paths {
		if !slices.Contains(unique, path) {
			unique = append(unique, path)
		}
	}
	return unique
}

// strict turns the findings into errors that a pull request must not carry.
func strict(d *ledger.Document) *ledger.Document {
	for i := range d.Findings {
		if d.Findings[i].Rule == checkInTitle {
			d.Findings[i].Level = ledger.Error
		}
	}
	return d
}

// Clean compares the work tree with the judged commit, without running anything.
// Ledgers, bound files and, unless the policy says clean: report, every tracked
// file must be what the commit holds; nothing untracked may match INPUTS.
func (p *PullRequest) Clean(ctx context.Context, sources []gates.Source) error {
	return p.clean(ctx, sources, nil)
}

// CleanDefinitions is Clean for what a signature is about: ledgers, bound files and .gatesworn.
func (p *PullRequest) CleanDefinitions(ctx context.Context, sources []gates.Source) error {
	patterns, ledgers := bound(sources)
	return p.clean(ctx, sources, func(path string) bool {
		return slices.Contains(ledgers, path) || matches(patterns, path) || strings.HasPrefix(path, approval.RootFolder+"/")
	})
}

func (p *PullRequest) clean(ctx context.Context, sources []gates.Source, only func(string) bool) error {
	entries, err := p.work.Git.List(ctx, p.tree())
	if err != nil {
		return err
	}
	compared, err := p.work.Git.Compare(ctx, entries, gitobj.CompareOptions{Only: only})
	if err != nil {
		return fmt.Errorf("cannot compare the work tree with %s: %w", p.Commit[:12], err)
	}
	patterns, ledgers := bound(sources)
	attributes, err := p.work.Git.Attributes(ctx, entries)
	if err != nil {
		return err
	}
	excused, changed := 0, 0
	for _, d := range compared.Differences {
		must := slices.Contains(ledgers, d.Path) || matches(patterns, d.Path)
		switch {
		case !must && converted(attributes.Conversion(d.Path)):
			excused++
		case !must && p.Root.Policy.Clean == approval.CleanReport:
			changed++
		default:
			return &DirtyError{Path: d.Path, How: d.Kind.String(), Commit: p.Commit}
		}
	}
	if excused+changed > 0 {
		p.Notices = append(p.Notices, fmt.Sprintf("%d tracked files differ from the commit (%d of them converted by .gitattributes)", excused+changed, excused))
	}
	return p.untracked(ctx, entries, patterns)
}

// converted reports whether git may have written the file otherwise than the commit
// holds it, by an attribute that the design excuses. Text alone does not: one line
// "* text=auto" would excuse every change. Doubt excuses nothing.
func converted(c gitobj.Conversion) bool {
	in := func(state string) bool { return state != "" && state != "unset" }
	return c.Doubt == "" && (in(c.Filter) || in(c.EOL) || in(c.Encoding))
}

// untracked refuses files that INPUTS matches and the commit does not hold.
func (p *PullRequest) untracked(ctx context.Context, entries []gitobj.Entry, patterns []string) error {
	if len(patterns) == 0 {
		return nil
	}
	files, err := p.work.Git.WorkFiles(ctx, gitobj.NewPathSet(entries), gitobj.WorkOptions{Ignored: true})
	if err != nil {
		return err
	}
	for _, f := range files {
		if matches(patterns, f.Path) && !strings.HasPrefix(f.Path, OutFolder+"/") {
			return &DirtyError{Path: f.Path, How: "untracked, and INPUTS matches it", Commit: p.Commit}
		}
	}
	return nil
}

// tree is the judged tree's object id; it was parsed from one.
func (p *PullRequest) tree() gitobj.OID {
	oid, err := gitobj.ParseOID(p.Tree)
	if err != nil {
		return gitobj.OID{} // names nothing, so that reading it fails
	}
	return oid
}

// bound lists every INPUTS pattern and every ledger.
func bound(sources []gates.Source) (patterns, ledgers []string) {
	for _, s := range sources {
		ledgers = append(ledgers, s.Path)
		for _, g := range s.Doc.Gates {
			patterns = append(patterns, g.Inputs...)
		}
	}
	return patterns, ledgers
}

func matches(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := doublestar.Match(p, path)
		return ok || err != nil // doubt binds
	})
}

// DirtyError names the first file of the work tree that is not what the judged commit holds.
type DirtyError struct{ Path, How, Commit string }

func (e *DirtyError) Error() string {
	return fmt.Sprintf("%s differs from commit %s (%s): what would run is not what would be judged", e.Path, e.Commit[:min(12, len(e.Commit))], e.How)
}
