package runner

import (
	"context"

	"aiflow/internal/fault"
	"aiflow/runs"
)

// finishLate does what is left to do for a run that was done but whose runner
// died before it had put everything away; false when there is no such run.
// Such a run is not run again: its branch is there.
func (j *job) finishLate(ctx context.Context, last *runs.Stage) (Outcome, bool) {
	if last.State != runs.Done || !j.diedFinishing(ctx, last) {
		return Outcome{}, false
	}
	if err := j.take(last); err != nil {
		return Outcome{}, false
	}
	j.tell(Event{Kind: Found, What: string(last.State)})
	j.noteOwnLocks()
	out, err := j.drive(ctx, func(ctx context.Context) error {
		j.stage.AddEvent(j.Project.Now(), runs.EventResumed, "", fault.Interrupted)
		if err := j.save(); err != nil {
			return err
		}
		return j.putAway(ctx)
	})
	return out, err == nil
}

// diedFinishing: the lock that we took over was of this very run, or its
// workspace is still there.
func (j *job) diedFinishing(ctx context.Context, last *runs.Stage) bool {
	if old, ok := j.lease.Recovered(); ok && old.RunID == last.RunID {
		return true
	}
	if j.inPlace() {
		return false
	}
	ws, ok, err := j.repo.OpenWorktree(ctx, j.workspacePathOf(last))
	return err == nil && ok && ws.Branch() == last.Git.WorkBranch
}

func (j *job) workspacePathOf(st *runs.Stage) string { return j.Project.Path(st.Git.Workspace) }
