package safefile

import (
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// openGuards is empty: Windows has neither flag. Kind and identity are compared
// before and after the open instead.
const openGuards = 0

func isLoop(error) bool { return false }

// inode gives the number of names and the time of the last write.
func inode(f *os.File, _ fs.FileInfo) (links uint64, changed int64, err error) {
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &info); err != nil {
		return 0, 0, err
	}
	return uint64(info.NumberOfLinks), info.LastWriteTime.Nanoseconds(), nil
}

// linkCount opens the file, because a look by name does not give the number. A
// file that cannot be opened counts as one name: the rename will say why.
func linkCount(p place, _ fs.FileInfo) uint64 {
	f, err := p.root.Open(p.name)
	if err != nil {
		return 1
	}
	defer f.Close()
	links, _, err := inode(f, nil)
	if err != nil {
		return 1
	}
	return links
}

// keepOwner does nothing: a new file gets the owner and the rights of its folder.
func keepOwner(*os.File, fs.FileInfo) error { return nil }

// syncFolder does nothing: Windows cannot flush a folder.
func syncFolder(*os.Root) error { return nil }

func private(fs.FileInfo) error { return nil }
