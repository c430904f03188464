// Command aiflow-next says which request is next, and why the others are not.
//
// It does not run, lock or change anything, except that it puts right what a
// killed run left half done in its own request file.
package main

import (
	"os"

	urfave "github.com/urfave/cli/v2"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
)

var version, commit string // set by the linker

func main() {
	os.Exit(cli.Main(cli.OS(version, commit), program))
}

func program(s *cli.Shell) *urfave.App {
	var o options
	return &urfave.App{
		Name:      "aiflow-next",
		Usage:     "next.usage",
		UsageText: "aiflow-next\naiflow-next --all\naiflow-next --explain RQ-20251214-001\naiflow-next --plan 5\naiflow-next --exit-code >/dev/null && aiflow-run --next",
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "all", Usage: "next.flag_all", Destination: &o.all},
			&urfave.BoolFlag{Name: "exit-code", Usage: "next.flag_exit_code", Destination: &o.exitCode},
			&urfave.StringFlag{Name: "explain", Usage: "next.flag_explain", Destination: &o.explain},
			&urfave.IntFlag{Name: "plan", Usage: "next.flag_plan", Destination: &o.plan},
		},
		Action:       func(c *urfave.Context) error { return next(s, o, c.IsSet("plan"), c.IsSet("explain")) },
		BashComplete: cli.Offer(nil, map[string]cli.Candidates{"explain": app.RequestIDs(s)}),
	}
}
