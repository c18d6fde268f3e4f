package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/gatesworn/gatesworn/approval/store"
	"github.com/gatesworn/gatesworn/internal/safefile"
)

func TestFolderRules(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("links and modes")
	}
	base := filepath.Dir(filepath.Dir(folder(t)))
	repo := filepath.Join(base, "repo")
	mk := func(p string, mode os.FileMode) string {
		t.Helper()
		p = filepath.Join(base, p)
		if err := errors.Join(os.MkdirAll(p, 0o700), os.Chmod(p, mode)); err != nil {
			t.Fatal(err)
		}
		return p
	}
	mk("repo/in", 0o700)
	link := func(to, name string) string {
		t.Helper()
		name = filepath.Join(base, name)
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
		return name
	}
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, dir string
		want      error
	}{
		{"private", mk("good", 0o700), nil},
		{"missing", filepath.Join(base, "not", "yet"), nil},
		{"beside, with a longer name", mk("repo-approved", 0o700), nil},
		{"relative", "approved", store.ErrPlace},
		{"the repository", repo, store.ErrPlace},
		{"in the repository", filepath.Join(repo, "in"), store.ErrPlace},
		{"missing in the repository", filepath.Join(repo, "not", "yet"), store.ErrPlace},
		{"in the repository over a link", filepath.Join(link(repo, "alias"), "in"), store.ErrPlace},
		{"missing in the repository over a link", filepath.Join(link(repo, "alias2"), "no"), store.ErrPlace},
		{"out of the repository by name only", filepath.Join(repo, "..", "repo", "in"), store.ErrPlace},
		{"a link out of the repository", link(base+"/good", "repo/out"), store.ErrPlace},
		{"a link", link(base+"/good", "linked"), safefile.ErrLink},
		{"a link to nothing", link(base+"/nothing", "dangling"), store.ErrPlace},
		{"group readable", mk("open", 0o750), safefile.ErrShared},
		{"world writable", mk("open2", 0o702), safefile.ErrShared},
		{"a file", file, safefile.ErrNotDir},
	}
	for _, test := range tests {
		s, err := store.Open(test.dir, repo)
		if test.want == nil && err == nil {
			if _, err := s.Put(context.Background(), day, binding("G1", "make")); err != nil {
				t.Errorf("%s: put: %v", test.name, err)
			}
			continue
		}
		if !errors.Is(err, test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	if _, err := store.Open(base, filepath.Join(base, "nowhere")); err == nil {
		t.Error("a repository that is not there")
	}
}

func TestSwappedFolder(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	b := binding("G1", "make")
	put(t, dir, b)
	s := open(t, dir)
	if err := errors.Join(os.Rename(dir, dir+".old"), os.Mkdir(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	if l, err := s.Lookup(b); !errors.Is(err, store.ErrPlace) {
		t.Error(l, err)
	}
	if _, err := s.Put(context.Background(), day, b); !errors.Is(err, store.ErrPlace) {
		t.Error(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if l, err := s.Lookup(b); err == nil {
		t.Error("a folder that is gone says not approved", l)
	}
}
