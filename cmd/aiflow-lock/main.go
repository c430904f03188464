// Command aiflow-lock shows the locks of a project, runs a command under one,
// releases what was left behind, and counts what editors' lock went through.
//
// It does not decide who may have a lock; package locks does.
package main

import (
	"os"
	"time"

	urfave "github.com/urfave/cli/v2"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/locks"
)

var version, commit string // set by the linker

func main() { os.Exit(cli.Main(cli.OS(version, commit), program)) }

func program(s *cli.Shell) *urfave.App {
	var since string
	return &urfave.App{
		Name: "aiflow-lock", Usage: "lock.usage",
		UsageText: "aiflow-lock list\naiflow-lock exec --request RQ-1 -- make check\naiflow-lock release --request RQ-1",
		Commands: []*urfave.Command{
			{
				Name: "list", Usage: "lock.list_usage", UsageText: "aiflow-lock list\naiflow-lock list --json",
				Action: func(*urfave.Context) error { return showLocks(s) },
			},
			execute(s), release(s),
			{
				Name: "events", Usage: "projectlock.events_usage", UsageText: "aiflow-lock events\naiflow-lock events --since 24h --json",
				Flags:  []urfave.Flag{&urfave.StringFlag{Name: "since", Usage: "projectlock.events_since", Destination: &since}},
				Action: func(*urfave.Context) error { return showEvents(s, since) },
			},
			{ // what exec starts: it becomes the command once the lock says so
				Name: insideName, Hidden: true, ArgsUsage: "PATH NAME [ARGUMENT...]",
				Action: func(c *urfave.Context) error { return become(s, c.Args().Slice()) },
			},
		},
	}
}

func execute(s *cli.Shell) *urfave.Command {
	var w which
	var o execOptions
	return &urfave.Command{
		Name: "exec", Usage: "lock.exec_usage", ArgsUsage: "-- COMMAND...",
		UsageText: "aiflow-lock exec --request RQ-1 -- make check\naiflow-lock exec --name deploy --wait 30s -- ./deploy.sh",
		Flags: append(w.flags(),
			&urfave.DurationFlag{Name: "wait", Usage: "lock.wait_usage", Destination: &o.wait},
			&urfave.BoolFlag{Name: "take-overdue", Usage: "lock.take_overdue_usage", Destination: &o.takeOverdue}),
		Action: func(c *urfave.Context) error {
			if err := w.check(c.IsSet); err != nil {
				return err
			}
			return runLocked(s, w, o, c.Args().Slice())
		},
		BashComplete: cli.Offer(nil, map[string]cli.Candidates{"request": app.RequestIDs(s)}),
	}
}

type execOptions struct {
	wait        time.Duration
	takeOverdue bool
}

func release(s *cli.Shell) *urfave.Command {
	var w which
	var force bool
	return &urfave.Command{
		Name: "release", Usage: "lock.release_usage",
		UsageText: "aiflow-lock release --request RQ-1\naiflow-lock release --queue --force",
		Flags:     append(w.flags(), &urfave.BoolFlag{Name: "force", Usage: "lock.force_usage", Destination: &force}),
		Action: func(c *urfave.Context) error {
			if err := w.check(c.IsSet); err != nil {
				return err
			}
			return releaseLock(s, w, force)
		},
		BashComplete: cli.Offer(nil, map[string]cli.Candidates{
			"request": held(s, locks.TypeRequest, app.RequestIDs(s)), "name": held(s, locks.TypeName, nil),
		}),
	}
}
