package runner

import (
	"os"
	"testing"
	"time"
)

// The test binary is its own slot helper, and its own checker for the tests that
// kill one.
const (
	slotCommand    = "gatesworn-test-slot"
	checkerCommand = "gatesworn-test-checker"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case slotCommand:
			os.Exit(Slot(os.Stdin, time.Now))
		case checkerCommand:
			os.Exit(checkerMain(os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}
