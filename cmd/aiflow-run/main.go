// Command aiflow-run turns a request into a finished git branch, and shows and
// clears away what earlier runs left.
//
// It does not merge or push anything.
package main

import (
	"os"

	urfave "github.com/urfave/cli/v2"

	"aiflow/cmd/internal/cli"
	"aiflow/runner"
)

var version, commit string // set by the linker

func main() {
	os.Exit(cli.Main(cli.OS(version, commit), program))
}

func program(s *cli.Shell) *urfave.App {
	var o runner.Options
	var next, dryRun bool
	a := &urfave.App{
		Name:      "aiflow-run",
		Usage:     "work.usage",
		ArgsUsage: "[ID]",
		UsageText: "aiflow-run RQ-20251214-001\naiflow-run --next\naiflow-run --next --dry-run\naiflow-run list\naiflow-run show",
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "next", Usage: "work.flag_next", Destination: &next},
			&urfave.BoolFlag{Name: "dry-run", Usage: "work.flag_dry_run", Destination: &dryRun},
			&urfave.StringFlag{Name: "base", Usage: "work.flag_base", Destination: &o.Base},
			&urfave.BoolFlag{Name: "stack", Usage: "work.flag_stack", Destination: &o.Stack},
			&urfave.BoolFlag{Name: "fresh", Usage: "work.flag_fresh", Destination: &o.Fresh},
			&urfave.DurationFlag{Name: "wait", Usage: "work.flag_wait", Destination: &o.Wait},
			&urfave.BoolFlag{Name: "take-overdue", Usage: "work.flag_take_overdue", Destination: &o.TakeOverdue},
		},
		Action: func(c *urfave.Context) error {
			if err := cli.Named(c, "base"); err != nil {
				return err
			}
			o.RequestID = c.Args().First()
			if next == (o.RequestID != "") {
				return cli.Usage("run_what", "command", s.Name)
			}
			return run(s, o, dryRun)
		},
		Commands: []*urfave.Command{
			{Name: "list", Usage: "work.list_usage", ArgsUsage: "[REQUEST]", Action: func(c *urfave.Context) error { return list(s, c.Args().First()) }},
			{
				Name: "show", Usage: "work.show_usage", ArgsUsage: "[RUN]",
				UsageText: "aiflow-run show\naiflow-run show RQ-20251214-001\naiflow-run show RUN-20251214-010203-0a1b2c",
				Action:    func(c *urfave.Context) error { return showRun(s, c.Args().First()) },
			},
			logsCommand(s), diffCommand(s), cleanCommand(s),
			resumeCommand(s), answerCommand(s), dropCommand(s), restackCommand(s), stopCommand(s), autoCommand(s),
			{Name: "status", Usage: "work.status_usage", Action: func(*urfave.Context) error { return status(s) }},
			deinitCommand(s),
		},
	}
	return offering(s, a)
}
