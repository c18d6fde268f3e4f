package judge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/gates/ledger"
	"github.com/gatesworn/gatesworn/gates/scope"
	"github.com/gatesworn/gatesworn/internal/safefile"
)

// Load reads and parses the ledgers of targets. base is --cwd, absolute or "".
func (w *Workspace) Load(ctx context.Context, targets scope.Targets, base string) ([]gates.Source, error) {
	sources := make([]gates.Source, 0, len(targets.Ledgers))
	var pages ledger.Pages
	for _, l := range targets.Ledgers {
		file, err := safefile.ReadBeneath(w.Top, l.Path, ledger.MaxSize+1)
		if err != nil {
			return nil, fmt.Errorf("cannot read ledger %q: %w", l.Path, err)
		}
		doc := ledger.Parser{Top: w.Top, Pages: &pages}.Parse(ctx, l.Path, file.Data)
		sum := sha256.Sum256(file.Data)
		abs := filepath.Join(w.Top, filepath.FromSlash(l.Path))
		sources = append(sources, gates.Source{
			Path: l.Path, Abs: abs, Standing: l.Standing, SHA256: hex.EncodeToString(sum[:]), Doc: doc,
			Dir: w.directories(l.Path, abs, targets.How == scope.Explicit, base),
		})
	}
	return sources, nil
}

// directories returns how the CWD of a ledger's gates is resolved (10-fine-print,
// CWD and roots). A folder that is not there is no error: its check fails to start.
func (w *Workspace) directories(path, abs string, explicit bool, base string) func(ledger.Gate) (string, string, error) {
	return func(g ledger.Gate) (string, string, error) {
		var dir string
		switch {
		case w.HasPolicy:
			rel, err := approval.ResolveCWD(path, g.CWD)
			if err != nil {
				return "", "", err
			}
			dir = filepath.Join(w.Top, filepath.FromSlash(rel))
		case base != "":
			dir = under(base, g.CWD)
		case explicit:
			dir = under(filepath.Dir(abs), g.CWD)
		default:
			dir = under(w.Root, g.CWD)
		}
		return w.beneathTop(dir, g.CWD)
	}
}

func under(base, cwd string) string {
	if filepath.IsAbs(cwd) {
		return filepath.Clean(cwd)
	}
	return filepath.Join(base, filepath.FromSlash(cwd))
}

// beneathTop resolves links and refuses what leaves the repository.
func (w *Workspace) beneathTop(dir, cwd string) (abs, rel string, err error) {
	real, err := filepath.EvalSymlinks(dir)
	switch {
	case isNotExist(err):
		real = dir
	case err != nil:
		return "", "", fmt.Errorf("cannot resolve CWD %q: %w", cwd, err)
	}
	rel, err = filepath.Rel(w.Top, real)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", "", fmt.Errorf("CWD %q leaves the repository", cwd)
	}
	return real, filepath.ToSlash(rel), nil
}

func isNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }
