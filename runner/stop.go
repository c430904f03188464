package runner

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/locks"
	"aiflow/project"
	"aiflow/runner/stage"
)

// StopResult is what Stop did.
type StopResult struct {
	OK            bool   `json:"ok"`
	RequestID     string `json:"request_id"`
	RunID         string `json:"run_id"`
	StopRequested bool   `json:"stop_requested"`
	Ended         bool   `json:"ended"` // the runner is gone; false: it was still at it when the wait was over
}

// stopPoll is how often Stop looks whether the runner has gone.
const stopPoll = 20 * time.Millisecond

// Stop asks the runner of a request to end its run and waits until it has. The
// run stays resumable. Faults: NOTHING_TO_DO when nothing runs, LOCK_HELD when
// the holder cannot be reached from here.
func (r *Runner) Stop(ctx context.Context, requestID string, wait time.Duration) (StopResult, error) {
	m := r.Project.Locks()
	e, found, err := m.Look(locks.Request(requestID))
	if err != nil {
		return StopResult{}, err
	}
	among := found && e.Live && inParallelSession(r.Project, m, e)
	for n := 0; among && found && e.Live && e.RunID == "" && n < runIDTries; n++ { // it just begins
		if err := proc.Sleep(ctx, stopPoll); err != nil {
			return StopResult{}, err
		}
		if e, found, err = m.Look(locks.Request(requestID)); err != nil {
			return StopResult{}, err
		}
	}
	if !found || !e.Live {
		return StopResult{}, nothingToDo("not_running", "request_id", requestID)
	}
	h := StopResult{OK: true, RequestID: requestID, RunID: e.RunID, StopRequested: true}
	if e.RunID != "" { // a signal to come is a person's wish
		mark := stage.StopMark(r.Project.Run(requestID, e.RunID))
		if err := os.WriteFile(mark, nil, 0o666); err != nil && among {
			return StopResult{}, fault.NotWritable(err, mark)
		}
	}
	if !among {
		if err := signalHolder(e); err != nil {
			return StopResult{}, err
		}
	}
	h.Ended = waitGone(ctx, m, locks.Request(requestID), e.Token, wait)
	return h, nil
}

// runIDTries is how often a run that has no name yet is looked at again.
const runIDTries = 250

// inParallelSession: the run is one of several of a session, which looks for the
// mark and ends that run alone.
func inParallelSession(p *project.Project, m *locks.Manager, e locks.Entry) bool {
	queue, found, err := m.Look(locks.Queue())
	if err != nil || !found || !queue.Live || queue.PID != e.PID || queue.PIDStart != e.PIDStart {
		return false
	}
	s, err := readSession(p, sessionFile)
	return err == nil && !s.isOver() && s.Limits.Jobs > 1
}

// StopSession asks the auto-run to stop: after the runs that are under way, or now.
func (r *Runner) StopSession(ctx context.Context, now bool, wait time.Duration) (StopResult, error) {
	m := r.Project.Locks()
	e, found, err := m.Look(locks.Queue())
	if err != nil {
		return StopResult{}, err
	}
	if !found || !e.Live {
		return StopResult{}, nothingToDo("no_session")
	}
	if e.Problem != nil {
		return StopResult{}, e.Problem
	}
	h := StopResult{OK: true, RunID: e.RunID, StopRequested: true}
	path := stage.CacheFile(r.Project, stopFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return StopResult{}, fault.NotWritable(err, path)
	}
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		return StopResult{}, fault.NotWritable(err, path)
	}
	if !now {
		return h, nil
	}
	turns := []Turn{{RequestID: e.RequestID, RunID: e.RunID}}
	if s, err := readSession(r.Project, sessionFile); err == nil {
		turns = append(turns, s.ActiveTurns()...)
	}
	for _, t := range turns { // the signal to come is a person's wish
		if t.RequestID != "" && t.RunID != "" {
			_ = os.WriteFile(stage.StopMark(r.Project.Run(t.RequestID, t.RunID)), nil, 0o666)
		}
	}
	if err := signalHolder(e); err != nil {
		return StopResult{}, err
	}
	h.Ended = waitGone(ctx, m, locks.Queue(), e.Token, wait)
	return h, nil
}

func signalHolder(e locks.Entry) error {
	if e.Problem != nil {
		return e.Problem
	}
	if e.Verdict != locks.Held && e.Verdict != locks.Overdue || !proc.Signal(e.PID, e.PIDStart, syscall.SIGTERM) {
		f := e.Fault(fault.LockHeld)
		f.Facts["there"] = f.Facts["away"]
		return f
	}
	return nil
}

func waitGone(ctx context.Context, m *locks.Manager, k locks.Key, token string, wait time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		e, found, err := m.Look(k)
		if err == nil && (!found || !e.Live || e.Token != token) {
			return true
		}
		if proc.Sleep(ctx, stopPoll) != nil {
			return false
		}
	}
}

func nothingToDo(reason string, more ...any) error {
	return fault.New(fault.NothingToDo, append(more, "reason", reason)...)
}

func noRun(err error, which, value string, more ...any) error {
	return fault.Wrap(err, fault.RunNotFound, append(more, which, value)...)
}
