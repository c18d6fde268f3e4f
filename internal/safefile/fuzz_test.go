package safefile

import (
	"os"
	"testing"
)

// No relative path, however it is written, reads or writes anything but a file
// beneath the root that is reached without a link.
func FuzzBeneath(f *testing.F) {
	for _, rel := range []string{
		"file", "a/file", "../secret", "a/../../secret", "up/secret", "a/up/secret", "alias/file", "", ".", "/", "//secret",
		"./a//file", "a/./file", "a/..", "file/..", "file/../file", "link", "a/link", `..\secret`, "a\x00b", "up/../file", "C:file",
	} {
		f.Add(rel)
	}
	f.Fuzz(func(t *testing.T, rel string) {
		if len(rel) > 300 {
			t.Skip("longer than paths are")
		}
		dir := t.TempDir()
		root := join(dir, "root")
		must(t, os.MkdirAll(join(root, "a"), 0o755))
		secret := write(t, join(dir, "secret"), "outside")
		write(t, join(root, "file"), "inside")
		write(t, join(root, "a", "file"), "inside")
		for link, to := range map[string]string{
			"up": dir, "a/up": "../..", "alias": "a", "link": secret, "a/link": "file",
		} {
			must(t, os.Symlink(to, join(root, link)))
		}
		if got, err := ReadBeneath(root, rel, 100); err == nil && string(got.Data) != "inside" {
			t.Errorf("%q was read: %q", rel, got.Data)
		}
		_ = CreateBeneath(root, rel, []byte("new"), 0o600)
		_ = ReplaceBeneath(root, rel, []byte("new"), 0o600)
		if names(t, dir) != "root secret" || content(t, secret) != "outside" {
			t.Errorf("%q reached the outside", rel)
		}
	})
}
