// Command aiflow-queue shares work between runners on several machines through
// DynamoDB: it puts tasks in, shows and cancels them, and works them off.
//
// It does not start a DynamoDB (scripts/dynamodb-local does) and does not
// delete tasks.
package main

import (
	"os"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"aiflow/cmd/internal/cli"
)

var version, commit string // set by the linker

func main() { os.Exit(cli.Main(cli.OS(version, commit), program)) }

func program(s *cli.Shell) *urfave.App {
	var (
		w        where
		adding   addOptions
		listing  listOptions
		working  workOptions
		watching watchOptions
		runnable bool
	)
	return &urfave.App{
		Name:      "aiflow-queue",
		Usage:     "queue.usage",
		UsageText: "aiflow-queue init\naiflow-queue push --runnable\naiflow-queue work\naiflow-queue list --status RUNNING\naiflow-queue cancel RQ-20251214-001",
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "namespace", Usage: "queue.flag_namespace", Destination: &w.namespace},
			&urfave.StringFlag{Name: "endpoint", Usage: "queue.flag_endpoint", Destination: &w.endpoint},
			&urfave.StringFlag{Name: "region", Usage: "queue.flag_region", Destination: &w.region},
		},
		Commands: []*urfave.Command{
			simple("init", "queue.init_usage", "", func([]string) error { return initTables(s, w) }),
			{
				Name: "add", Usage: "queue.add_usage",
				Flags: []urfave.Flag{
					&urfave.StringFlag{Name: "prompt", Usage: "queue.add_prompt", Destination: &adding.prompt, Required: true},
					&urfave.StringFlag{Name: "group", Usage: "queue.add_group", Destination: &adding.group},
					&urfave.StringFlag{Name: "session", Usage: "queue.add_session", Destination: &adding.session},
					&urfave.StringFlag{Name: "id", Usage: "queue.add_id", Destination: &adding.id},
				},
				Action: func(*urfave.Context) error { return add(s, w, adding) },
			},
			{
				Name: "push", Usage: "queue.push_usage", ArgsUsage: "[REQUEST...]",
				Flags:  []urfave.Flag{&urfave.BoolFlag{Name: "runnable", Usage: "queue.push_runnable", Destination: &runnable}},
				Action: func(c *urfave.Context) error { return push(s, w, runnable, c.Args().Slice()) },
			},
			{
				Name: "list", Usage: "queue.list_usage",
				Flags: []urfave.Flag{
					&urfave.StringFlag{Name: "status", Usage: "queue.list_status", Destination: &listing.status},
					&urfave.StringFlag{Name: "group", Usage: "queue.list_group", Destination: &listing.group},
				},
				Action:       func(*urfave.Context) error { return list(s, w, listing) },
				BashComplete: cli.Offer(nil, map[string]cli.Candidates{"status": cli.Words(strings.Split(statuses(), ", ")...)}),
			},
			simple("show", "queue.show_usage", "TASK", func(args []string) error { return show(s, w, args[0]) }),
			simple("cancel", "queue.cancel_usage", "TASK...", func(args []string) error { return cancel(s, w, args) }),
			{
				Name: "work", Usage: "queue.work_usage", Description: "queue.work_description",
				Flags: []urfave.Flag{
					&urfave.BoolFlag{Name: "once", Usage: "queue.work_once", Destination: &working.once},
					&urfave.StringFlag{Name: "runner-id", Usage: "queue.work_runner_id", Destination: &working.runnerID},
					&urfave.DurationFlag{Name: "poll", Usage: "queue.work_poll", Value: time.Second, Destination: &working.poll},
				},
				Action: func(*urfave.Context) error { return runWorker(s, w, working) },
			},
			simple("runners", "queue.runners_usage", "", func([]string) error { return runners(s, w) }),
			simple("namespaces", "queue.namespaces_usage", "", func([]string) error { return namespaces(s, w) }),
			{
				Name: "watch", Usage: "queue.watch_usage",
				Flags: []urfave.Flag{
					&urfave.DurationFlag{Name: "every", Usage: "queue.watch_every", Value: 2 * time.Second, Destination: &watching.every},
					&urfave.BoolFlag{Name: "until-done", Usage: "queue.watch_until_done", Destination: &watching.untilDone},
				},
				Action: func(*urfave.Context) error { return watch(s, w, watching) },
			},
		},
	}
}

func simple(name, usage, args string, do func([]string) error) *urfave.Command {
	return &urfave.Command{
		Name: name, Usage: usage, ArgsUsage: args,
		Action: func(c *urfave.Context) error { return do(c.Args().Slice()) },
	}
}
