package signing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/gatesworn/gatesworn/internal/gitobj"
	"github.com/gatesworn/gatesworn/internal/safefile"
)

// ErrCommit is wrapped when the files are written but not committed: committing
// them by hand is then all that is left to do.
var ErrCommit = errors.New("cannot commit")

// Commit is a commit of a few files on top of HEAD.
type Commit struct {
	Repo    *gitobj.Repo
	Files   map[string][]byte // slash separated paths and their bytes, mode 100644
	Message string
	Name    string // of author and committer
	Email   string
	Sign    bool // as the user's own commit.gpgSign says
	Now     time.Time
}

// Make commits the files and nothing else, whatever is staged, and returns the new
// commit's id.
//
// The repository's configuration belongs to whoever can write .git, checks
// included, and names programs: hooks, fsmonitor, filters, ssh commands. So git is
// never started in it. Its plumbing runs with a private, empty git directory of
// ours; only the object store, and at the end the index, are the repository's. No
// path is read from the work tree, so that no filter applies, and the branch is
// moved by this process, not by git. The user's own configuration stays in force.
func (c Commit) Make(ctx context.Context, p Program) (string, error) {
	head, err := c.Repo.Head()
	if err != nil {
		return "", fmt.Errorf("%w: %v", ErrCommit, err)
	}
	g, err := newPlumbing(p, c.Repo)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(g.dir) //nolint:errcheck // holds nothing secret
	paths := make([]string, 0, len(c.Files))
	for path := range c.Files {
		paths = append(paths, path)
	}
	sort.Strings(paths)
	add := []string{"update-index", "--add"}
	for _, path := range paths {
		oid, err := g.run(ctx, "", c.Files[path], "hash-object", "-w", "--no-filters", "--stdin")
		if err != nil {
			return "", err
		}
		add = append(add, "--cacheinfo", "100644,"+oid+","+path)
	}
	own := filepath.Join(g.dir, "index.new")
	if _, err := g.run(ctx, own, nil, "read-tree", head.OID.String()); err != nil {
		return "", err
	}
	if _, err := g.run(ctx, own, nil, add...); err != nil {
		return "", err
	}
	tree, err := g.run(ctx, own, nil, "write-tree")
	if err != nil {
		return "", err
	}
	made, err := g.run(ctx, "", []byte(c.Message+"\n"), c.commitTree(tree, head.OID.String())...)
	if err != nil {
		return "", err
	}
	if err := c.move(head, made); err != nil {
		return "", err
	}
	if _, err := g.run(ctx, filepath.Join(c.Repo.GitDir(), "index"), nil, add...); err != nil {
		return made, err
	}
	return made, nil
}

func (c Commit) commitTree(tree, parent string) []string {
	when := fmt.Sprintf("%d %s", c.Now.Unix(), c.Now.Format("-0700"))
	args := []string{
		"-c", "user.name=" + c.Name, "-c", "user.email=" + c.Email,
		"commit-tree", tree, "-p", parent, "-F", "-",
	}
	if c.Sign {
		args = append(args, "-S")
	}
	return append([]string{"date=" + when}, args...)
}

// plumbing runs git commands away from the repository's configuration.
type plumbing struct {
	program Program
	git     string
	dir     string // our own git directory
	objects string // the repository's
}

// newPlumbing makes an empty git directory of the repository's object format.
func newPlumbing(p Program, repo *gitobj.Repo) (*plumbing, error) {
	p.Name = "git"
	git, err := p.path()
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrCommit, err)
	}
	objects, err := commonDir(repo.GitDir())
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(p.Temp, "gatesworn-git-")
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrCommit, err)
	}
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
	if repo.Format() == gitobj.SHA256 {
		config = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectFormat = sha256\n"
	}
	err = errors.Join(
		os.WriteFile(filepath.Join(dir, "HEAD"), []byte("ref: refs/heads/none\n"), 0o600),
		os.WriteFile(filepath.Join(dir, "config"), []byte(config), 0o600),
		os.MkdirAll(filepath.Join(dir, "refs", "heads"), 0o700),
		os.Mkdir(filepath.Join(dir, "objects"), 0o700),
	)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrCommit, err)
	}
	return &plumbing{program: p, git: git, dir: dir, objects: filepath.Join(objects, "objects")}, nil
}

