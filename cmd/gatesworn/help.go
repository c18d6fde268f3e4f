package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// topics are the second screens of help, for rarer work.
var topics = map[string]string{
	"ci": `Continuous integration
  gatesworn publish      publish a saved report; --dry-run prints what would be posted
  gatesworn plan matrix  a matrix of shards for the Actions strategy
  gatesworn check --as-pr --format json --output report.json
`,
	"work": `Coordinated work
  gatesworn scope   list, bind, log, claim, release, leases
  gatesworn wave    open, launch, seal, return, abandon, status
  gatesworn plan    next: which tasks may start now
  gatesworn hook    install, uninstall, stop, pre-push
`,
}

func newHelp(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Help about a command, or about ci or work", Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				_, err := fmt.Fprint(a.out, groups)
				return err
			}
			if text, ok := topics[args[0]]; ok && len(args) == 1 {
				_, err := fmt.Fprint(a.out, text)
				return err
			}
			found, rest, err := cmd.Root().Find(args)
			if err != nil || found == cmd.Root() || len(rest) > 0 {
				return usage("there is no help on %q", strings.Join(args, " "))
			}
			return found.Help()
		},
	}
}
