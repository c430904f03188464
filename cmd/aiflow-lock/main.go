// Command aiflow-lock shows the locks of a project, runs a command under one,
// releases what was left behind, and counts what editors' lock went through.
//
// It does not decide who may have a lock; package locks does.
package main

import (
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"aiflow/cmd/internal/desk"
	"aiflow/cmd/internal/door"
	"aiflow/locks"
)

var version, commit string // set by the linker

func main() { os.Exit(door.Main(door.OS(version, commit), app)) }

func app(s *door.Shell) *cli.App {
	return &cli.App{
		Name: "aiflow-lock", Usage: "lock.usage",
		UsageText: "aiflow-lock list\naiflow-lock exec --request RQ-1 -- make check\naiflow-lock release --request RQ-1",
		Commands:  []*cli.Command{list(s), execute(s), release(s), events(s), inside(s)},
	}
}

func list(s *door.Shell) *cli.Command {
	return &cli.Command{
		Name: "list", Usage: "lock.list_usage", UsageText: "aiflow-lock list\naiflow-lock list --json",
		Action: func(*cli.Context) error { return showLocks(s) },
	}
}

func execute(s *door.Shell) *cli.Command {
	var w which
	var o execOptions
	return &cli.Command{
		Name: "exec", Usage: "lock.exec_usage", ArgsUsage: "-- COMMAND...",
		UsageText: "aiflow-lock exec --request RQ-1 -- make check\naiflow-lock exec --name deploy --wait 30s -- ./deploy.sh",
		Flags: append(w.flags(),
			&cli.DurationFlag{Name: "wait", Usage: "lock.wait_usage", Destination: &o.wait},
			&cli.BoolFlag{Name: "take-overdue", Usage: "lock.take_overdue_usage", Destination: &o.takeOverdue}),
		Action: func(c *cli.Context) error {
			if err := w.check(c.IsSet); err != nil {
				return err
			}
			return runLocked(s, w, o, c.Args().Slice())
		},
		BashComplete: door.Offer(nil, map[string]door.Candidates{"request": desk.RequestIDs(s)}),
	}
}

type execOptions struct {
	wait        time.Duration
	takeOverdue bool
}

func release(s *door.Shell) *cli.Command {
	var w which
	var force bool
	return &cli.Command{
		Name: "release", Usage: "lock.release_usage",
		UsageText: "aiflow-lock release --request RQ-1\naiflow-lock release --queue --force",
		Flags:     append(w.flags(), &cli.BoolFlag{Name: "force", Usage: "lock.force_usage", Destination: &force}),
		Action: func(c *cli.Context) error {
			if err := w.check(c.IsSet); err != nil {
				return err
			}
			return releaseLock(s, w, force)
		},
		BashComplete: door.Offer(nil, map[string]door.Candidates{
			"request": held(s, locks.TypeRequest, desk.RequestIDs(s)), "name": held(s, locks.TypeName, nil),
		}),
	}
}

func events(s *door.Shell) *cli.Command {
	var since string
	return &cli.Command{
		Name: "events", Usage: "projectlock.events_usage", UsageText: "aiflow-lock events\naiflow-lock events --since 24h --json",
		Flags:  []cli.Flag{&cli.StringFlag{Name: "since", Usage: "projectlock.events_since", Destination: &since}},
		Action: func(*cli.Context) error { return showEvents(s, since) },
	}
}

// inside is what exec starts: it becomes the command once the lock says so.
func inside(s *door.Shell) *cli.Command {
	return &cli.Command{
		Name: insideName, Hidden: true, ArgsUsage: "PATH NAME [ARGUMENT...]",
		Action: func(c *cli.Context) error { return become(s, c.Args().Slice()) },
	}
}
