package approval_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatesworn/gatesworn/approval"
)

var pinDay = time.Date(2026, 11, 30, 12, 0, 0, 5, time.UTC)

func pinned(t *testing.T) (approval.Pin, approval.Place, approval.TrustRoot) {
	t.Helper()
	root := validRoot()
	root.Ref = "origin/main"
	root.Revoked = []string{"sha256:aa"}
	place := approval.Place{Project: root.Policy.Project, Remote: "github.com/o/r", Top: "/home/a/r"}
	p, err := approval.NewPin(place, root, approval.RemoteDefault{Ref: "origin/main", Commit: root.Commit}, pinDay)
	if err != nil {
		t.Fatal(err)
	}
	return p, place, root
}

func TestNewPin(t *testing.T) {
	t.Parallel()
	_, place, root := pinned(t)
	for name, at := range map[string]approval.RemoteDefault{
		"on a pull request's branch": {Ref: "origin/main", Commit: strings.Repeat("1", 40)},
		"another ref":                {Ref: "origin/feature", Commit: root.Commit},
		"no ref":                     {Commit: root.Commit},
	} {
		if _, err := approval.NewPin(place, root, at, pinDay); !errors.Is(err, approval.ErrNotDefault) {
			t.Errorf("%s: %v", name, err)
		}
	}
	good := approval.RemoteDefault{Ref: "origin/main", Commit: root.Commit}
	for name, make := range map[string]func() (approval.Pin, error){
		"broken root": func() (approval.Pin, error) { return approval.NewPin(place, root.Break(errors.New("x")), good, pinDay) },
		"zero root":   func() (approval.Pin, error) { return approval.NewPin(place, approval.TrustRoot{}, good, pinDay) },
		"another project": func() (approval.Pin, error) {
			return approval.NewPin(approval.Place{Project: "aaaaaaaaaa", Remote: "x"}, root, good, pinDay)
		},
		"nowhere": func() (approval.Pin, error) {
			return approval.NewWrittenPin(approval.Place{Project: place.Project}, root, pinDay)
		},
	} {
		if p, err := make(); err == nil {
			t.Errorf("%s: pinned %+v", name, p)
		}
	}
}

