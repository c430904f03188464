package main

import (
	"time"

	"aiflow/cmd/internal/cli"
	"aiflow/cmd/internal/work"
	"aiflow/internal/fault"
	"aiflow/project"
	"aiflow/runner"
	"aiflow/runs"
)

type stopOptions struct {
	queue, now bool
	wait       time.Duration
}

// stop asks a run, or the session of runs, to end.
func stop(s *cli.Shell, o stopOptions, arg string) error {
	p, err := open(s)
	if err != nil {
		return err
	}
	r := work.Runner(s, p)
	v, err := r.LoadSession(s.Context())
	// A single run that holds the queue has no session; the record is of an earlier one.
	single := o.queue && err == nil && (v.State == runner.Idle || v.State == runner.Stopped || v.State == runner.Completed)
	var h runner.StopResult
	if o.queue {
		h, err = r.StopSession(s.Context(), o.now, o.wait)
	} else if arg, err = runningRequest(p, arg); err == nil {
		h, err = r.Stop(s.Context(), arg, o.wait)
	}
	if err != nil {
		return err
	}
	if s.JSON {
		return s.PrintJSON(h)
	}
	key := "work.stop_done"
	switch {
	case single && !o.now && h.RunID == "":
		key = "work.stop_no_run"
	case single && !o.now:
		key = "work.stop_plain"
	case o.queue && !o.now:
		key = "work.stop_after_this"
	case !h.Ended:
		key = "work.stop_asked"
	case o.queue && !single:
		key = "work.stop_session"
	case h.RunID == "": // a command that held the lock, or a run that had not begun
		key = "work.stop_holder"
	}
	facts := []any{"id", h.RequestID, "run_id", h.RunID}
	if key == "work.stop_done" {
		id, _, _ := locate(p, h.RunID) // of a run without a record the command is to show it
		var known []*runs.Stage
		if st, err := p.Run(id, h.RunID).LoadStage(); err == nil {
			known = append(known, st)
		}
		of, err := p.Standing(s.Context(), known)
		if err != nil {
			return err
		}
		facts = append(facts, "command", commandsFor(s, p, []runs.Summary{{RequestID: id, RunID: h.RunID}}, of)[0])
	}
	s.Printf("%s\n", s.Text(key, facts...))
	return nil
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
	entries, err := p.Locks().List()
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
