package schedule

import "strings"

// wildcards are the characters that end the literal part of a pattern: unlazy's
// four, and the backslash, which only ever escapes one of them.
const wildcards = `*?[{\`

// Overlap reports whether two patterns may name the same thing. Path patterns
// (slash separated, doublestar syntax) are disjoint only if some literal segment
// differs before the first one that holds a wildcard; a folder overlaps what is
// in it. Resources (@name) overlap only if they are equal, and never a path.
// Case counts; a caller for whom it does not folds first.
func Overlap(a, b string) bool {
	if isResource(a) || isResource(b) {
		return a == b
	}
	as, bs := literal(a), literal(b)
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return false
		}
	}
	return true
}

func isResource(pattern string) bool { return strings.HasPrefix(pattern, "@") }

// literal returns the segments before the first that holds a wildcard. Two
// patterns overlap exactly if one's are a prefix of the other's. What could leave
// the tree ("..") is not compared: it overlaps.
func literal(pattern string) []string {
	var segments []string
	wild := false
	for s := range strings.SplitSeq(pattern, "/") {
		switch {
		case s == "" || s == ".":
		case s == "..":
			return nil
		case wild || strings.ContainsAny(s, wildcards):
			wild = true // only ".." still matters
		default:
			segments = append(segments, s)
		}
	}
	return segments
}
