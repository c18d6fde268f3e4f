package gitobj

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Repo is an open repository. It may be used from several goroutines. Close
// releases its pack files.
type Repo struct {
	top    string // "" for a bare repository
	gitDir string // of this work tree
	common string // shared by all work trees
	format Format
	config Config
	store  store
	trees  treeCache
	packed struct {
		once sync.Once
		refs []byte
		err  error
	}
}

// Find returns the top of the work tree that dir lies in: the nearest folder,
// upwards, that holds .git. dir must be absolute.
func Find(dir string) (string, error) {
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("%s %w: not absolute", dir, ErrName)
	}
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at, nil
		} else if !absent(err) {
			return "", err
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%s %w, nor is a folder above it", dir, ErrNoRepo)
		}
	}
}

// Open opens the repository whose work tree's top is the absolute path top, or
// that is the bare repository top. A .git file (submodule, linked work tree) is
// followed once; links are not.
func Open(top string) (*Repo, error) {
	if !filepath.IsAbs(top) {
		return nil, fmt.Errorf("%s %w: not absolute", top, ErrName)
	}
	r := &Repo{top: filepath.Clean(top)}
	if err := r.locate(); err != nil {
		return nil, err
	}
	if err := r.locateCommon(); err != nil {
		return nil, err
	}
	for _, d := range []string{r.gitDir, r.common, filepath.Join(r.common, "objects")} {
		if err := realDir(d); err != nil {
			if absent(err) {
				err = fmt.Errorf("%s %w: %s is missing", top, ErrNoRepo, d)
			}
			return nil, err
		}
	}
	if err := r.readConfig(); err != nil {
		return nil, err
	}
	r.store.init(filepath.Join(r.common, "objects"), r.format)
	return r, nil
}

// locate sets gitDir, and clears top for a bare repository.
func (r *Repo) locate() error {
	dot := filepath.Join(r.top, ".git")
	fi, err := os.Lstat(dot)
	switch {
	case err != nil && !absent(err):
		return err
	case err != nil:
		if _, err := os.Lstat(filepath.Join(r.top, "HEAD")); err != nil {
			return fmt.Errorf("%s %w", r.top, ErrNoRepo)
		}
		r.gitDir, r.top = r.top, ""
		return nil
	case fi.IsDir():
		r.gitDir = dot
		return nil
	}
	target, err := pointer(dot, "gitdir: ")
	if err != nil {
		return err
	}
	r.gitDir = target
	return nil
}

func (r *Repo) locateCommon() error {
	r.common = r.gitDir
	target, err := pointer(filepath.Join(r.gitDir, "commondir"), "")
	if err == nil {
		r.common = target
	} else if !absent(err) {
		return err
	}
	return nil
}

// pointer reads a one-line file that names a directory, relative to its own.
func pointer(path, prefix string) (string, error) {
	data, err := readRegular(path, MaxPath)
	if err != nil {
		return "", err
	}
	line, ok := strings.CutPrefix(strings.TrimRight(string(data), "\r\n"), prefix)
	if !ok || line == "" || strings.ContainsAny(line, "\x00\n") {
		return "", corrupt("%s", path)
	}
	target := filepath.FromSlash(line)
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(path), target)
	}
	return filepath.Clean(target), nil
}

func (r *Repo) readConfig() error {
	path := filepath.Join(r.common, "config")
	data, err := readRegular(path, maxConfig)
	if err != nil && !absent(err) {
		return err
	}
	if r.config, err = ParseConfig(data); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if r.format, err = objectFormat(r.config); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// objectFormat refuses what gitrepository-layout(5) says an implementation that
// does not know an extension must refuse.
func objectFormat(c Config) (Format, error) {
	version, _ := c.Get("core.repositoryformatversion")
	if version != "" && version != "0" && version != "1" {
		return 0, fmt.Errorf("core.repositoryformatversion %.20q %w", version, ErrUnsupported)
	}
	format := SHA1
	for _, s := range c.settings {
		if s.section != "extensions" || s.sub != "" {
			continue
		}
		switch s.key {
		case "noop", "preciousobjects", "partialclone", "worktreeconfig":
			continue
		}
		known := version == "1"
		switch {
		case !known:
		case s.key == "relativeworktrees":
		case s.key == "refstorage":
			known = s.value == "files"
		case s.key == "objectformat" && s.value == "sha1":
			format = SHA1
		case s.key == "objectformat" && s.value == "sha256":
			format = SHA256
		default:
			known = false
		}
		if !known && (version == "1" || s.key == "objectformat") {
			return 0, fmt.Errorf("extensions.%s = %.40q %w", s.key, s.value, ErrUnsupported)
		}
	}
	return format, nil
}

// Top is the work tree's top, absolute, "" for a bare repository.
func (r *Repo) Top() string { return r.top }

// GitDir is the absolute path of this work tree's git directory. A file a caller
// writes there is not part of any tree.
func (r *Repo) GitDir() string { return r.gitDir }

// Format is the repository's object format.
func (r *Repo) Format() Format { return r.format }

// Config is the repository's own configuration. It belongs to whoever made the
// repository: take values from it (a remote's URL), never a program.
func (r *Repo) Config() Config { return r.config }

// HashBlob is the name a blob of these bytes has in this repository.
func (r *Repo) HashBlob(data []byte) OID { return r.format.HashBlob(data) }

// Close releases pack files. Objects read before stay valid.
func (r *Repo) Close() error { return r.store.close() }
