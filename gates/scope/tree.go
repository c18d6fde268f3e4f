package scope

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/gatesworn/gatesworn/internal/safefile"
)

// Tree is the tree at Root, an absolute path, with .unlazy in it. Now gives the
// time; both are required.
type Tree struct {
	Root string
	Now  func() time.Time
}

// locked runs do while it holds unlazy's lock of Root/rel.
func (t Tree) locked(ctx context.Context, rel string, do func() error) error {
	lock, err := FileLock(ctx, t.Root, filepath.Join(t.Root, filepath.FromSlash(rel)), t.Now)
	if err != nil {
		return err
	}
	err = do()
	if released := lock.Release(); err == nil {
		err = released
	}
	return err
}

// scopeDir checks that the scope is there and safe, and returns its folder relative to the root.
func (t Tree) scopeDir(scope string) (string, error) {
	if err := checkID("scope", scope); err != nil {
		return "", err
	}
	if err := known(t.Root, scope); err != nil {
		return "", err
	}
	dir := path.Join(baseDir, scope)
	return dir, realDir(t.Root, dir)
}

// Bind binds an agent's session to a scope: the session's commands and hooks find
// the scope without --scope.
func (t Tree) Bind(scope, session string) error {
	dir, err := t.scopeDir(scope)
	if err != nil {
		return err
	}
	session = strings.TrimSpace(session)
	switch {
	case session == "":
		return fmt.Errorf("a session id must not be blank")
	case strings.ContainsAny(session, "\r\n") || len(session) >= maxSession:
		return fmt.Errorf("a session id is one line of less than %d bytes", maxSession)
	}
	if err := safefile.ReplaceBeneath(t.Root, path.Join(dir, "session"), []byte(session+"\n"), 0o600); err != nil {
		return fmt.Errorf("cannot bind session: %w", err)
	}
	return nil
}

// Log appends a line to the scope's status.log and returns the file's path
// relative to the root. Line breaks in text become blanks.
func (t Tree) Log(scope, text string) (string, error) {
	dir, err := t.scopeDir(scope)
	if err != nil {
		return "", err
	}
	text = lineBreaks.ReplaceAllString(text, " ")
	if strings.TrimSpace(text) == "" {
		return "", fmt.Errorf("a status line must not be blank")
	}
	name := path.Join(dir, "status.log")
	if err := t.appendLog(dir, text+"\n"); err != nil {
		return "", fmt.Errorf("cannot append status: %w", err)
	}
	return name, nil
}
