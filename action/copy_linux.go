package action

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/gatesworn/gatesworn/action/judge"
)

// copyTree copies the workspace for checks: regular files (by reference where the
// file system can), folders and links, all owned by uid and gid; times are kept for
// tools that compare them. Of .git everything that runs something or carries a
// credential stays behind. Sockets, devices and pipes are left out.
func copyTree(from, to string, uid, gid int) error {
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if stays(filepath.ToSlash(rel)) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return copyOne(path, filepath.Join(to, rel), rel, info, uid, gid)
	})
	if err != nil {
		return fmt.Errorf("cannot copy the workspace: %w", err)
	}
	return times(from, to)
}

// stays reports what is not copied.
func stays(rel string) bool {
	if rel == judge.OutFolder {
		return true
	}
	inGit, ok := strings.CutPrefix(rel, ".git/")
	if !ok {
		return false
	}
	name := inGit[strings.LastIndexByte(inGit, '/')+1:]
	switch name {
	case "hooks", "config.worktree", "FETCH_HEAD", "fsmonitor--daemon", "fsmonitor--daemon.ipc":
		return true
	}
	return strings.Contains(name, "credential")
}

func copyOne(from, to, rel string, info fs.FileInfo, uid, gid int) error {
	switch mode := info.Mode(); {
	case mode.IsDir():
		return errors.Join(os.MkdirAll(to, 0o700), os.Chmod(to, mode.Perm()|0o700), os.Lchown(to, uid, gid))
	case mode&fs.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return errors.Join(os.Symlink(target, to), os.Lchown(to, uid, gid))
	case mode.IsRegular() && gitConfig(filepath.ToSlash(rel)):
		return copyConfig(from, to, uid, gid)
	case mode.IsRegular():
		return copyFile(from, to, mode.Perm()|0o400, uid, gid)
	}
	return nil
}

// gitConfig reports a repository's configuration: the workspace's own, and those
// of submodules.
func gitConfig(rel string) bool {
	return rel == ".git/config" || strings.HasPrefix(rel, ".git/modules/") && strings.HasSuffix(rel, "/config")
}

func copyConfig(from, to string, uid, gid int) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if data, err = cleanConfig(data); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(to, data, 0o644), os.Lchown(to, uid, gid))
}

func copyFile(from, to string, mode fs.FileMode, uid, gid int) error {
	in, err := os.OpenFile(from, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	err = unix.IoctlFileClone(int(out.Fd()), int(in.Fd()))
	if err != nil { // another file system, or one that cannot share blocks
		_, err = io.Copy(out, in)
	}
	return errors.Join(err, out.Chown(uid, gid), out.Chmod(mode), out.Close())
}

// times gives the copies the originals' times, folders last.
func times(from, to string) error {
	return filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		rel, err := filepath.Rel(to, path)
		if err != nil {
			return err
		}
		if info, err := os.Stat(filepath.Join(from, rel)); err == nil {
			return os.Chtimes(path, info.ModTime(), info.ModTime())
		}
		return nil
	})
}
