package action

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/gates/runner"
	"github.com/gatesworn/gatesworn/internal/gitobj"
)

// place is where checks run and as whom.
type place struct {
	work       string // the tree that is judged and that checks run in
	home, temp string // fresh and empty
	user       *runner.User
	held       gates.Protections
	close      func()
}

// credentials returns what in a git configuration hands a token to whoever reads
// the workspace (actions/checkout persists one by default), or "".
func credentials(workspace string) string {
	data, err := os.ReadFile(filepath.Join(workspace, ".git", "config"))
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if err != nil {
		return "a configuration that cannot be read"
	}
	return credentialsIn(data)
}

func credentialsIn(config []byte) string {
	c, err := gitobj.ParseConfig(config)
	if err != nil {
		return "a configuration that cannot be read"
	}
	return leak(c)
}

// errPersisted is the refusal of run mode, with the line that cures it.
func errPersisted(what string) error {
	return fmt.Errorf("the checkout kept its credentials (%s in .git/config), and the commands of the pull request could read them; add persist-credentials: false under with: of actions/checkout", what)
}

// bare is the place of host mode: the workspace itself and the runner's own user.
func bare(workspace, temp string) (*place, error) {
	dir, err := os.MkdirTemp(temp, "gatesworn-")
	if err != nil {
		return nil, fmt.Errorf("cannot make a scratch folder: %w", err)
	}
	p := &place{
		work: workspace, home: filepath.Join(dir, "home"), temp: filepath.Join(dir, "tmp"),
		close: func() { _ = os.RemoveAll(dir) },
		held: gates.Protections{
			Applied: []string{"environment allowlist", "process tree", "empty HOME and TMPDIR"},
			Missing: []string{"separate user", "private copy of the workspace", "credentials of the job out of reach", "container"},
		},
	}
	if err := errors.Join(os.Mkdir(p.home, 0o700), os.Mkdir(p.temp, 0o700)); err != nil {
		p.close()
		return nil, fmt.Errorf("cannot make a scratch folder: %w", err)
	}
	return p, nil
}
