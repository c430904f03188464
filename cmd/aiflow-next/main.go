// Command aiflow-next says which request is next, and why the others are not.
//
// It does not run, lock or change anything, except that it puts right what a
// killed run left half done in its own request file.
package main

import (
	"os"
	"runtime/debug"

	"github.com/urfave/cli/v2"

	"aiflow/cmd/internal/desk"
	"aiflow/cmd/internal/door"
)

var version, commit string // set by the linker

func main() {
	debug.SetGCPercent(-1)          // it ends before a collection would pay,
	debug.SetMemoryLimit(256 << 20) // unless a folder is huge
	os.Exit(door.Main(door.OS(version, commit), app))
}

func app(s *door.Shell) *cli.App {
	var o options
	return &cli.App{
		Name:      "aiflow-next",
		Usage:     "next.usage",
		UsageText: "aiflow-next\naiflow-next --all\naiflow-next --explain RQ-20251214-001\naiflow-next --plan 5\naiflow-next --exit-code >/dev/null && aiflow-run --next",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "all", Usage: "next.flag_all", Destination: &o.all},
			&cli.BoolFlag{Name: "exit-code", Usage: "next.flag_exit_code", Destination: &o.exitCode},
			&cli.StringFlag{Name: "explain", Usage: "next.flag_explain", Destination: &o.explain},
			&cli.IntFlag{Name: "plan", Usage: "next.flag_plan", Destination: &o.plan},
		},
		Action:       func(c *cli.Context) error { return next(s, o, c.IsSet("plan"), c.IsSet("explain")) },
		BashComplete: door.Offer(nil, map[string]door.Candidates{"explain": desk.RequestIDs(s)}),
	}
}
