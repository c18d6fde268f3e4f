package safefile

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := write(t, join(dir, "file"), "hello")
	for _, max := range []int64{5, 6, 1 << 40} {
		f, err := Read(path, max)
		if err != nil || string(f.Data) != "hello" || f.Mode.Perm() != 0o644 {
			t.Errorf("max %d: %q %v %v", max, f.Data, f.Mode, err)
		}
	}
	for _, max := range []int64{0, 4} {
		f, err := Read(path, max)
		if !errors.Is(err, ErrSize) || f.Data != nil {
			t.Errorf("max %d: %v", max, err)
		}
	}
	empty := write(t, join(dir, "empty"), "")
	if f, err := Read(empty, 0); err != nil || len(f.Data) != 0 {
		t.Errorf("empty: %v", err)
	}
}

func TestReadRefusals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, join(dir, "file"), "x")
	must(t, os.Link(write(t, join(dir, "two"), "x"), join(dir, "names")))
	must(t, os.Symlink("file", join(dir, "link")))
	must(t, os.Symlink("nothing", join(dir, "dangling")))
	for name, want := range map[string]error{
		"absent": fs.ErrNotExist, "two": ErrHardLink, "names": ErrHardLink, ".": ErrKind,
		"link": ErrLink, "dangling": ErrLink, "file/below": nil, "nul\x00": nil,
	} {
		_, err := Read(join(dir, name), 10)
		refused(t, name, err, want)
		_, err = ReadBeneath(dir, name, 10)
		refused(t, name+" beneath", err, want)
	}
}

func TestReadBeneath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.MkdirAll(join(dir, "root", "a", "b"), 0o755))
	root := join(dir, "root")
	write(t, join(dir, "secret"), "s")
	write(t, join(root, "a", "b", "file"), "in")
	must(t, os.Symlink("b", join(root, "a", "alias")))
	must(t, os.Symlink(dir, join(root, "up")))
	must(t, os.Symlink("root", join(dir, "rootlink")))
	for _, rel := range []string{"a/b/file", "./a//b/file", "a/x/../b/file"} {
		if f, err := ReadBeneath(root, rel, 10); err != nil || string(f.Data) != "in" {
			t.Errorf("%s: %q %v", rel, f.Data, err)
		}
	}
	if _, err := ReadBeneath(join(dir, "rootlink"), "a/b/file", 10); err != nil {
		t.Errorf("the root itself may be a link: %v", err)
	}
	for rel, want := range map[string]error{
		"a/alias/file": ErrLink, "up/secret": ErrLink, "../secret": ErrOutside, "a/../../secret": ErrOutside,
		join(dir, "secret"): ErrOutside, "": ErrKind, "..": ErrOutside, "a/b": ErrKind,
		"a/b/file/x": ErrNotDir, "a/none/file": fs.ErrNotExist,
	} {
		_, err := ReadBeneath(root, rel, 10)
		refused(t, rel, err, want)
	}
	if _, err := ReadBeneath(join(dir, "none"), "file", 10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no root: %v", err)
	}
}

// hooked lets a test act at the second look at the name, which comes after the
// content was read.
func hooked(path string, act func(look int)) source {
	looks := 0
	return source{
		lstat: func() (fs.FileInfo, error) {
			looks++
			act(looks)
			return os.Lstat(path)
		},
		open: func() (*os.File, error) { return os.OpenFile(path, os.O_RDONLY|openGuards, 0) },
	}
}

func TestReadNoticesChanges(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(path string) error{
		"grows":     func(p string) error { return appendRaw(p, "more") },
		"shrinks":   func(p string) error { return os.Truncate(p, 1) },
		"rewritten": func(p string) error { return os.WriteFile(p, []byte("HELLO"), 0o644) },
		"chmod":     func(p string) error { return os.Chmod(p, 0o600) },
		"removed":   os.Remove,
		"linked":    func(p string) error { return os.Link(p, p+".2") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := write(t, join(t.TempDir(), "file"), "hello")
			_, err := hooked(path, func(look int) {
				if look == 2 {
					must(t, change(path))
				}
			}).read(10)
			if !errors.Is(err, ErrChanged) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestReadStartsAgainWhenReplaced(t *testing.T) {
	t.Parallel()
	path := write(t, join(t.TempDir(), "file"), "old")
	f, err := hooked(path, func(look int) {
		if look == 2 {
			must(t, Replace(path, []byte("new"), 0o644))
		}
	}).read(10)
	if err != nil || string(f.Data) != "new" {
		t.Errorf("%q %v", f.Data, err)
	}
	_, err = hooked(path, func(look int) {
		if look%2 == 0 {
			must(t, Replace(path, []byte("again"), 0o644))
		}
	}).read(10)
	if !errors.Is(err, ErrChanged) {
		t.Errorf("replaced for ever: %v", err)
	}
}

func appendRaw(path, s string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(s)
	return err
}

// refused checks an error: there is one, it is the wanted one and names the path.
func refused(t *testing.T, name string, err, want error) {
	t.Helper()
	switch {
	case err == nil:
		t.Errorf("%q: no error", name)
	case want != nil && !errors.Is(err, want):
		t.Errorf("%q: %v, want %v", name, err, want)
	case !strings.Contains(err.Error(), `"`) || strings.Contains(err.Error(), "\x00"):
		t.Errorf("%q: the path is not named: %v", name, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
