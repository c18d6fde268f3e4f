package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gatesworn/gatesworn/gates/receipt"
	"github.com/gatesworn/gatesworn/internal/escape"
)

// maxNamed is how many changed files or variables explain names.
const maxNamed = 8

// receipt says whether check --receipts would reuse the gate's last result and,
// if not, what changed since.
func (e *explanation) receipt(ctx context.Context) error {
	book, err := e.receipts(ctx)
	if err != nil {
		return fmt.Errorf("cannot look at receipts: %w", err)
	}
	x := book.Explain(e.ref)
	says := "none"
	if !x.At.IsZero() {
		says = "from " + x.At.UTC().Format(time.RFC3339)
	}
	switch {
	case x.Holds:
		says += ": nothing changed since, check --receipts reuses it"
	case x.Reason != "":
		says += ": " + escape.LogLine(x.Reason)
	default:
		says += ": what changed since is " + changed(x)
	}
	_, err = fmt.Fprintf(e.app.out, "%-17s %s\n", "receipt", says)
	return err
}

// changed names the ingredients that differ, variables and files in brackets.
func changed(x receipt.Explanation) string {
	var parts []string
	for _, name := range x.Changed {
		var which []string
		switch name {
		case receipt.Environment:
			which = x.Variables
		case receipt.Files:
			which = x.Files
		}
		if len(which) > maxNamed {
			which = append(slices.Clone(which[:maxNamed]), fmt.Sprintf("%d more", len(which)-maxNamed))
		}
		if len(which) > 0 {
			name += " (" + strings.Join(which, ", ") + ")"
		}
		parts = append(parts, escape.LogLine(name))
	}
	return strings.Join(parts, ", ")
}
