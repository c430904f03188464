// Command aiflow-land lands finished branches on another one: a merge queue without
// a forge. With --dry-run it says what would come of it.
//
// It does not run requests and pushes nothing.
package main

import (
	"context"
	"os"
	"slices"

	urfave "github.com/urfave/cli/v2"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/gitops"
	"aiflow/internal/term"
	"aiflow/reqmeta"
	"aiflow/runner/land"
)

var version, commit string // set by the linker

func main() { os.Exit(cli.Main(cli.OS(version, commit), program)) }

func program(s *cli.Shell) *urfave.App {
	var all, dryRun bool
	var ask land.Options
	return &urfave.App{
		Name: "aiflow-land", Usage: "land.usage", Description: "land.description", ArgsUsage: "[RUN|REQUEST...]",
		UsageText: "aiflow-land --dry-run\naiflow-land --all\naiflow-land RQ-20251214-001 RQ-20251214-002\naiflow-land --all --into integration --method squash",
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "all", Usage: "land.flag_all", Destination: &all},
			&urfave.StringFlag{Name: "into", Usage: "land.flag_into", Destination: &ask.Into},
			&urfave.StringFlag{Name: "method", Usage: "land.flag_method", Destination: (*string)(&ask.Method)},
			&urfave.BoolFlag{Name: "dry-run", Usage: "land.flag_dry_run", Destination: &dryRun},
			&urfave.DurationFlag{Name: "wait", Usage: "land.flag_wait", Destination: &ask.Wait},
		},
		Action: func(c *urfave.Context) error {
			if err := cli.Named(c, "into"); err != nil {
				return err
			}
			ask.Names = c.Args().Slice()
			switch {
			case !slices.Contains([]gitops.Method{"", gitops.Merge, gitops.Rebase, gitops.Squash}, ask.Method):
				return cli.Usage("bad_value", "name", "--method", "value", ask.Method, "allowed", "merge, rebase, squash")
			case all && len(ask.Names) > 0:
				return cli.Usage("land_all_names")
			case !all && !dryRun && len(ask.Names) == 0:
				return cli.Usage("land_what", "command", s.Name)
			}
			return run(s, ask, dryRun)
		},
		BashComplete: cli.Offer(func(cli.Asked) []string { return app.WithRuns(s) },
			map[string]cli.Candidates{"method": cli.Words(string(gitops.Merge), string(gitops.Rebase), string(gitops.Squash))}),
	}
}

func run(s *cli.Shell, ask land.Options, dryRun bool) error {
	p, err := app.Open(s, nil)
	if err != nil {
		return err
	}
	for i, name := range ask.Names {
		if rel, ok := app.Inside(p, name); ok && reqmeta.IsMarkdown(name) {
			ask.Names[i] = rel
		}
	}
	l := &land.Lander{
		Project: p, Text: s.Catalog().Text, Point: app.Point(p),
		Observe: func(e land.Event) {
			if e.Kind != "landed" && e.Kind != "left_out" { // the answer says that
				s.Tell(term.Escape(s.Text("land.event_"+e.Kind, "id", e.Item.RequestID, "branch", e.Item.Branch, "name", e.What, "fresh", e.What)))
			}
		},
	}
	if dryRun {
		f, err := l.Forecast(s.Context(), ask)
		if err != nil {
			return err
		}
		return printForecast(s, f)
	}
	var ctx context.Context
	ctx, l.Hurry = s.Patience()
	result, err := l.Land(ctx, ask)
	if result.Into == "" {
		return err
	}
	if len(result.Landed)+len(result.Already) > 0 {
		// What landed in the checkout is done now, as after a merge by hand.
		if survey, err := p.Survey(context.WithoutCancel(s.Context())); err == nil {
			app.Notes(s, survey)
		}
	}
	if err == nil {
		err = result.Err()
	}
	return printResult(s, result, err)
}

// body is an error as JSON, nil for none.
func body(s *cli.Shell, err error) *cli.ErrorBody {
	if err == nil {
		return nil
	}
	b := s.Body(err)
	return &b
}
