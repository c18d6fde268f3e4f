// Package ghtest is a strict double of the part of GitHub's REST API that
// gatesworn uses: a real HTTP server over a small model of one repository.
//
// It promises that a request it does not know fails the test, that limits which
// the service enforces are enforced (bytes of an output, 50 annotations a call,
// permissions, pages of at most 100 with Link headers), that every call is
// recorded, and that faults happen exactly where they were asked for. That its
// requests and answers have the form of GitHub's own description is checked in
// action/e2e, which wraps it with a validator.
//
// It is for tests: it is imported by no product package.
package ghtest
