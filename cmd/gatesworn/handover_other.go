//go:build !unix

package main

import "errors"

// handOver cannot replace a process here: other processes of the same user can
// read its environment, and the report of host mode says that nothing is isolated.
func handOver(_, _, _ []string) error { return errors.ErrUnsupported }
