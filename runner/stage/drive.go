package stage

import (
	"context"
	"errors"

	"aiflow/internal/fault"
	"aiflow/runs"
)

// Drive does a part of a run and records how it ended: done, stopped for a
// reason, interrupted, or cut off from its lock.
func Drive(ctx context.Context, run *Run, part func(context.Context, *Run) error) (Outcome, error) {
	if run.Begun != nil {
		run.Begun(run.Request.ID, run.Stage.RunID)
	}
	noteStart(run)
	noteNoRouter(run)
	defer noteEnd(run)
	err := part(ctx, run)
	out := Outcome{RequestID: run.Request.ID, RunID: run.Stage.RunID, RunPath: run.Dir.Rel, Stage: run.Stage, Err: err}
	after, end := run.Afterwards(ctx)
	defer end()
	switch {
	case err == nil:
	case run.recorded:
		run.Tell(Event{Kind: Warned, What: run.InWords(err)})
		out.Err = nil
	case fault.Has(err, fault.LockLost):
		// Somebody else may own the run now: nothing shared is written.
	case fault.CodeOf(err).Waits() || fault.Has(err, fault.Interrupted) || ctx.Err() != nil || errors.Is(err, context.Canceled):
		out.Err = recordInterruption(run, err)
	case run.Stage.State == runs.Done:
		out.Stage = asRecorded(run)
	default:
		out.Err = recordStop(after, run, err)
		if st := asRecorded(run); !st.State.Ended() {
			out.Stage = st
		}
	}
	return out, nil
}

// asRecorded is the run as its record says when the end of it could not be
// written: the next command for the request finds it and goes on.
func asRecorded(run *Run) *runs.Stage {
	if st, err := run.Dir.LoadStage(); err == nil {
		return st
	}
	return run.Stage
}
