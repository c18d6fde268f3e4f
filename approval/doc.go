// Package approval is the consent to run: the oracle (what is approved), the
// policy, the trust root and the one decision function that every path to
// execution goes through.
//
// It promises that an oracle holds everything of a definition except its
// evidence, that a decision is made from values read once, that a refusal names
// the first rule that failed and what cures it, and that doubt refuses. It is
// no sandbox and no proof that a command measures its outcome. It executes
// nothing.
//
// What it judges comes in as values: trees (Tree), statements and who signed them
// (Statement), root files (TrustRoot), local records (Local). A mode, root, policy,
// comparison or guard that was never filled in refuses.
//
// It imports gates/ledger and internal/*. approval/store holds the records of
// one user on one machine, approval/allowlist the statements a repository signs,
// approval/signing makes signatures.
package approval
