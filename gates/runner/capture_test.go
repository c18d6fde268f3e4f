package runner

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/gatesworn/gatesworn/gates/evidence"
)

// The tail is the end of everything that was added, whatever the pieces.
func TestCaptureAgainstModel(t *testing.T) {
	t.Parallel()
	var c capture
	rapid.Check(t, func(t *rapid.T) {
		c.reset() // also shows that nothing stays from the last time
		var all []byte
		var each [2][]byte
		fits := true
		for range rapid.IntRange(0, 30).Draw(t, "pieces") {
			stream := rapid.IntRange(0, 1).Draw(t, "stream")
			n := rapid.OneOf(rapid.IntRange(0, 10), rapid.IntRange(0, 3*TailSize), rapid.Just(evidence.MaxOutput/2)).Draw(t, "n")
			piece := make([]byte, n)
			for i := range piece {
				piece[i] = byte(len(all) + i*7)
			}
			all = append(all, piece...)
			each[stream] = append(each[stream], piece...)
			fits = fits && len(all) <= evidence.MaxOutput
			if c.add(stream, piece) != fits {
				t.Fatalf("add after %d bytes: fits = %v", len(all), !fits)
			}
		}
		if want := all[max(0, len(all)-TailSize):]; !bytes.Equal(c.tail(nil), want) || c.tailLen() != len(want) {
			t.Fatalf("tail of %d bytes differs", len(want))
		}
		for i := range each {
			if fits && !bytes.Equal(c.streams[i], each[i]) || !fits && len(c.streams[i]) > 0 {
				t.Fatalf("stream %d: %d bytes, want %d, fits = %v", i, len(c.streams[i]), len(each[i]), fits)
			}
		}
		if c.total != int64(len(all)) {
			t.Fatalf("total %d, want %d", c.total, len(all))
		}
	})
}
