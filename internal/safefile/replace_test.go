package safefile

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
)

func TestReplace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := join(dir, "file")
	for i, mode := range []fs.FileMode{0o600, 0o644, 0o666, 0o400} {
		data := strings.Repeat("x", i)
		must(t, Replace(path, []byte(data), mode))
		f, err := Read(path, 10)
		if err != nil || string(f.Data) != data {
			t.Errorf("%q %v", f.Data, err)
		}
		if f.Mode != mode {
			t.Errorf("mode %v, want %v", f.Mode, mode)
		}
	}
	long := strings.Repeat("n", 255)
	must(t, Replace(join(dir, long), nil, 0o600))
	if got := names(t, dir); got != "file "+long {
		t.Errorf("left behind: %s", got)
	}
}

func TestReplaceRefusals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, join(dir, "file"), "x")
	must(t, os.Link(write(t, join(dir, "two"), "x"), join(dir, "names")))
	must(t, os.Symlink("file", join(dir, "link")))
	must(t, os.Symlink("nothing", join(dir, "dangling")))
	must(t, os.Mkdir(join(dir, "folder"), 0o755))
	must(t, os.Symlink("folder", join(dir, "way")))
	before := names(t, dir)
	for name, want := range map[string]error{
		"two": ErrHardLink, "link": ErrLink, "dangling": ErrLink, "folder": ErrKind, ".": ErrKind, "..": nil,
		"none/file": fs.ErrNotExist, "file/below": nil,
	} {
		refused(t, name, Replace(join(dir, name), []byte("new"), 0o644), want)
		if want == nil && name == ".." {
			want = ErrOutside
		}
		refused(t, name+" beneath", ReplaceBeneath(dir, name, []byte("new"), 0o644), want)
	}
	refused(t, "way", ReplaceBeneath(dir, "way/file", nil, 0o644), ErrLink)
	refused(t, "way", CreateBeneath(dir, "way/file", nil, 0o644), ErrLink)
	if after := names(t, dir); after != before || content(t, join(dir, "file")) != "x" || content(t, join(dir, "two")) != "x" {
		t.Errorf("changed: %s", after)
	}
	must(t, Replace(join(dir, "way", "through"), []byte("y"), 0o644))
	must(t, ReplaceBeneath(dir, "folder/through", []byte("z"), 0o644))
	if got := content(t, join(dir, "folder", "through")); got != "z" {
		t.Error(got)
	}
}

func TestCreate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := join(dir, "file")
	must(t, Create(path, []byte("one"), 0o640))
	refused(t, "again", Create(path, []byte("two"), 0o640), fs.ErrExist)
	must(t, os.Symlink("nothing", join(dir, "dangling")))
	refused(t, "dangling", Create(join(dir, "dangling"), nil, 0o600), fs.ErrExist)
	must(t, CreateBeneath(dir, "other", []byte("o"), 0o600))
	if f, err := Read(path, 10); err != nil || string(f.Data) != "one" || f.Mode != 0o640 {
		t.Errorf("%q %v %v", f.Data, f.Mode, err)
	}
	if got := names(t, dir); got != "dangling file other" {
		t.Error(got)
	}
}

// Whatever the file system offers, a name that appears after the first look is not replaced.
func TestCreateLosesARace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, join(dir, "file"), "theirs")
	write(t, join(dir, "temp"), "ours")
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	for _, rename := range []func(*os.Root, string, string) error{renameNew, linkThenRemove} {
		if err := rename(root, "temp", "file"); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%v", err)
		}
	}
	must(t, linkThenRemove(root, "temp", "new"))
	if got := names(t, dir); got != "file new" || content(t, join(dir, "file")) != "theirs" {
		t.Error(got)
	}
}

func TestAppend(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := join(dir, "log")
	must(t, Append(path, []byte("a\n"), 0o600))
	must(t, Append(path, []byte("b\n"), 0o600))
	if got := content(t, path); got != "a\nb\n" {
		t.Errorf("%q", got)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	must(t, os.Link(write(t, join(dir, "two"), "x"), join(dir, "names")))
	must(t, os.Symlink("log", join(dir, "link")))
	must(t, os.Symlink("new", join(dir, "dangling")))
	for name, want := range map[string]error{
		"two": ErrHardLink, "link": ErrLink, "dangling": ErrLink, ".": ErrKind, "none/log": fs.ErrNotExist,
	} {
		refused(t, name, Append(join(dir, name), []byte("c\n"), 0o600), want)
	}
	if got := names(t, dir); got != "dangling link log names two" || content(t, path) != "a\nb\n" || content(t, join(dir, "two")) != "x" {
		t.Error(got)
	}
}
