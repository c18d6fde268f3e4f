//go:build !linux

package runner

import (
	"errors"
	"os"
	"time"
)

// Slot needs Linux; elsewhere it refuses.
func Slot(conn *os.File, now func() time.Time) int { return 2 }

func newBackend(cfg Config) (backend, error) {
	if cfg.User != nil {
		return backend{}, errors.New("a dedicated user needs Linux")
	}
	return groupBackend(cfg), nil
}
