package main

import (
	"context"
	"errors"
)

// asPullRequest judges as the Action does.
func (s *session) asPullRequest(context.Context) error {
	return errors.New("--as-pr is being built")
}
