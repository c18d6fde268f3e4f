package safefile

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
)

// maxName is the longest file name, in bytes, that common file systems take.
const maxName = 255

// Replace writes data to a temporary file beside path, flushes it, gives it mode
// and renames it over path, which must be absent or a regular file with one
// name. On an error path is as it was and no temporary file is left; only a
// process that is killed leaves one (.NAME.HEX.tmp). The permission bits of mode
// hold exactly, whatever the umask; the owner of a replaced file is kept where
// the system allows. Links in the folders of path are followed: ReplaceBeneath
// does not.
func Replace(path string, data []byte, mode fs.FileMode) error {
	return at("replace", path, func() (place, error) { return openPlace(path) }, func(p place) error {
		return p.replace(data, mode)
	})
}

// ReplaceBeneath is Replace of root/rel where no component of rel may be a link
// and the result lies beneath root.
func ReplaceBeneath(root, rel string, data []byte, mode fs.FileMode) error {
	return at("replace", rel, func() (place, error) { return openBeneath(root, rel) }, func(p place) error {
		return p.replace(data, mode)
	})
}

// Create is Replace for a file that must not exist yet; the error wraps
// fs.ErrExist if it does, whatever it is.
func Create(path string, data []byte, mode fs.FileMode) error {
	return at("create", path, func() (place, error) { return openPlace(path) }, func(p place) error {
		return p.create(data, mode)
	})
}

// CreateBeneath is Create of root/rel where no component of rel may be a link
// and the result lies beneath root.
func CreateBeneath(root, rel string, data []byte, mode fs.FileMode) error {
	return at("create", rel, func() (place, error) { return openBeneath(root, rel) }, func(p place) error {
		return p.create(data, mode)
	})
}

func at(verb, path string, open func() (place, error), do func(place) error) error {
	p, err := open()
	if err != nil {
		return failure(verb, path, err)
	}
	defer p.close()
	if err := do(p); err != nil {
		return failure(verb, path, err)
	}
	return nil
}

func (p place) replace(data []byte, mode fs.FileMode) error {
	old, err := p.target()
	if err != nil {
		return err
	}
	temp, err := p.temporary(data, mode, old)
	if err != nil {
		return err
	}
	// A link that somebody puts here now is replaced itself, never followed.
	if err := p.root.Rename(temp, p.name); err != nil {
		_ = p.root.Remove(temp)
		return err
	}
	return syncFolder(p.root)
}

func (p place) create(data []byte, mode fs.FileMode) error {
	// Asked first, so that a file that is there costs no write; what decides is renameNew.
	if _, err := p.root.Lstat(p.name); err == nil {
		return fs.ErrExist
	}
	temp, err := p.temporary(data, mode, nil)
	if err != nil {
		return err
	}
	if err := renameNew(p.root, temp, p.name); err != nil {
		_ = p.root.Remove(temp)
		return err
	}
	return syncFolder(p.root)
}

// temporary writes and flushes a file beside the target and returns its name.
func (p place) temporary(data []byte, mode fs.FileMode, old fs.FileInfo) (string, error) {
	name := "." + p.name + "." + suffix() + ".tmp"
	if len(name) > maxName {
		name = "." + suffix() + ".tmp"
	}
	f, err := p.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	err = fill(f, data, mode, old)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = p.root.Remove(name)
		return "", err
	}
	return name, nil
}

func fill(f *os.File, data []byte, mode fs.FileMode, old fs.FileInfo) error {
	if _, err := f.Write(data); err != nil {
		return err
	}
	if old != nil {
		if err := keepOwner(f, old); err != nil {
			return err
		}
	}
	if err := f.Chmod(mode.Perm()); err != nil {
		return err
	}
	return f.Sync()
}

// suffix is random, so that two writers never meet; crypto/rand does not fail.
func suffix() string {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// linkThenRemove is renameNew for systems without one: for a moment the file has two names.
func linkThenRemove(root *os.Root, temp, name string) error {
	if err := root.Link(temp, name); err != nil {
		return err
	}
	return root.Remove(temp)
}

func isAbsent(err error) bool { return errors.Is(err, fs.ErrNotExist) }
