// Package signing finds the key a person signs approvals with and has OpenSSH
// sign: ssh-keygen -Y sign, or the program that git's gpg.ssh.program names, so
// that agents, passphrases and hardware keys work as they do for commits.
//
// It promises that only a key which allowed_signers lists is offered, that the
// program runs in an empty private folder and never in the repository, that it
// gets the statement's bytes and nothing else, and that a signature is returned
// only if it counts by approval/allowlist's rules. It asks nobody anything: the
// terminal and the decision to sign are the command's.
//
// The program's name must come from the user's own configuration. One from a
// repository's .git/config is the repository's author's program.
// It reads no environment; it comes in as a value. It imports approval/allowlist.
package signing
