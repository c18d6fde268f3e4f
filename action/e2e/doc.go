// Package e2e holds tests that need large or foreign tools: GitHub's OpenAPI
// description, its example payloads, a browser, a container engine. It is a module
// of its own, so that nobody who uses gatesworn downloads them.
//
// fetch.sh brings what comes from npm. Without it the tests skip, unless
// REQUIRE_TOOLS=1 is set, as in CI.
package e2e
