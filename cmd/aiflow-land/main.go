// Command aiflow-land lands finished branches on another one: a merge queue without
// a forge. With --dry-run it says what would come of it.
//
// It does not run requests and pushes nothing.
package main

import (
	"context"
	"maps"
	"os"
	"slices"
	"time"

	urfave "github.com/urfave/cli/v2"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/gitops"
	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/runner/land"
	"aiflow/runs"
)

var version, commit string // set by the linker

func main() { os.Exit(cli.Main(cli.OS(version, commit), program)) }

type options struct {
	all, dryRun  bool
	into, method string
	wait         time.Duration
}

func program(s *cli.Shell) *urfave.App {
	var o options
	return &urfave.App{
		Name: "aiflow-land", Usage: "land.usage", Description: "land.description", ArgsUsage: "[RUN|REQUEST...]",
		UsageText: "aiflow-land --dry-run\naiflow-land --all\naiflow-land RQ-20251214-001 RQ-20251214-002\naiflow-land --all --into integration --method squash",
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "all", Usage: "land.flag_all", Destination: &o.all},
			&urfave.StringFlag{Name: "into", Usage: "land.flag_into", Destination: &o.into},
			&urfave.StringFlag{Name: "method", Usage: "land.flag_method", Destination: &o.method},
			&urfave.BoolFlag{Name: "dry-run", Usage: "land.flag_dry_run", Destination: &o.dryRun},
			&urfave.DurationFlag{Name: "wait", Usage: "land.flag_wait", Destination: &o.wait},
		},
		Action: func(c *urfave.Context) error {
			if err := cli.Named(c, "into"); err != nil {
				return err
			}
			return run(s, o, c.Args().Slice())
		},
		BashComplete: cli.Offer(func(cli.Asked) []string { return withRuns(s) },
			map[string]cli.Candidates{"method": cli.Words(string(gitops.Merge), string(gitops.Rebase), string(gitops.Squash))}),
	}
}

func withRuns(s *cli.Shell) []string {
	p := app.Quiet(s)
	if p == nil {
		return nil
	}
	all, _ := runs.ListRequestsWithRuns(p.Dir, p.RunsDir())
	return slices.Sorted(maps.Keys(all))
}

func run(s *cli.Shell, o options, names []string) error {
	methods := []string{"", string(gitops.Merge), string(gitops.Rebase), string(gitops.Squash)}
	switch {
	case !slices.Contains(methods, o.method):
		return cli.Usage("bad_value", "name", "--method", "value", o.method, "allowed", "merge, rebase, squash")
	case o.all && len(names) > 0:
		return cli.Usage("land_all_names")
	case !o.all && !o.dryRun && len(names) == 0:
		return cli.Usage("land_what", "command", s.Name)
	}
	p, err := app.Open(s, nil)
	if err != nil {
		return err
	}
	for i, name := range names {
		if rel, ok := app.Inside(p, name); ok && reqmeta.IsMarkdown(name) {
			names[i] = rel
		}
	}
	l := &land.Lander{
		Project: p, Text: s.Catalog().Text, Point: app.Point(p),
		Observe: func(e land.Event) { tell(s, e) },
	}
	ask := land.Options{Names: names, Into: o.into, Method: gitops.Method(o.method), Wait: o.wait}
	if o.dryRun {
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
		lookAgain(s, p)
	}
	if err == nil {
		err = result.Err()
	}
	return printResult(s, result, err)
}

// lookAgain makes done what landed in the checkout, as after a merge by hand.
func lookAgain(s *cli.Shell, p *project.Project) {
	if survey, err := p.Survey(context.WithoutCancel(s.Context())); err == nil {
		app.Notes(s, survey)
	}
}

// body is an error as JSON, nil for none.
func body(s *cli.Shell, err error) *cli.ErrorBody {
	if err == nil {
		return nil
	}
	b := s.Body(err)
	return &b
}
