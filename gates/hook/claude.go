package hook

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gatesworn/gatesworn/internal/safefile"
)

// maxSettings is the size limit of a settings file, in bytes.
const maxSettings = 4 << 20

// Place is one of Claude Code's settings files.
type Place int

// Where an entry is installed. Local settings are not committed.
const (
	Local  Place = iota // ROOT/.claude/settings.local.json
	Shared              // ROOT/.claude/settings.json
	Global              // HOME/.claude/settings.json
)

// Claude is a settings file to edit.
type Claude struct {
	Root  string // absolute; of the project
	Home  string // absolute; of the user, for Global
	Place Place
}

// Outcome says what an edit did.
type Outcome struct {
	File     string // absolute
	Changed  bool   // false: it was as it should be
	Backup   string // the file as it was, "" if there was none
	Repaired bool   // an entry of ours named another program or scope
	Replaced int    // unlazy's entries that made way
	Removed  int    // our entries, by Uninstall
}

// SettingsError says why a settings file is left alone. It wraps ErrUnlazy or a
// safefile or fs error where that is the reason.
type SettingsError struct {
	File string
	Err  error
}

func (e *SettingsError) Error() string { return fmt.Sprintf("%s: left alone: %v", e.File, e.Err) }

// Unwrap gives the reason.
func (e *SettingsError) Unwrap() error { return e.Err }

// where is the folder and the name of the settings file. A linked ~/.claude is
// usual and the user's own; in a project no link is followed.
func (c Claude) where() (root, rel string) {
	switch c.Place {
	case Shared:
		return c.Root, ".claude/settings.json"
	case Global:
		if real, err := filepath.EvalSymlinks(filepath.Join(c.Home, ".claude")); err == nil {
			return real, "settings.json"
		}
		return c.Home, ".claude/settings.json"
	}
	return c.Root, ".claude/settings.local.json"
}

// File is the settings file's path.
func (c Claude) File() string {
	root, rel := c.where()
	return filepath.Join(root, filepath.FromSlash(rel))
}

// Install puts the Stop hook into the settings: binary is this program's absolute
// path; scope may be "". Doing it twice changes nothing. Entries of unlazy are
// an error (ErrUnlazy) unless replaceUnlazy; their scope is kept when scope is "".
// Every error is a *SettingsError.
func (c Claude) Install(binary, scope string, replaceUnlazy bool) (Outcome, error) {
	return c.edit(func(old []byte, o *Outcome) ([]byte, error) {
		if old == nil {
			old = []byte("{}\n")
		}
		s, err := readSettings(old)
		if err != nil {
			return nil, err
		}
		if scope == "" {
			for _, h := range s.pick(unlazyCommand.MatchString) {
				if m := unlazyScope.FindStringSubmatch(h.command); m != nil {
					scope = m[1]
				}
			}
		}
		command, err := Command(binary, scope)
		if err != nil {
			return nil, err
		}
		out, replaced, err := install(old, command, replaceUnlazy)
		o.Replaced = replaced
		o.Repaired = len(s.pick(isOurs)) > 0 && !bytes.Equal(out, old)
		return out, err
	})
}

// Uninstall takes our entries out and leaves everything else, unlazy's too.
func (c Claude) Uninstall() (Outcome, error) {
	return c.edit(func(old []byte, o *Outcome) (out []byte, err error) {
		if old == nil {
			return nil, nil
		}
		out, o.Removed, err = uninstall(old)
		return out, err
	})
}

func (c Claude) edit(do func(old []byte, o *Outcome) ([]byte, error)) (Outcome, error) {
	root, rel := c.where()
	o := Outcome{File: c.File()}
	fail := func(err error) (Outcome, error) { return Outcome{}, &SettingsError{o.File, err} }
	old, err := safefile.ReadBeneath(root, rel, maxSettings)
	absent := errors.Is(err, fs.ErrNotExist)
	if err != nil && !absent {
		return fail(err)
	}
	out, err := do(old.Data, &o)
	if err != nil {
		return fail(err)
	}
	if bytes.Equal(out, old.Data) {
		return o, nil
	}
	if _, err := readSettings(out); err != nil {
		return fail(fmt.Errorf("the edit would damage it: %w", err)) // a fault of ours: never written
	}
	mode := fs.FileMode(0o644)
	if absent {
		if dir := filepath.Dir(rel); dir != "." {
			if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return fail(err)
			}
		}
		err = safefile.CreateBeneath(root, rel, out, mode)
	} else {
		mode = old.Mode.Perm()
		if err := safefile.ReplaceBeneath(root, rel+".bak", old.Data, mode); err != nil {
			return fail(fmt.Errorf("cannot keep a copy: %w", err))
		}
		o.Backup = o.File + ".bak"
		now, readErr := safefile.ReadBeneath(root, rel, maxSettings)
		if readErr != nil || !bytes.Equal(now.Data, old.Data) {
			return fail(errors.New("it changed meanwhile; try again"))
		}
		err = safefile.ReplaceBeneath(root, rel, out, mode)
	}
	if err != nil {
		return fail(err)
	}
	o.Changed = true
	return o, nil
}
