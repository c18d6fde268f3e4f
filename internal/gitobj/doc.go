// Package gitobj reads a git repository in process: refs, commits, trees, blobs,
// attributes, ignore rules, and how a work tree differs from a tree.
//
// It promises that every object it returns was hashed again and has the name it
// was asked for (SHA-1 with collision detection, or SHA-256, as the repository
// says); that replace refs, grafts and alternates have no influence; that nothing
// named in a repository is ever executed (no git, filter, hook or fsmonitor); and
// that a hostile repository costs a typed error, not a panic, a hang or unbounded
// memory. Links inside the .git directory are refused.
//
// It does not check signatures of commits, does not write, does not follow
// promisor remotes, and does not read the environment: git's global configuration
// comes in as bytes. Formats follow gitformat-pack(5), gitformat-index(5),
// gitrepository-layout(5), gitignore(5) and gitattributes(5).
// It imports nothing of ours; anyone may import it.
package gitobj
