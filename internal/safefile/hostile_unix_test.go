//go:build unix

package safefile

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// nobody is the user that tests for unreadable and read-only things run as: root may everything.
const nobody = 65534

func TestSpecialFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, unix.Mkfifo(join(dir, "fifo"), 0o666))
	must(t, os.Symlink("fifo", join(dir, "link")))
	for _, path := range []string{join(dir, "fifo"), "/dev/null", "/dev/zero", "/"} {
		_, err := Read(path, 10)
		refused(t, path, err, ErrKind)
		refused(t, path, Replace(path, []byte("x"), 0o600), nil)
		refused(t, path, Append(path, []byte("x"), 0o600), ErrKind)
		refused(t, path, Create(path, []byte("x"), 0o600), fs.ErrExist)
		_, err = Acquire(ended(), path)
		refused(t, path, err, ErrKind)
	}
	_, err := ReadBeneath(dir, "fifo", 10)
	refused(t, "fifo beneath", err, ErrKind)
	if got := names(t, dir); got != "fifo link" {
		t.Error(got)
	}
	_, err = Read("/proc/self/status", 1<<20)
	refused(t, "a file of unknown size", err, nil)
}

// Whatever appears between the look at the name and the open is refused too.
func TestSwappedBeforeOpen(t *testing.T) {
	t.Parallel()
	for name, swap := range map[string]func(path string) error{
		"fifo":   func(p string) error { return unix.Mkfifo(p, 0o600) },
		"link":   func(p string) error { return os.Symlink("other", p) },
		"folder": func(p string) error { return os.Mkdir(p, 0o700) },
		"gone":   func(string) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := write(t, join(dir, "file"), "x")
			write(t, join(dir, "other"), "secret")
			s := hooked(path, func(int) {})
			open := s.open
			s.open = func() (*os.File, error) {
				must(t, os.Remove(path))
				must(t, swap(path))
				return open()
			}
			f, err := s.readOnce(10)
			if err == nil || f.Data != nil {
				t.Errorf("%q %v", f.Data, err)
			}
		})
	}
}

func TestOpenedFolderIsTheOneSeen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.Mkdir(join(dir, "a"), 0o755))
	must(t, os.Mkdir(join(dir, "b"), 0o755))
	p, err := openBeneath(dir, "a/file")
	must(t, err)
	defer p.close()
	must(t, os.Rename(join(dir, "a"), join(dir, "c")))
	must(t, os.Symlink("b", join(dir, "a")))
	must(t, p.replace([]byte("x"), 0o600))
	if names(t, join(dir, "b")) != "" || names(t, join(dir, "c")) != "file" {
		t.Error("the write followed a folder that was swapped")
	}
}

func TestPrivateDir(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, PrivateDir(join(dir, "a", "b")))
	must(t, PrivateDir(join(dir, "a", "b")))
	for _, d := range []string{"a", "a/b"} {
		if info, err := os.Stat(join(dir, d)); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v %v", d, info.Mode(), err)
		}
	}
	must(t, os.Symlink("a", join(dir, "link")))
	write(t, join(dir, "file"), "")
	for _, mode := range []fs.FileMode{0o710, 0o701, 0o720, 0o755, 0o777} {
		must(t, os.Mkdir(join(dir, "open"), 0o700))
		must(t, os.Chmod(join(dir, "open"), mode))
		refused(t, mode.String(), PrivateDir(join(dir, "open")), ErrShared)
		must(t, os.Remove(join(dir, "open")))
	}
	refused(t, "link", PrivateDir(join(dir, "link")), ErrLink)
	refused(t, "file", PrivateDir(join(dir, "file")), ErrNotDir)
	refused(t, "below a file", PrivateDir(join(dir, "file", "x")), nil)
	if os.Geteuid() == 0 {
		must(t, os.Mkdir(join(dir, "theirs"), 0o700))
		must(t, os.Chown(join(dir, "theirs"), nobody, nobody))
		refused(t, "theirs", PrivateDir(join(dir, "theirs")), ErrOwner)
	}
}

func TestReplaceKeepsTheOwner(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		missing(t, "root")
	}
	path := write(t, join(t.TempDir(), "file"), "x")
	must(t, os.Chown(path, nobody, nobody))
	must(t, Replace(path, []byte("y"), 0o644))
	info, err := os.Stat(path)
	must(t, err)
	if st := info.Sys().(*syscall.Stat_t); st.Uid != nobody || st.Gid != nobody {
		t.Errorf("owner is %d:%d", st.Uid, st.Gid)
	}
}

// asNobody runs a helper without rights and gives what it says. The test binary
// is copied to where that user can run it.
func asNobody(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	data, err := os.ReadFile(self)
	must(t, err)
	binary := join(dir, "helper")
	must(t, os.WriteFile(binary, data, 0o755))
	cmd := exec.Command(binary, args...)
	cmd.Dir = "/"
	cmd.Env = []string{child + "=" + name}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	var out bytes.Buffer
	cmd.Stderr = &out
	if err := cmd.Run(); err != nil && out.Len() == 0 {
		t.Fatal(err)
	}
	return out.String()
}

// public makes a folder that everybody can enter; t.TempDir's parent is closed.
func public(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "safefile")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	return dir
}

func TestWithoutRights(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		missing(t, "root")
	}
	bin := public(t)
	dir := join(bin, "readonly")
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.Chmod(write(t, join(dir, "closed"), "old"), 0o600))
	must(t, os.Chmod(write(t, join(dir, "open"), "old"), 0o666))
	for _, call := range [][]string{
		{"read", "closed"},
		{"replace-once", "closed"},
		{"replace-once", "open"},
		{"replace-once", "new"},
		{"create-once", "new"},
		{"append-once", "closed"},
		{"append-once", "new"},
		{"private", "new"},
		{"hold", "new"},
	} {
		path := join(dir, call[1])
		said := asNobody(t, bin, call[0], path)
		if !strings.Contains(said, "permission denied") || !strings.Contains(said, path) {
			t.Errorf("%v: %q", call, said)
		}
	}
	if got := names(t, dir); got != "closed open" || content(t, join(dir, "closed")) != "old" || content(t, join(dir, "open")) != "old" {
		t.Errorf("changed: %s", got)
	}
	if said := asNobody(t, bin, "private", dir); !strings.Contains(said, "belongs to another user") {
		t.Errorf("%q", said)
	}
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t)
	path := write(t, join(dir, "file"), "old")
	log := write(t, join(dir, "log"), "one\n")
	big := bytes.Repeat([]byte("x"), 1<<20)
	refused(t, "replace", Replace(path, big, 0o600), unix.ENOSPC)
	refused(t, "create", Create(join(dir, "new"), big, 0o600), unix.ENOSPC)
	refused(t, "append", Append(log, big, 0o600), unix.ENOSPC)
	if got := names(t, dir); got != "file log" || content(t, path) != "old" || content(t, log) != "one\n" {
		t.Errorf("damaged: %s, log of %d bytes", got, len(content(t, log)))
	}
	must(t, Replace(path, []byte("fits"), 0o600))
}

func TestReadOnlyDisk(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t)
	path := write(t, join(dir, "file"), "old")
	remountReadOnly(t, dir)
	for name, err := range map[string]error{
		"replace": Replace(path, nil, 0o600), "create": Create(join(dir, "new"), nil, 0o600),
		"append": Append(path, []byte("x"), 0o600), "private": PrivateDir(join(dir, "new")),
	} {
		if !errors.Is(err, unix.EROFS) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if f, err := Read(path, 10); err != nil || string(f.Data) != "old" {
		t.Errorf("%q %v", f.Data, err)
	}
}
