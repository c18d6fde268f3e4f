package judge

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/gatesworn/gatesworn/approval"
	"github.com/gatesworn/gatesworn/gates/scope"
	"github.com/gatesworn/gatesworn/internal/gitobj"
	"github.com/gatesworn/gatesworn/internal/safefile"
)

// Workspace is a folder that is judged.
type Workspace struct {
	Root string       // where relative arguments start: --root, else the working folder
	Top  string       // top of the git work tree, else Root; links resolved
	Git  *gitobj.Repo // nil outside git

	// Policy is .gatesworn/policy.yml of the work tree. It says which ledgers are
	// standing; what may run is never read from here.
	Policy    approval.Policy
	HasPolicy bool
}

// Open finds the top of root, an absolute path. A broken policy in the work tree is an error with its position.
func Open(root string) (*Workspace, error) {
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, fmt.Errorf("cannot use root %q: %w", root, err)
	}
	w := &Workspace{Root: real, Top: real}
	if top, err := gitobj.Find(real); err == nil {
		if w.Git, err = gitobj.Open(top); err != nil {
			return nil, fmt.Errorf("cannot read the git repository: %w", err)
		}
		w.Top = top
	} else if !errors.Is(err, gitobj.ErrNoRepo) {
		return nil, fmt.Errorf("cannot find the git repository: %w", err)
	}
	return w, w.readPolicy()
}

// Close releases the repository.
func (w *Workspace) Close() error {
	if w.Git == nil {
		return nil
	}
	return w.Git.Close()
}

func (w *Workspace) readPolicy() error {
	file, err := safefile.ReadBeneath(w.Top, approval.PolicyPath, approval.MaxPolicy)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	w.HasPolicy = true // one is there, whatever it holds
	if err != nil {
		return fmt.Errorf("cannot read the policy: %w", err)
	}
	w.Policy, err = approval.ParsePolicy(approval.PolicyPath, file.Data)
	return err
}

// Discover chooses the ledgers.
func (w *Workspace) Discover(o scope.Options) (scope.Targets, error) {
	o.Top = w.Top
	if w.HasPolicy {
		o.Policy = &scope.Policy{Ledgers: w.Policy.Ledgers, Tasks: w.Policy.Tasks}
	}
	return scope.Discover(w.Root, o)
}
