package hook

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gatesworn/gatesworn/internal/escape"
	"github.com/gatesworn/gatesworn/internal/lazyregexp"
	"github.com/gatesworn/gatesworn/internal/safefile"
)

// Names in the folder of git's hooks. An existing pre-push hook is kept under the
// second and runs first.
const (
	prePush  = "pre-push"
	previous = "pre-push.before-gatesworn"
)

// maxScript is the size limit of a hook and of git's configuration, in bytes.
const maxScript = 1 << 20

// scriptMark is the second line of our hook; the rest must fit it too before the
// hook is taken for ours.
const scriptMark = "# gatesworn pre-push hook v1; remove it with: gatesworn hook uninstall --git"

// ErrForeign says that a hook carries our mark and was edited since.
var ErrForeign = errors.New("the hook was edited; change it by hand")

// Script is the pre-push hook: an existing hook first, then the program, both with
// git's arguments and standard input. With run it asks for the gates to be run. What
// the program says goes to standard error: git's own may be read by programs.
func Script(binary string, run bool) (string, error) {
	if strings.ContainsAny(binary, "\r\n") || escape.Line(binary) != binary {
		return "", fmt.Errorf("the path of this program cannot be written in a script: %q", binary)
	}
	word := "'" + strings.ReplaceAll(binary, "'", `'\''`) + "'"
	command := "hook pre-push"
	if run {
		command += " --run"
	}
	return `#!/bin/sh
` + scriptMark + `
program=` + word + `
before="$(dirname "$0")/` + previous + `"
refs=$(cat; echo .)
refs=${refs%.}
if [ -x "$before" ]; then
  printf '%s' "$refs" | "$before" "$@" || exit $?
fi
if [ ! -x "$program" ]; then
  program=$(command -v gatesworn) || {
    echo 'gatesworn: error: the program of the pre-push hook is gone' >&2
    echo 'gatesworn: hint: install it again, then gatesworn hook install --git' >&2
    exit 1
  }
fi
printf '%s' "$refs" | "$program" ` + command + ` "$@" >&2
`, nil
}

var programLine = lazyregexp.New(`(?m)^program='((?:[^'\n]|'\\'')*)'$`)

// isScript reports whether a hook is exactly one that Script writes.
func isScript(text string) bool {
	m := programLine.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	binary := strings.ReplaceAll(m[1], `'\''`, "'")
	for _, run := range []bool{false, true} {
		if want, err := Script(binary, run); err == nil && want == text {
			return true
		}
	}
	return false
}

// HooksDir is the folder git runs the hooks of the work tree at top from: the
// common git folder's hooks, or core.hooksPath as the repository's own
// configuration or one of the given files (the user's) says. Files that a
// configuration includes are not read.
func HooksDir(top string, configs ...string) (string, error) {
	dir, err := gitDir(filepath.Join(top, ".git"))
	if err != nil {
		return "", err
	}
	common := dir
	if f, err := safefile.Read(filepath.Join(dir, "commondir"), maxScript); err == nil {
		common = absolute(dir, strings.TrimSpace(string(f.Data)))
	}
	for _, c := range append([]string{filepath.Join(dir, "config.worktree"), filepath.Join(common, "config")}, configs...) {
		f, err := safefile.Read(c, maxScript)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("cannot find git's hooks: %w", err)
		}
		if p := hooksPath(f.Data); p != "" {
			if strings.HasPrefix(p, "~") {
				return "", fmt.Errorf("cannot find git's hooks: core.hooksPath is %q; install into that folder by hand", p)
			}
			return absolute(top, p), nil
		}
	}
	return filepath.Join(common, "hooks"), nil
}

func absolute(base, p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(base, filepath.FromSlash(p))
}

// gitDir follows a .git file (work trees, submodules) to its folder.
func gitDir(dot string) (string, error) {
	info, err := os.Stat(dot)
	if err != nil {
		return "", fmt.Errorf("no git work tree: %w", err)
	}
	if info.IsDir() {
		return dot, nil
	}
	f, err := safefile.Read(dot, maxScript)
	if err != nil {
		return "", fmt.Errorf("no git work tree: %w", err)
	}
	to, ok := strings.CutPrefix(strings.TrimSpace(string(f.Data)), "gitdir: ")
	if !ok {
		return "", fmt.Errorf("no git work tree: %s does not name a folder", dot)
	}
	return absolute(filepath.Dir(dot), to), nil
}