// commonDir is where refs and objects of a git directory are: the repository's own
// for a linked work tree.
func commonDir(gitDir string) (string, error) {
	file, err := safefile.Read(filepath.Join(gitDir, "commondir"), 4096)
	if errors.Is(err, fs.ErrNotExist) {
		return gitDir, nil
	}
	if err != nil {
		return "", fmt.Errorf("%w: %v", ErrCommit, err)
	}
	dir := strings.TrimRight(string(file.Data), "\r\n")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(gitDir, filepath.FromSlash(dir))
	}
	return dir, nil
}

// run starts git. A first argument "date=…" sets the dates of a commit. What the
// environment says about git directories, hooks or editors is left out.
func (g *plumbing) run(ctx context.Context, index string, in []byte, args ...string) (string, error) {
	var env []string
	for _, e := range g.program.Env {
		if name, _, _ := strings.Cut(e, "="); strings.HasPrefix(name, "GIT_") && name != "GIT_CONFIG_GLOBAL" && name != "GIT_CONFIG_NOSYSTEM" && name != "GIT_CONFIG_SYSTEM" {
			continue
		}
		env = append(env, e)
	}
	env = append(env, "GIT_DIR="+g.dir, "GIT_OBJECT_DIRECTORY="+g.objects, "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=:", "GIT_NO_REPLACE_OBJECTS=1", "LC_ALL=C")
	if index != "" {
		env = append(env, "GIT_INDEX_FILE="+index)
	}
	if when, ok := strings.CutPrefix(args[0], "date="); ok {
		args = args[1:]
		env = append(env, "GIT_AUTHOR_DATE="+when, "GIT_COMMITTER_DATE="+when)
	}
	safe := []string{"-c", "core.hooksPath=" + filepath.Join(g.dir, "no-hooks"), "-c", "core.fsmonitor=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false"}
	cmd := exec.CommandContext(ctx, g.git, append(safe, args...)...)
	cmd.Dir, cmd.Env, cmd.Stdin = g.dir, env, bytes.NewReader(in)
	cmd.WaitDelay = 2 * time.Second
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", fmt.Errorf("%w: git: %v: %.300s", ErrCommit, err, strings.TrimSpace(said.String()))
	}
	return strings.TrimSpace(out.String()), nil
}

// move points HEAD's branch, or a detached HEAD, from the commit that was judged to
// the new one, under git's own lock file. Nothing is overwritten that moved meanwhile.
func (c Commit) move(head gitobj.Ref, made string) error {
	dir := c.Repo.GitDir()
	if head.Name != "HEAD" {
		var err error
		if dir, err = commonDir(dir); err != nil {
			return err
		}
	}
	name := filepath.Join(dir, filepath.FromSlash(head.Name))
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return fmt.Errorf("%w: %v", ErrCommit, err)
	}
	lock, err := os.OpenFile(name+".lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return fmt.Errorf("%w: another git command holds %s: %v", ErrCommit, head.Name, err)
	}
	abandon := func(err error) error {
		return errors.Join(fmt.Errorf("%w: %v", ErrCommit, err), os.Remove(name+".lock"))
	}
	_, err = lock.WriteString(made + "\n")
	if err = errors.Join(err, lock.Sync(), lock.Close()); err != nil {
		return abandon(err)
	}
	now, err := c.Repo.ResolveRef(head.Name)
	if err != nil || now.OID != head.OID {
		return abandon(fmt.Errorf("%s moved meanwhile", head.Name))
	}
	if err := os.Rename(name+".lock", name); err != nil {
		return abandon(err)
	}
	c.log(head, made)
	return nil
}

// log adds to the reflogs that are there; a branch without one loses nothing but a hint.
func (c Commit) log(head gitobj.Ref, made string) {
	subject, _, _ := strings.Cut(c.Message, "\n")
	line := fmt.Sprintf("%s %s %s <%s> %d %s\tcommit: %s\n", head.OID, made, c.Name, c.Email, c.Now.Unix(), c.Now.Format("-0700"), subject)
	common, err := commonDir(c.Repo.GitDir())
	if err != nil {
		return
	}
	for _, path := range []string{filepath.Join(c.Repo.GitDir(), "logs", "HEAD"), filepath.Join(common, "logs", filepath.FromSlash(head.Name))} {
		if head.Name == "HEAD" && path != filepath.Join(c.Repo.GitDir(), "logs", "HEAD") {
			continue
		}
		if _, err := os.Lstat(path); err == nil {
			_ = safefile.Append(path, []byte(line), 0o644) // best effort, as said
		}
	}
}
