// Package doctor finds what makes the required check weaker than it looks: in the
// workflows, the code owners and the trust root of a repository.
//
// It promises that it looks at every workflow it is given and names what it could
// not read. It is pure: files come in as values; nothing is run and no API asked.
// Rulesets and who may bypass them are therefore not judged, and it says so.
package doctor
