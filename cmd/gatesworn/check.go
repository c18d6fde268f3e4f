package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gatesworn/gatesworn/internal/escape"
)

// checkFlags are the options of check.
type checkFlags struct {
	status, approve, reverify, asPR, verbose, receipts toggle
	jobs, timeout                                      number
	shell, cwd, root, scope, trustRef, output          text
	env, format, color                                 choice
	shard                                              shardFlag
}

func newCheck(a *app) *cobra.Command {
	f := checkFlags{
		jobs:     number{low: 1, high: 64},
		timeout:  number{low: 1, high: 86400},
		env:      choice{words: []string{"inherit", "clean"}},
		format:   choice{words: []string{"text", "json", "junit", "markdown"}},
		color:    choice{words: []string{"auto", "always", "never"}},
		shell:    text{kind: "SHELL"},
		cwd:      text{kind: "DIR"},
		root:     text{kind: "DIR"},
		scope:    text{kind: "ID"},
		trustRef: text{kind: "REF"},
		output:   text{kind: "FILE"},
	}
	cmd := &cobra.Command{
		Use:   "check [LEDGER…] [LEDGER:ID…]",
		Short: "Run what is approved and unmet, write evidence, print the verdict",
		Long: `Reads the ledger, runs the checks that are approved on this machine and not met
yet, writes evidence and prints the verdict. Without arguments the ledgers are
found: a scope in .unlazy/, else GATES.md and gates/*.md. Naming gates judges
only those.

Exit status: 0 all met · 1 not met, not approved or given up · 2 it cannot be known.`,
		Example: `  gatesworn check                       # run what is approved and unmet
  gatesworn check --approve GATES:G4    # read the command it prints: this runs it
  gatesworn check --reverify --jobs 4   # measure everything again, four at a time
  gatesworn check --as-pr               # what a pull request would get`,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			return a.completeGates(prefix), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.validate(); err != nil {
				return err
			}
			return a.check(cmd.Context(), f, args)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	addToggle(fs, &f.approve, "approve", "record what is pending as approved on this machine, and run it")
	addToggle(fs, &f.reverify, "reverify", "run every approved gate again, met or not")
	addToggle(fs, &f.status, "status", "say what the ledger claims; run nothing")
	addToggle(fs, &f.asPR, "as-pr", "decide exactly as the Action would; write nothing to a ledger")
	fs.Var(&f.jobs, "jobs", "checks at a time, 1 to 64 (default 1)")
	fs.Var(&f.timeout, "timeout", "seconds for a gate without TIMEOUT, 1 to 86400 (default 120)")
	fs.Var(&f.scope, "scope", "the scope in .unlazy/ to check")
	fs.Var(&f.root, "root", "where to look for ledgers (default: this folder)")
	fs.Var(&f.cwd, "cwd", "where checks run, instead of the ledger's folder or the root")
	fs.Var(&f.shell, "shell", "the shell that runs checks (default /bin/sh)")
	fs.Var(&f.env, "env", "inherit: pass the whole environment (default); clean: only what 'help ci' lists")
	fs.Var(&f.trustRef, "trust-ref", "with --as-pr: the ref whose signers count (default origin/HEAD)")
	addToggle(fs, &f.receipts, "receipts", "reuse results whose inputs did not change on this machine")
	fs.Var(&f.shard, "shard", "judge part I of N only, as plan matrix divides the gates")
	fs.Var(&f.format, "format", "text, json, junit or markdown")
	fs.Var(&f.output, "output", "write the format to FILE; text stays on standard output")
	fs.Var(&f.color, "color", "auto, always or never")
	addToggle(fs, &f.verbose, "verbose", "whole outputs, titles of met gates, digests")
	return cmd
}

// validate checks which options go together; values were checked when they were read.
func (f *checkFlags) validate() error {
	switch {
	case f.status.on && f.reverify.on:
		return usage("--status and --reverify exclude each other")
	case f.status.on && f.approve.on:
		return usage("--status runs nothing; remove --approve")
	case f.output.set && (f.format.value == "" || f.format.value == "text"):
		return usage("--output needs --format json, junit or markdown")
	case f.trustRef.set && !f.asPR.on:
		return usage("--trust-ref needs --as-pr")
	}
	if f.status.on {
		if set := f.set(map[string]bool{"--timeout": f.timeout.set, "--jobs": f.jobs.set, "--shell": f.shell.set, "--cwd": f.cwd.set, "--receipts": f.receipts.on}); set != "" {
			return usage("%s is for running checks; --status runs none", set)
		}
	}
	if f.asPR.on {
		if set := f.set(map[string]bool{
			"--approve": f.approve.on, "--reverify": f.reverify.on, "--cwd": f.cwd.set, "--scope": f.scope.set,
			"--timeout": f.timeout.set, "--shell": f.shell.set, "--env inherit": f.env.value == "inherit", "--receipts": f.receipts.on,
		}); set != "" {
			return usage("%s cannot be combined with --as-pr, which decides as the Action does", set)
		}
	}
	return nil
}

// set names the options that are on, sorted.
func (f *checkFlags) set(options map[string]bool) string {
	var on []string
	for name, is := range options {
		if is {
			on = append(on, name)
		}
	}
	slices.Sort(on)
	return strings.Join(on, ", ")
}

// again is the command that continues this one, or the bare command where an
// argument cannot be shown as it is. What was pending is recorded by then, so
// that --approve would only approve what changed meanwhile, unread.
func again(args []string) string {
	words := []string{"gatesworn"}
	for _, w := range args {
		if w == "--approve" {
			continue
		}
		q, ok := escape.ShellQuote(w)
		if !ok {
			return "gatesworn check"
		}
		words = append(words, q)
	}
	return strings.Join(words, " ")
}

func (a *app) warn(format string, args ...any) {
	fmt.Fprintln(a.err, "gatesworn: warning: "+fmt.Sprintf(format, args...))
}