func TestPinCheck(t *testing.T) {
	t.Parallel()
	p, _, root := pinned(t)
	if err := p.Check(root); err != nil {
		t.Fatal(err)
	}
	more := root
	more.Revoked = []string{"sha256:aa", "sha256:bb"}
	if err := p.Check(more); err != nil {
		t.Error("a revocation more", err)
	}
	tests := map[string]struct {
		edit func(*approval.TrustRoot)
		want error
	}{
		"signers":         {func(r *approval.TrustRoot) { r.SignersSHA256 = strings.Repeat("c", 64) }, approval.ErrPinChanged},
		"policy":          {func(r *approval.TrustRoot) { r.PolicySHA256 = strings.Repeat("c", 64) }, approval.ErrPinChanged},
		"project":         {func(r *approval.TrustRoot) { r.Policy.Project = "aaaaaaaaaa" }, approval.ErrPinChanged},
		"nothing":         {func(r *approval.TrustRoot) { *r = approval.TrustRoot{} }, approval.ErrPinChanged},
		"a revocation":    {func(r *approval.TrustRoot) { r.Revoked = nil }, approval.ErrPinLost},
		"broken":          {func(r *approval.TrustRoot) { r.State = approval.RootBroken }, approval.ErrPinChanged},
		"missing digests": {func(r *approval.TrustRoot) { r.SignersSHA256 = "" }, approval.ErrPinChanged},
	}
	for name, test := range tests {
		r := root
		test.edit(&r)
		if err := p.Check(r); !errors.Is(err, test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if (approval.Pin{}).Check(root) == nil || (approval.Pin{}).Check(approval.TrustRoot{}) == nil {
		t.Error("the zero pin counts")
	}
	seen, changed := p.Seen(approval.Unite([]string{"sha256:bb"}))
	if !changed || len(seen.Revoked) != 2 || !errors.Is(seen.Check(root), approval.ErrPinLost) {
		t.Error("what was seen is forgotten", seen)
	}
	if _, changed := p.Seen(approval.Unite([]string{"sha256:aa"})); changed {
		t.Error("nothing new changes the pin")
	}
}

func TestPinSaveLoad(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "state", "pins")
	p, place, root := pinned(t)
	if _, err := approval.LoadPin(folder, place); !errors.Is(err, approval.ErrNoPin) {
		t.Fatal("no folder:", err)
	}
	ctx := context.Background()
	if err := approval.SavePin(ctx, folder, p); err != nil {
		t.Fatal(err)
	}
	got, err := approval.LoadPin(folder, place)
	if diff := cmp.Diff(p, got); diff != "" || err != nil {
		t.Fatal(diff, err)
	}
	elsewhere := place
	elsewhere.Top = "/home/b/r"
	if _, err := approval.LoadPin(folder, elsewhere); err != nil {
		t.Error("another clone of the same remote:", err)
	}
	for _, other := range []approval.Place{
		{Project: "aaaaaaaaaaaa", Remote: place.Remote}, {Project: place.Project, Remote: "github.com/o/r-evil"}, {Project: place.Project, Top: place.Top},
	} {
		if _, err := approval.LoadPin(folder, other); !errors.Is(err, approval.ErrNoPin) {
			t.Errorf("%+v: %v", other, err)
		}
	}
	// A pin made again from an older root keeps what was seen.
	old := root
	old.Revoked = nil
	again, err := approval.NewWrittenPin(place, old, pinDay)
	if err != nil || approval.SavePin(ctx, folder, again) != nil {
		t.Fatal(err)
	}
	if got, err := approval.LoadPin(folder, place); err != nil || len(got.Revoked) != 1 {
		t.Error("a revocation was forgotten", got, err)
	}
}

func TestPinByFolder(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	_, place, root := pinned(t)
	if err := os.Chmod(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	local := approval.Place{Project: place.Project, Top: place.Top}
	p, err := approval.NewWrittenPin(local, root, pinDay)
	if err != nil || approval.SavePin(context.Background(), folder, p) != nil {
		t.Fatal(err)
	}
	if _, err := approval.LoadPin(folder, place); err != nil {
		t.Error("a remote was added since:", err)
	}
	place.Top = "/home/b/other"
	if _, err := approval.LoadPin(folder, place); !errors.Is(err, approval.ErrNoPin) {
		t.Error("another folder:", err)
	}
}

func TestPinRefusals(t *testing.T) {
	t.Parallel()
	p, place, _ := pinned(t)
	tests := map[string]func(path string) error{
		"edited":     func(path string) error { return appendTo(path, " ") },
		"not JSON":   func(path string) error { return os.WriteFile(path, []byte("{"), 0o600) },
		"accessible": func(path string) error { return os.Chmod(path, 0o644) },
		"a link": func(path string) error {
			return errors.Join(os.Rename(path, path+".x"), os.Symlink(path+".x", path))
		},
		"a second name":       func(path string) error { return os.Link(path, path+".x") },
		"an open folder":      func(path string) error { return os.Chmod(filepath.Dir(path), 0o755) },
		"of another project":  func(path string) error { return swap(path, place.Project, "aaaaaaaaaaaa") },
		"of another remote":   func(path string) error { return swap(path, "github.com/o/r", "github.com/o/x") },
		"of another version":  func(path string) error { return swap(path, `"v": 1`, `"v": 2`) },
		"with an unknown key": func(path string) error { return swap(path, `"v": 1`, `"v": 1,`+"\n  "+`"trusted": true`) },
	}
	for name, do := range tests {
		folder := filepath.Join(t.TempDir(), "pins")
		if err := approval.SavePin(context.Background(), folder, p); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(folder, "*.json"))
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		if err := do(files[0]); err != nil {
			t.Fatal(name, err)
		}
		got, err := approval.LoadPin(folder, place)
		if err == nil || errors.Is(err, approval.ErrNoPin) || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if approval.SavePin(context.Background(), folder, p) == nil {
			t.Errorf("%s: repaired silently", name)
		}
	}
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

func swap(path, old, new string) error {
	data, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(data), old) {
		return errors.Join(err, errors.New("nothing to swap"))
	}
	return os.WriteFile(path, []byte(strings.Replace(string(data), old, new, 1)), 0o600)
}

func TestRemoteIdentity(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"":                                      "",
		"https://github.com/o/r.git":            "github.com/o/r",
		"https://user:secret@GitHub.com/o/r":    "github.com/o/r",
		"ssh://git@github.com:22/o/r.git/":      "github.com/o/r",
		"git@github.com:o/r.git":                "github.com/o/r",
		"github.com:o/r":                        "github.com/o/r",
		"https://github.com/o/r-evil":           "github.com/o/r-evil",
		"/srv/git/r.git":                        "/srv/git/r.git",
		"../r":                                  "../r",
		`C:\repos\r`:                            `C:\repos\r`,
		"https://github.com.evil.example/o/r":   "github.com.evil.example/o/r",
		"https://evil.example/github.com/o/r":   "evil.example/github.com/o/r",
		"https://github.com@evil.example/o/r":   "evil.example/o/r",
		"https://github.com/o/r?x=github.com/o": "github.com/o/r",
	} {
		if got := approval.RemoteIdentity(url); got != want {
			t.Errorf("%q: %q, want %q", url, got, want)
		}
	}
}
