// Command aiflow-run turns a request into a finished git branch, and shows and
// clears away what earlier runs left.
//
// It does not merge or push anything.
package main

import (
	"os"

	urfave "github.com/urfave/cli/v2"

	"aiflow/cmd/internal/cli"
)

var version, commit string // set by the linker

func main() {
	os.Exit(cli.Main(cli.OS(version, commit), program))
}

func program(s *cli.Shell) *urfave.App {
	var o runOptions
	a := &urfave.App{
		Name:      "aiflow-run",
		Usage:     "work.usage",
		ArgsUsage: "[ID]",
		UsageText: "aiflow-run RQ-20251214-001\naiflow-run --next\naiflow-run --next --dry-run\naiflow-run list\naiflow-run show",
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "next", Usage: "work.flag_next", Destination: &o.next},
			&urfave.BoolFlag{Name: "dry-run", Usage: "work.flag_dry_run", Destination: &o.dryRun},
			&urfave.StringFlag{Name: "base", Usage: "work.flag_base", Destination: &o.base},
			&urfave.BoolFlag{Name: "stack", Usage: "work.flag_stack", Destination: &o.stack},
			&urfave.BoolFlag{Name: "fresh", Usage: "work.flag_fresh", Destination: &o.fresh},
			&urfave.DurationFlag{Name: "wait", Usage: "work.flag_wait", Destination: &o.wait},
			&urfave.BoolFlag{Name: "take-overdue", Usage: "work.flag_take_overdue", Destination: &o.takeOverdue},
		},
		Action: func(c *urfave.Context) error {
			if err := cli.Named(c, "base"); err != nil {
				return err
			}
			return run(s, o, c.Args().First())
		},
		Commands: []*urfave.Command{
			listCommand(s), showCommand(s), logsCommand(s), diffCommand(s), cleanCommand(s),
			resumeCommand(s), answerCommand(s), dropCommand(s), restackCommand(s), stopCommand(s), autoCommand(s), statusCommand(s), deinitCommand(s),
		},
	}
	return offering(s, a)
}
