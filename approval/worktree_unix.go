//go:build !windows

package approval

// executableBits: a file's mode on disk says whether it is executable.
const executableBits = true
