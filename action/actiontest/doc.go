// Package actiontest makes what the Action judges, for tests: a real git
// repository at a pull request's test merge, with a policy, signers and signed
// approvals, and GitHub's double that holds the very same objects.
//
// It promises that commits on disk and at the double have the same names, and that
// signatures are made by keys of the moment. It is imported by tests only.
package actiontest