// hooksPath reads core.hooksPath; the last one counts.
func hooksPath(config []byte) string {
	section, found := "", ""
	for line := range bytes.Lines(config) {
		text := strings.TrimSpace(string(line))
		if rest, ok := strings.CutPrefix(text, "["); ok {
			section, text, _ = strings.Cut(rest, "]")
			section, text = strings.ToLower(strings.TrimSpace(section)), strings.TrimSpace(text)
		}
		key, value, ok := strings.Cut(text, "=")
		if ok && section == "core" && strings.EqualFold(strings.TrimSpace(key), "hooksPath") {
			found = strings.ReplaceAll(strings.Trim(strings.TrimSpace(value), `"`), `\\`, `\`)
		}
	}
	return found
}

// InstallGit puts the pre-push hook into a folder of hooks. An existing one is
// kept and runs first. Doing it twice changes nothing; a hook of ours for another
// program, or with another run, is replaced.
func InstallGit(hooks, binary string, run bool) (Outcome, error) {
	script, err := Script(binary, run)
	if err != nil {
		return Outcome{}, err
	}
	file := filepath.Join(hooks, prePush)
	o := Outcome{File: file}
	if err := os.MkdirAll(hooks, 0o755); err != nil {
		return Outcome{}, fmt.Errorf("cannot install pre-push hook: %w", err)
	}
	text, ours, err := current(file)
	switch {
	case err != nil:
		return Outcome{}, err
	case text == script:
		return o, nil
	case ours:
		o.Repaired = true
	case text != "":
		o.Backup = filepath.Join(hooks, previous)
		if _, err := os.Lstat(o.Backup); err == nil {
			return Outcome{}, fmt.Errorf("cannot keep the hook that is there: %s exists already", o.Backup)
		}
		if err := os.Rename(file, o.Backup); err != nil {
			return Outcome{}, fmt.Errorf("cannot keep the hook that is there: %w", err)
		}
	}
	if err := safefile.Replace(file, []byte(script), 0o755); err != nil {
		if o.Backup != "" {
			err = errors.Join(err, os.Rename(o.Backup, file))
		}
		return Outcome{}, fmt.Errorf("cannot install pre-push hook: %w", err)
	}
	o.Changed = true
	return o, nil
}

// UninstallGit takes our pre-push hook away and puts the one it replaced back.
// Somebody else's is left alone.
func UninstallGit(hooks string) (Outcome, error) {
	file := filepath.Join(hooks, prePush)
	o := Outcome{File: file}
	_, ours, err := current(file)
	if err != nil || !ours {
		return o, err
	}
	kept := filepath.Join(hooks, previous)
	if _, err = os.Lstat(kept); err == nil {
		err = os.Rename(kept, file)
	} else {
		err = os.Remove(file)
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("cannot remove pre-push hook: %w", err)
	}
	o.Changed, o.Removed = true, 1
	return o, nil
}

// current reads the hook that is there; "" is none. A hook that is a link, or not
// text of ours, is somebody else's.
func current(file string) (text string, ours bool, err error) {
	f, err := safefile.Read(file, maxScript)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", false, nil
	case errors.Is(err, safefile.ErrLink), errors.Is(err, safefile.ErrSize), errors.Is(err, safefile.ErrHardLink):
		return "somebody else's", false, nil
	case err != nil:
		return "", false, fmt.Errorf("cannot read pre-push hook: %w", err)
	}
	text = string(f.Data)
	if isScript(text) {
		return text, true, nil
	}
	if strings.Contains(text, scriptMark) {
		return "", false, fmt.Errorf("%s: %w", file, ErrForeign)
	}
	if text == "" {
		text = "\n" // there, if empty
	}
	return text, false, nil
}

// Push is one ref that git is about to push (githooks(5), pre-push).
type Push struct {
	LocalRef, LocalID   string // LocalID is all zeroes for a deletion
	RemoteRef, RemoteID string // RemoteID is all zeroes for a new ref
}

// Delete reports whether the push deletes the remote ref.
func (p Push) Delete() bool { return strings.Trim(p.LocalID, "0") == "" }

var objectID = lazyregexp.New(`^(?:[0-9a-f]{40}|[0-9a-f]{64})$`)

// ReadPushes reads what git writes to a pre-push hook.
func ReadPushes(stdin io.Reader) ([]Push, error) {
	var pushes []Push
	lines := bufio.NewScanner(io.LimitReader(stdin, 64<<20))
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) == 0 {
			continue
		}
		if len(f) != 4 || !objectID.MatchString(f[1]) || !objectID.MatchString(f[3]) {
			return nil, fmt.Errorf("cannot read what is pushed: %q", escape.Cut(lines.Text(), 200))
		}
		pushes = append(pushes, Push{f[0], f[1], f[2], f[3]})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("cannot read what is pushed: %w", err)
	}
	return pushes, nil
}
