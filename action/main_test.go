package action

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/gatesworn/gatesworn/gates/runner"
)

const slotCommand = "__slot"

// TestMain makes the test binary serve as slot helper and as probe.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case slotCommand:
			os.Exit(runner.Slot(os.Stdin, time.Now))
		case ProbeCommand:
			if Probe(os.Args[2:], os.Stdout) != nil {
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// noSleep waits for nobody.
func noSleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }
