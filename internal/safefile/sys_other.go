//go:build !linux && !darwin

package safefile

import "os"

// renameNew renames temp to name, which must not exist.
func renameNew(root *os.Root, temp, name string) error { return linkThenRemove(root, temp, name) }
