// Command aiflow-lock shows the locks of a project, runs a command under one,
// releases what was left behind, and counts what editors' lock went through.
//
// It does not decide who may have a lock; package locks does.
package main

import (
	"os"
	"time"

	"github.com/urfave/cli/v2"

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
			key, err := w.key(c.IsSet)
			if err != nil {
				return err
			}
			return runLocked(s, key, o, c.Args().Slice())
		},
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
			key, err := w.key(c.IsSet)
			if err != nil {
				return err
			}
			return releaseLock(s, key, force)
		},
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

// which lock is meant.
type which struct {
	request, name string
	queue         bool
}

func (w *which) flags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "request", Usage: "lock.request_usage", Destination: &w.request},
		&cli.BoolFlag{Name: "queue", Usage: "lock.queue_usage", Destination: &w.queue},
		&cli.StringFlag{Name: "name", Usage: "lock.name_usage", Destination: &w.name},
	}
}

// key wants exactly one of the three.
func (w *which) key(set func(string) bool) (locks.Key, error) {
	var keys []locks.Key
	if set("request") {
		keys = append(keys, locks.Request(w.request))
	}
	if w.queue {
		keys = append(keys, locks.Queue())
	}
	if set("name") {
		keys = append(keys, locks.Named(w.name))
	}
	if len(keys) != 1 {
		return locks.Key{}, door.Usage("which_lock")
	}
	return keys[0], nil
}
