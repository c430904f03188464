// Command aiflow-run turns a request into a finished git branch, and shows and
// clears away what earlier runs left.
//
// It does not merge or push anything.
package main

import (
	"os"
	"time"

	urfave "github.com/urfave/cli/v2"

	"aiflow/cmd/internal/cli"
	"aiflow/runner"
)

var version, commit string // set by the linker

func main() {
	os.Exit(cli.Main(cli.OS(version, commit), program))
}

func program(s *cli.Shell) *urfave.App {
	var (
		o                          runner.Options
		next, dryRun, discard, all bool
		look                       logsOptions
		compare                    diffOptions
		away                       runner.CleanOptions
		older                      string
		again                      runner.ResumeOptions
		end                        stopOptions
	)
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
			{
				Name: "logs", Usage: "work.logs_usage", ArgsUsage: "[RUN]",
				UsageText: "aiflow-run logs\naiflow-run logs --last\naiflow-run logs RQ-20251214-001 --step S02\naiflow-run logs -f",
				Flags: []urfave.Flag{
					&urfave.StringFlag{Name: "step", Usage: "work.logs_step", Destination: &look.step},
					&urfave.BoolFlag{Name: "last", Usage: "work.logs_last", Destination: &look.last},
					&urfave.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "work.logs_follow", Destination: &look.follow},
				},
				Action: func(c *urfave.Context) error { return logs(s, look, c.Args().First()) },
			},
			{
				Name: "diff", Usage: "work.diff_usage", Description: "work.diff_description", ArgsUsage: "[RUN]",
				UsageText: "aiflow-run diff\naiflow-run diff RQ-20251214-001 --side\naiflow-run diff --html compare.html",
				Flags: []urfave.Flag{
					&urfave.BoolFlag{Name: "side", Usage: "work.diff_side", Destination: &compare.side},
					&urfave.BoolFlag{Name: "unified", Usage: "work.diff_unified", Destination: &compare.unified},
					&urfave.IntFlag{Name: "width", Usage: "work.diff_width", Destination: &compare.width},
					&urfave.StringFlag{Name: "html", Usage: "work.diff_html", Destination: &compare.html},
				},
				Action: func(c *urfave.Context) error { return diff(s, compare, c.Args().First()) },
			},
			{
				Name: "clean", Usage: "work.clean_usage", Description: "work.clean_description",
				UsageText: "aiflow-run clean --merged\naiflow-run clean --older-than 30d --dry-run\naiflow-run clean --orphans --dry-run",
				Flags: []urfave.Flag{
					&urfave.BoolFlag{Name: "merged", Usage: "work.clean_merged", Destination: &away.Merged},
					&urfave.StringFlag{Name: "older-than", Usage: "work.clean_older", Destination: &older},
					&urfave.BoolFlag{Name: "orphans", Usage: "work.clean_orphans", Destination: &away.Orphans},
					&urfave.BoolFlag{Name: "dry-run", Usage: "work.clean_dry_run", Destination: &away.DryRun},
				},
				Action: func(*urfave.Context) error { return clean(s, away, older) },
			},
			{
				Name: "resume", Usage: "work.resume_usage", Description: "work.resume_description", ArgsUsage: "[RUN]",
				UsageText: "aiflow-run resume RQ-20251214-001\naiflow-run resume --mode retry_step\naiflow-run resume --mode replan RUN-20251214-010203-0a1b2c",
				Flags: []urfave.Flag{
					&urfave.StringFlag{Name: "mode", Usage: "work.resume_mode", Destination: (*string)(&again.Mode)},
					&urfave.StringFlag{Name: "step", Usage: "work.resume_step", Destination: &again.Step},
					&urfave.BoolFlag{Name: "force", Usage: "work.resume_force", Destination: &again.Force},
				},
				Action: func(c *urfave.Context) error { return resume(s, again, c.Args().First()) },
			},
			answerCommand(s),
			{
				Name: "drop", Usage: "work.drop_usage", Description: "work.drop_description", ArgsUsage: "[RUN]",
				UsageText: "aiflow-run drop\naiflow-run drop RQ-20251214-001\naiflow-run drop RUN-20251214-010203-0a1b2c\naiflow-run drop --discard RQ-20251214-001",
				Flags:     []urfave.Flag{&urfave.BoolFlag{Name: "discard", Usage: "work.drop_discard", Destination: &discard}},
				Action:    func(c *urfave.Context) error { return drop(s, c.Args().First(), discard) },
			},
			{
				Name: "restack", Usage: "work.restack_usage", Description: "work.restack_description", ArgsUsage: "[RUN...]",
				UsageText: "aiflow-run restack --all\naiflow-run restack RQ-20251214-002",
				Flags:     []urfave.Flag{&urfave.BoolFlag{Name: "all", Usage: "work.restack_all", Destination: &all}},
				Action:    func(c *urfave.Context) error { return restack(s, c.Args().Slice(), all) },
			},
			{
				Name: "stop", Usage: "work.stop_usage", Description: "work.stop_description", ArgsUsage: "[RUN]",
				UsageText: "aiflow-run stop\naiflow-run stop RQ-20251214-001\naiflow-run stop --queue",
				Flags: []urfave.Flag{
					&urfave.BoolFlag{Name: "queue", Usage: "work.stop_queue", Destination: &end.queue},
					&urfave.BoolFlag{Name: "now", Usage: "work.stop_now", Destination: &end.now},
					&urfave.DurationFlag{Name: "wait", Usage: "work.stop_wait", Value: 30 * time.Second, Destination: &end.wait},
				},
				Action: func(c *urfave.Context) error { return stop(s, end, c.Args().First()) },
			},
			autoCommand(s),
			{Name: "status", Usage: "work.status_usage", Action: func(*urfave.Context) error { return status(s) }},
			deinitCommand(s),
		},
	}
	return offering(s, a)
}
