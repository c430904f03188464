package main

import (
	"time"

	urfave "github.com/urfave/cli/v2"

	"aiflow/cmd/internal/cli"
	"aiflow/cmd/internal/work"
	"aiflow/internal/fault"
	"aiflow/project"
	"aiflow/runner"
)

type stopOptions struct {
	queue, now bool
	single     bool // one run goes on, no session
	wait       time.Duration
}

func stopCommand(s *cli.Shell) *urfave.Command {
	var o stopOptions
	return &urfave.Command{
		Name: "stop", Usage: "work.stop_usage", Description: "work.stop_description", ArgsUsage: "[RUN]",
		UsageText: "aiflow-run stop\naiflow-run stop RQ-20251214-001\naiflow-run stop --queue",
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "queue", Usage: "work.stop_queue", Destination: &o.queue},
			&urfave.BoolFlag{Name: "now", Usage: "work.stop_now", Destination: &o.now},
			&urfave.DurationFlag{Name: "wait", Usage: "work.stop_wait", Value: 30 * time.Second, Destination: &o.wait},
		},
		Action: func(c *urfave.Context) error { return stop(s, o, c.Args().First()) },
	}
}

// stop asks a run, or the session of runs, to end.
func stop(s *cli.Shell, o stopOptions, arg string) error {
	p, err := open(s)
	if err != nil {
		return err
	}
	r := work.Runner(s, p)
	v, err := r.LoadSession(s.Context())
	o.single = o.queue && err == nil && !goesOn(v)
	var h runner.Halted
	if o.queue {
		h, err = r.StopSession(s.Context(), o.now, o.wait)
	} else {
		h, err = stopRun(s, p, r, o, arg)
	}
	if err != nil {
		return err
	}
	if s.JSON {
		return s.PrintJSON(h)
	}
	s.Printf("%s\n", s.Text(stopKey(o, h), "id", h.RequestID, "run_id", h.RunID))
	return nil
}

// goesOn: the record is one of a session that is at work, not of an earlier
// one; a single run that holds the queue has none.
func goesOn(v runner.Session) bool {
	return v.State != runner.Idle && v.State != runner.Stopped && v.State != runner.Completed
}

func stopKey(o stopOptions, h runner.Halted) string {
	switch {
	case o.single && !o.now:
		return "work.stop_plain"
	case o.queue && !o.now:
		return "work.stop_after_this"
	case !h.Ended:
		return "work.stop_asked"
	case o.queue && !o.single:
		return "work.stop_session"
	}
	return "work.stop_done"
}

func stopRun(s *cli.Shell, p *project.Project, r *runner.Runner, o stopOptions, arg string) (runner.Halted, error) {
	id, err := runningRequest(p, arg)
	if err != nil {
		return runner.Halted{}, err
	}
	return r.Stop(s.Context(), id, o.wait)
}

// runningRequest is the request that a person means: named, or the only one
// that runs.
func runningRequest(p *project.Project, arg string) (string, error) {
	if arg != "" {
		id, _, err := locate(p, arg)
		if fault.Has(err, fault.RunNotFound) {
			return arg, nil // it may hold the lock and have no record yet
		}
		return id, err
	}
	m, err := p.Locks()
	if err != nil {
		return "", err
	}
	entries, err := m.List()
	if err != nil {
		return "", err
	}
	var live []string
	for _, e := range entries {
		if e.Live && e.RequestID != "" {
			live = append(live, e.RequestID)
		}
	}
	switch len(live) {
	case 0:
		return "", nothingToDo("not_running")
	case 1:
		return live[0], nil
	}
	return "", cli.Usage("which_run", "count", len(live), "value", live[0])
}
