package main

import "context"

// pullRequest says what a pull request with this gate would get (9-surfaces, B7).
// ok is false where that cannot be asked.
func (e *explanation) pullRequest(context.Context) (s side, ok bool, err error) {
	return side{place: "in a pull request"}, false, nil
}
