// Package lazyregexp holds regular expressions that are compiled when they are
// first used: some seventy patterns cost 8 ms at the start of every process,
// slot helpers included, and most runs need a few of them.
//
// It promises regexp's semantics and nothing else. A pattern must be constant; a
// test compiles every pattern in the module, so that a wrong one is found there.
// It imports nothing of ours; anyone may import it.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Regexp is a regular expression in RE2 syntax. It is safe for concurrent use.
type Regexp struct {
	get func() *regexp.Regexp
}

// New returns the expression; a pattern that does not compile panics at its first use.
func New(pattern string) *Regexp {
	return &Regexp{get: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })}
}

// The methods are those of regexp.Regexp.

func (r *Regexp) Match(b []byte) bool                  { return r.get().Match(b) }
func (r *Regexp) MatchString(s string) bool            { return r.get().MatchString(s) }
func (r *Regexp) FindString(s string) string           { return r.get().FindString(s) }
func (r *Regexp) FindStringIndex(s string) []int       { return r.get().FindStringIndex(s) }
func (r *Regexp) FindStringSubmatch(s string) []string { return r.get().FindStringSubmatch(s) }

func (r *Regexp) FindStringSubmatchIndex(s string) []int     { return r.get().FindStringSubmatchIndex(s) }
func (r *Regexp) FindSubmatch(b []byte) [][]byte             { return r.get().FindSubmatch(b) }
func (r *Regexp) FindIndex(b []byte) []int                   { return r.get().FindIndex(b) }
func (r *Regexp) FindAllString(s string, n int) []string     { return r.get().FindAllString(s, n) }
func (r *Regexp) FindAllStringIndex(s string, n int) [][]int { return r.get().FindAllStringIndex(s, n) }
func (r *Regexp) FindSubmatchIndex(b []byte) []int           { return r.get().FindSubmatchIndex(b) }
func (r *Regexp) ReplaceAllString(s, with string) string     { return r.get().ReplaceAllString(s, with) }

func (r *Regexp) ReplaceAllStringFunc(s string, f func(string) string) string {
	return r.get().ReplaceAllStringFunc(s, f)
}

func (r *Regexp) FindAllSubmatch(b []byte, n int) [][][]byte { return r.get().FindAllSubmatch(b, n) }
func (r *Regexp) String() string                             { return r.get().String() }
