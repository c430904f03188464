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
	var w where
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
			addCommand(s, &w), pushCommand(s, &w), listCommand(s, &w),
			simple("show", "queue.show_usage", "TASK", func(args []string) error { return show(s, w, args[0]) }),
			simple("cancel", "queue.cancel_usage", "TASK...", func(args []string) error { return cancel(s, w, args) }),
			workCommand(s, &w),
			simple("runners", "queue.runners_usage", "", func([]string) error { return runners(s, w) }),
			simple("namespaces", "queue.namespaces_usage", "", func([]string) error { return namespaces(s, w) }),
			watchCommand(s, &w),
		},
	}
}

func simple(name, usage, args string, do func([]string) error) *urfave.Command {
	return &urfave.Command{
		Name: name, Usage: usage, ArgsUsage: args,
		Action: func(c *urfave.Context) error { return do(c.Args().Slice()) },
	}
}

func addCommand(s *cli.Shell, w *where) *urfave.Command {
	var o addOptions
	return &urfave.Command{
		Name: "add", Usage: "queue.add_usage",
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "prompt", Usage: "queue.add_prompt", Destination: &o.prompt, Required: true},
			&urfave.StringFlag{Name: "group", Usage: "queue.add_group", Destination: &o.group},
			&urfave.StringFlag{Name: "session", Usage: "queue.add_session", Destination: &o.session},
			&urfave.StringFlag{Name: "id", Usage: "queue.add_id", Destination: &o.id},
		},
		Action: func(*urfave.Context) error { return add(s, *w, o) },
	}
}

func pushCommand(s *cli.Shell, w *where) *urfave.Command {
	var runnable bool
	return &urfave.Command{
		Name: "push", Usage: "queue.push_usage", ArgsUsage: "[REQUEST...]",
		Flags:  []urfave.Flag{&urfave.BoolFlag{Name: "runnable", Usage: "queue.push_runnable", Destination: &runnable}},
		Action: func(c *urfave.Context) error { return push(s, *w, runnable, c.Args().Slice()) },
	}
}

func listCommand(s *cli.Shell, w *where) *urfave.Command {
	var o listOptions
	return &urfave.Command{
		Name: "list", Usage: "queue.list_usage",
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "status", Usage: "queue.list_status", Destination: &o.status},
			&urfave.StringFlag{Name: "group", Usage: "queue.list_group", Destination: &o.group},
		},
		Action:       func(*urfave.Context) error { return list(s, *w, o) },
		BashComplete: cli.Offer(nil, map[string]cli.Candidates{"status": cli.Words(strings.Split(statuses(), ", ")...)}),
	}
}

func workCommand(s *cli.Shell, w *where) *urfave.Command {
	var o workOptions
	return &urfave.Command{
		Name: "work", Usage: "queue.work_usage", Description: "queue.work_description",
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "once", Usage: "queue.work_once", Destination: &o.once},
			&urfave.StringFlag{Name: "runner-id", Usage: "queue.work_runner_id", Destination: &o.runnerID},
			&urfave.DurationFlag{Name: "poll", Usage: "queue.work_poll", Value: time.Second, Destination: &o.poll},
		},
		Action: func(*urfave.Context) error { return runWorker(s, *w, o) },
	}
}

func watchCommand(s *cli.Shell, w *where) *urfave.Command {
	var o watchOptions
	return &urfave.Command{
		Name: "watch", Usage: "queue.watch_usage",
		Flags: []urfave.Flag{
			&urfave.DurationFlag{Name: "every", Usage: "queue.watch_every", Value: 2 * time.Second, Destination: &o.every},
			&urfave.BoolFlag{Name: "until-done", Usage: "queue.watch_until_done", Destination: &o.untilDone},
		},
		Action: func(*urfave.Context) error { return watch(s, *w, o) },
	}
}
