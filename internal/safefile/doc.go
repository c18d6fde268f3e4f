// Package safefile reads and writes files that others may have prepared: links,
// FIFOs, huge files, files that change while they are read, full disks.
//
// It promises that a read returns the bytes of one unchanged regular single-link
// file within a limit or a typed error; that a replacement is complete or did not
// happen; that a lock is released by the kernel when its holder dies and is never
// stolen. It repairs nothing silently.
// It imports nothing of ours; anyone may import it.
package safefile
