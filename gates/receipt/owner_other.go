//go:build !unix

package receipt

import "io/fs"

// ours looks at the kind only: rights are inherited from the user's profile.
func ours(info fs.FileInfo) bool { return info.Mode().IsRegular() }
