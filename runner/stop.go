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
	"aiflow/runner/stage"
)

// Halted is what Stop did.
type Halted struct {
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
func (r *Runner) Stop(ctx context.Context, requestID string, wait time.Duration) (Halted, error) {
	m, err := r.Project.Locks()
	if err != nil {
		return Halted{}, err
	}
	e, found, err := m.LookRequest(requestID)
	if err != nil {
		return Halted{}, err
	}
	if !found || !e.Live {
		return Halted{}, fault.New(fault.NothingToDo, "request_id", requestID, "reason", "not_running")
	}
	h := Halted{OK: true, RequestID: requestID, RunID: e.RunID, StopRequested: true}
	if e.RunID != "" { // the signal to come is a person's wish
		_ = os.WriteFile(stage.StopMark(r.Project.Run(requestID, e.RunID)), nil, 0o666)
	}
	if err := signalHolder(e); err != nil {
		return Halted{}, err
	}
	h.Ended = waitGone(ctx, m, locks.Request(requestID), e.Token, wait)
	return h, nil
}

// StopSession asks the auto-run to stop: after the run in hand, or now.
func (r *Runner) StopSession(ctx context.Context, now bool, wait time.Duration) (Halted, error) {
	m, err := r.Project.Locks()
	if err != nil {
		return Halted{}, err
	}
	e, found, err := m.LookQueue()
	if err != nil {
		return Halted{}, err
	}
	if !found || !e.Live {
		return Halted{}, fault.New(fault.NothingToDo, "reason", "no_session")
	}
	h := Halted{OK: true, RunID: e.RunID, StopRequested: true}
	path := stage.CacheFile(r.Project, stopFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return Halted{}, fault.Wrap(err, fault.PathNotWritable, "path", path)
	}
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		return Halted{}, fault.Wrap(err, fault.PathNotWritable, "path", path)
	}
	if !now {
		return h, nil
	}
	if err := signalHolder(e); err != nil {
		return Halted{}, err
	}
	h.Ended = waitGone(ctx, m, locks.Queue(), e.Token, wait)
	return h, nil
}

func signalHolder(e locks.Entry) error {
	if e.Verdict != locks.Held && e.Verdict != locks.Overdue || !proc.Signal(e.PID, e.PIDStart, syscall.SIGTERM) {
		return fault.New(fault.LockHeld, "path", e.Path, "pid", e.PID, "host", e.Host, "hostname", e.Hostname,
			"request_id", e.RequestID, "run_id", e.RunID, "verdict", e.Verdict, "since", e.CreatedAt.Format(time.RFC3339),
			"until", e.ExpiresAt.Format(time.RFC3339), "name", e.RequestID)
	}
	return nil
}

func waitGone(ctx context.Context, m *locks.Manager, k locks.Key, token string, wait time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	tick := time.NewTicker(stopPoll)
	defer tick.Stop()
	for {
		e, found, err := m.Look(k)
		if err == nil && (!found || !e.Live || e.Token != token) {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
}
