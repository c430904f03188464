package main

import (
	"context"
	"time"

	"aiflow/cmd/internal/cli"
	"aiflow/queue"
)

type watchOptions struct {
	every     time.Duration
	untilDone bool
}

// changed is one change of state, a line of `watch --json`.
type changed struct {
	At   string       `json:"at"`
	From queue.Status `json:"from,omitempty"`
	Task queue.Task   `json:"task"`
}

// watch prints what changes, until it is stopped or nothing is left to do.
func watch(s *cli.Shell, w where, o watchOptions) error {
	if o.every < 100*time.Millisecond {
		return cli.Usage("bad_value", "name", "--every", "value", o.every, "allowed", ">= 100ms")
	}
	q, err := open(s, w, 0)
	if err != nil {
		return err
	}
	ctx := s.Context()
	known := map[string]queue.Status{}
	for {
		tasks, err := q.List(ctx, queue.Filter{})
		if err != nil {
			return err
		}
		busy := false
		for _, t := range tasks {
			busy = busy || !t.Status.Terminal()
			if from := known[t.TaskID]; from != t.Status {
				known[t.TaskID] = t.Status
				if !s.JSON {
					s.Printf("%s  %s\n", s.Now().Format(time.TimeOnly), taskLine(s, t))
				} else if err := s.PrintJSON(changed{queue.FormatTime(s.Now()), from, t}); err != nil {
					return err
				}
			}
		}
		if err := s.Flush(); err != nil {
			return err
		}
		if o.untilDone && !busy {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(o.every):
		}
	}
}
