package gitobj

import (
	"io/fs"
	"os"
)

func openNoFollow(path string) (*os.File, error) { return os.Open(path) }

func isNotDir(error) bool { return false }

func executable(fs.FileMode) bool { return false }

// modesMatter is false where the file system keeps no executable bit.
const modesMatter = false
