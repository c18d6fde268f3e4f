package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gatesworn/gatesworn/approval/signing"
	"github.com/gatesworn/gatesworn/internal/escape"
	"github.com/gatesworn/gatesworn/internal/gitobj"
)

// maxGitConfig bounds the user's git configuration, in bytes.
const maxGitConfig = 1 << 20

// person is who sits here, as their own git configuration says. Nothing of it
// comes from a repository: .git/config belongs to whoever made the repository.
type person struct{ configs []gitobj.Config }

// person reads the user's own git configuration. Includes are not followed.
func (a *app) person() (person, error) {
	var p person
	files := []string{a.getenv("GIT_CONFIG_GLOBAL")}
	if files[0] == "" {
		home := a.home()
		xdg := a.getenv("XDG_CONFIG_HOME")
		if xdg == "" && home != "" {
			xdg = filepath.Join(home, ".config")
		}
		files = nil
		if xdg != "" {
			files = append(files, filepath.Join(xdg, "git", "config"))
		}
		if home != "" {
			files = append(files, filepath.Join(home, ".gitconfig"))
		}
	}
	for _, file := range files {
		data, err := readSmall(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return p, fmt.Errorf("cannot read git's configuration %q: %w", file, err)
		}
		c, err := gitobj.ParseConfig(data)
		if err != nil {
			return p, fmt.Errorf("cannot read git's configuration %q: %w", file, err)
		}
		p.configs = append(p.configs, c)
	}
	return p, nil
}

// readSmall reads a file of the user's own, which may well be a link.
func readSmall(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxGitConfig))
}

func (a *app) home() string {
	home := a.getenv("HOME")
	if home == "" {
		home = a.getenv("USERPROFILE")
	}
	if !filepath.IsAbs(home) {
		return ""
	}
	return home
}

// get returns the last value of a setting, "" without one.
func (p person) get(name string) string {
	value := ""
	for _, c := range p.configs {
		if v, ok := c.Get(name); ok {
			value = v
		}
	}
	return value
}

// plainName is a name or address as a commit line can hold it.
func plainName(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r == '<' || r == '>' {
			return -1
		}
		return r
	}, s))
}

// program is how OpenSSH and git's plumbing are started.
func (a *app) program(p person) signing.Program {
	return signing.Program{Name: expandHome(p.get("gpg.ssh.program"), a.home()), Env: a.env, Stdin: a.in, Stderr: chatter{a.err}, Temp: a.getenv("TMPDIR")}
}

func expandHome(path, home string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && home != "" {
		return filepath.Join(home, rest)
	}
	return path
}

// errDeclined is a person's no.
var errDeclined = errors.New("declined: nothing was written")

// noTerminal is what commands that need a person say without one; status 1.
func noTerminal(command string) error {
	return &exitError{code: 1, err: fmt.Errorf("no terminal to ask on: a person must run %s", command), hint: command + "    # in a terminal"}
}

// question asks on the terminal and returns the answer in lower case. Only a
// terminal counts: an answer from a pipe is a program's.
type question struct {
	app    *app
	reader *bufio.Reader
}

func (a *app) question() question { return question{a, bufio.NewReader(a.in)} }

func (q question) ask(text string) (string, error) {
	if _, err := fmt.Fprint(q.app.out, escape.Block(text)+" "); err != nil {
		return "", err
	}
	line, err := q.reader.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return strings.ToLower(strings.TrimSpace(line)), nil
}

func yes(answer string) bool { return answer == "y" || answer == "yes" }

// chatter passes on what the signing program says ("Confirm user presence for key"),
// less the paths of our temporary files.
type chatter struct{ to io.Writer }

// Write drops whole lines; ssh-keygen writes one at a time.
func (c chatter) Write(p []byte) (int, error) {
	for line := range strings.SplitAfterSeq(string(p), "\n") {
		if strings.HasPrefix(line, "Signing file ") || strings.HasPrefix(line, "Write signature to ") {
			continue
		}
		if _, err := io.WriteString(c.to, line); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}
