package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gatesworn/gatesworn/action"
	"github.com/gatesworn/gatesworn/gates"
	"github.com/gatesworn/gatesworn/ghreport/markdown"
	"github.com/gatesworn/gatesworn/internal/safefile"
)

func newPublish(a *app) *cobra.Command {
	var dry toggle
	cmd := &cobra.Command{
		Use:   "publish REPORT…",
		Short: "Publish saved reports to a check run and a comment",
		Long: `Publishes a report that check --format json or the Action wrote; the reports of all
parts of a sharded run become one. It runs inside a workflow: repository, commit,
token and run come from the variables that GitHub sets there.

--dry-run needs none of them: it prints exactly what would be posted.

Exit status: the verdict's, 2 if nothing could be published.`,
		Example: `  gatesworn publish --dry-run .gatesworn-out/report.json
  gatesworn publish part-1.json part-2.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.publish(cmd.Context(), dry.on, args)
		},
	}
	addToggle(cmd.Flags(), &dry, "dry-run", "print what would be posted; no network")
	return cmd
}

func (a *app) publish(ctx context.Context, dry bool, files []string) error {
	if len(files) == 0 {
		return withHint(errors.New("publish needs a report"), "gatesworn publish --dry-run .gatesworn-out/report.json")
	}
	report, err := a.reports(files)
	if err != nil {
		return err
	}
	if dry {
		server := a.getenv("GITHUB_SERVER_URL")
		if server == "" {
			server = "https://github.com"
		}
		at := markdown.Place{Server: server}
		if repo, id := a.getenv("GITHUB_REPOSITORY"), a.getenv("GITHUB_RUN_ID"); repo != "" && id != "" {
			at.Log = server + "/" + repo + "/actions/runs/" + id
		}
		if err := action.DryRun(a.out, report, at); err != nil {
			return err
		}
		return status(gates.ExitCode(report))
	}
	env, secrets := action.TakeSecrets(a.env)
	host, err := a.host(env, secrets)
	if err != nil {
		return err
	}
	return status(action.Publish(ctx, host, report))
}

// reports reads and merges.
func (a *app) reports(files []string) (gates.Report, error) {
	dir, err := a.dir()
	if err != nil {
		return gates.Report{}, err
	}
	parts := make([]gates.Report, len(files))
	for i, name := range files {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		file, err := safefile.Read(path, action.MaxReport)
		if err != nil {
			return gates.Report{}, fmt.Errorf("cannot read the report: %w", err)
		}
		if parts[i], err = action.ParseReport(file.Data); err != nil {
			return gates.Report{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	return action.Merge(parts)
}
