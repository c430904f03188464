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

	"github.com/urfave/cli/v2"

	"aiflow/cmd/internal/door"
)

var version, commit string // set by the linker

func main() { os.Exit(door.Main(door.OS(version, commit), app)) }

func app(s *door.Shell) *cli.App {
	var w where
	return &cli.App{
		Name:      "aiflow-queue",
		Usage:     "queue.usage",
		UsageText: "aiflow-queue init\naiflow-queue push --runnable\naiflow-queue work\naiflow-queue list --status RUNNING\naiflow-queue cancel RQ-20251214-001",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "namespace", Usage: "queue.flag_namespace", Destination: &w.namespace},
			&cli.StringFlag{Name: "endpoint", Usage: "queue.flag_endpoint", Destination: &w.endpoint},
			&cli.StringFlag{Name: "region", Usage: "queue.flag_region", Destination: &w.region},
		},
		Commands: []*cli.Command{
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

func simple(name, usage, args string, do func([]string) error) *cli.Command {
	return &cli.Command{
		Name: name, Usage: usage, ArgsUsage: args,
		Action: func(c *cli.Context) error { return do(c.Args().Slice()) },
	}
}

func addCommand(s *door.Shell, w *where) *cli.Command {
	var o addOptions
	return &cli.Command{
		Name: "add", Usage: "queue.add_usage",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "prompt", Usage: "queue.add_prompt", Destination: &o.prompt, Required: true},
			&cli.StringFlag{Name: "group", Usage: "queue.add_group", Destination: &o.group},
			&cli.StringFlag{Name: "session", Usage: "queue.add_session", Destination: &o.session},
			&cli.StringFlag{Name: "id", Usage: "queue.add_id", Destination: &o.id},
		},
		Action: func(*cli.Context) error { return add(s, *w, o) },
	}
}

func pushCommand(s *door.Shell, w *where) *cli.Command {
	var runnable bool
	return &cli.Command{
		Name: "push", Usage: "queue.push_usage", ArgsUsage: "[REQUEST...]",
		Flags:  []cli.Flag{&cli.BoolFlag{Name: "runnable", Usage: "queue.push_runnable", Destination: &runnable}},
		Action: func(c *cli.Context) error { return push(s, *w, runnable, c.Args().Slice()) },
	}
}

func listCommand(s *door.Shell, w *where) *cli.Command {
	var o listOptions
	return &cli.Command{
		Name: "list", Usage: "queue.list_usage",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "status", Usage: "queue.list_status", Destination: &o.status},
			&cli.StringFlag{Name: "group", Usage: "queue.list_group", Destination: &o.group},
		},
		Action:       func(*cli.Context) error { return list(s, *w, o) },
		BashComplete: door.Offer(nil, map[string]door.Candidates{"status": door.Words(strings.Split(statuses(), ", ")...)}),
	}
}

func workCommand(s *door.Shell, w *where) *cli.Command {
	var o workOptions
	return &cli.Command{
		Name: "work", Usage: "queue.work_usage", Description: "queue.work_description",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "once", Usage: "queue.work_once", Destination: &o.once},
			&cli.StringFlag{Name: "runner-id", Usage: "queue.work_runner_id", Destination: &o.runnerID},
			&cli.DurationFlag{Name: "poll", Usage: "queue.work_poll", Value: time.Second, Destination: &o.poll},
		},
		Action: func(*cli.Context) error { return runWorker(s, *w, o) },
	}
}

func watchCommand(s *door.Shell, w *where) *cli.Command {
	var o watchOptions
	return &cli.Command{
		Name: "watch", Usage: "queue.watch_usage",
		Flags: []cli.Flag{
			&cli.DurationFlag{Name: "every", Usage: "queue.watch_every", Value: 2 * time.Second, Destination: &o.every},
			&cli.BoolFlag{Name: "until-done", Usage: "queue.watch_until_done", Destination: &o.untilDone},
		},
		Action: func(*cli.Context) error { return watch(s, *w, o) },
	}
}
