package main

import "testing"

// TestOnlyTheCommandLineReuses: receipts are this user's on this machine. What
// judges pull requests cannot even reach them (6-coordination, Receipts).
func TestOnlyTheCommandLineReuses(t *testing.T) {
	t.Parallel()
	found := false
	for _, p := range packages(t) {
		for _, to := range p.ours() {
			if to != "gates/receipt" {
				continue
			}
			if found = true; !under(p.name(), "cmd") {
				t.Errorf("%s must not import %s", p.name(), to)
			}
		}
	}
	if !found {
		t.Error("nobody imports gates/receipt: this test shows nothing")
	}
}
