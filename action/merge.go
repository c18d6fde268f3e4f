package action

import (
	"errors"

	"github.com/gatesworn/gatesworn/gates"
)

// Merge makes one report of the parts of a sharded run, for display; see
// gates.Merge. A single whole report is returned as it is.
func Merge(parts []gates.Report) (gates.Report, error) {
	if len(parts) == 0 {
		return gates.Report{}, errors.New("there is no report")
	}
	if len(parts) == 1 && parts[0].Part == nil {
		return parts[0], nil
	}
	return gates.Merge(parts)
}
