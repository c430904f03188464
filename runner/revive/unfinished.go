package revive

import (
	"context"

	"aiflow/internal/fault"
	"aiflow/runner/stage"
	"aiflow/runs"
)

// CleanUp does what is left to do for a run that was done but whose runner
// died before it had put everything away; false when there is no such run.
// Such a run is not run again: its branch is there.
func CleanUp(ctx context.Context, run *stage.Run, last *runs.Stage) (stage.Outcome, bool) {
	if last.State != runs.Done || !diedFinishing(ctx, run, last) {
		return stage.Outcome{}, false
	}
	if err := load(ctx, run, last); err != nil {
		return stage.Outcome{}, false
	}
	run.Tell(stage.Event{Kind: stage.Found, What: string(last.State)})
	noteOwnLocks(run)
	out, err := stage.Drive(ctx, run, func(ctx context.Context, run *stage.Run) error {
		run.Stage.AddEvent(run.Project.Now(), runs.EventResumed, "", fault.Interrupted)
		if err := run.Save(); err != nil {
			return err
		}
		return stage.CleanUp(ctx, run, stage.InspectWorkspace(ctx, run))
	})
	return out, err == nil
}

// diedFinishing: the lock that we took over was of this very run, or its
// workspace is still there.
func diedFinishing(ctx context.Context, run *stage.Run, last *runs.Stage) bool {
	if old, ok := run.Lease.Recovered(); ok && old.RunID == last.RunID {
		return true
	}
	if run.InPlace() {
		return false
	}
	ws, ok, err := run.Repo.OpenWorktree(ctx, run.WorkspaceOf(last))
	return err == nil && ok && ws.Branch() == last.Git.WorkBranch
}
