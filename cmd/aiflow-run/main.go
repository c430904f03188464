// Command aiflow-run turns a request into a finished git branch, and shows and
// clears away what earlier runs left.
//
// It does not merge or push anything.
package main

import (
	"os"

	"github.com/urfave/cli/v2"

	"aiflow/cmd/internal/door"
)

var version, commit string // set by the linker

func main() { os.Exit(door.Main(door.OS(version, commit), app)) }

func app(s *door.Shell) *cli.App {
	var o runOptions
	a := &cli.App{
		Name:      "aiflow-run",
		Usage:     "work.usage",
		ArgsUsage: "[ID]",
		UsageText: "aiflow-run RQ-20251214-001\naiflow-run --next\naiflow-run --next --dry-run\naiflow-run list\naiflow-run show",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "next", Usage: "work.flag_next", Destination: &o.next},
			&cli.BoolFlag{Name: "dry-run", Usage: "work.flag_dry_run", Destination: &o.dryRun},
			&cli.StringFlag{Name: "base", Usage: "work.flag_base", Destination: &o.base},
			&cli.BoolFlag{Name: "fresh", Usage: "work.flag_fresh", Destination: &o.fresh},
			&cli.DurationFlag{Name: "wait", Usage: "work.flag_wait", Destination: &o.wait},
			&cli.BoolFlag{Name: "take-overdue", Usage: "work.flag_take_overdue", Destination: &o.takeOverdue},
		},
		Action: func(c *cli.Context) error { return run(s, o, c.Args().First()) },
		Commands: []*cli.Command{
			listCommand(s), showCommand(s), logsCommand(s), diffCommand(s), cleanCommand(s),
			resumeCommand(s), stopCommand(s), autoCommand(s), statusCommand(s),
		},
	}
	return offering(s, a)
}
