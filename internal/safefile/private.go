package safefile

import (
	"io/fs"
	"os"
)

// PrivateDir makes sure that path is a folder of this user that nobody else can
// read or change, and never a link. It is created with mode 0700 if it is
// missing, its missing parents as well. What is there and is not private is
// refused (ErrLink, ErrNotDir, ErrOwner, ErrShared), never repaired. On Windows
// only the kind is looked at: permissions are inherited from the profile.
func PrivateDir(path string) error {
	if err := privateDir(path); err != nil {
		return failure("use folder", path, err)
	}
	return nil
}

func privateDir(path string) error {
	info, err := os.Lstat(path)
	if isAbsent(err) {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return err
		}
		info, err = os.Lstat(path)
	}
	if err != nil {
		return err
	}
	switch {
	case info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0:
		return ErrLink
	case !info.IsDir():
		return ErrNotDir
	}
	return private(info)
}
