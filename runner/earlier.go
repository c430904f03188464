package runner

import (
	"context"

	"aiflow/reqmeta"
	"aiflow/reqmeta/edit"
	"aiflow/runs"
)

// runBefore is the run of this request before this one, nil when there is none
// that can be read.
func (j *job) runBefore() *runs.Stage {
	ids, err := runs.ListRuns(j.Project.Dir, j.Project.RunsDir(), j.req.ID)
	if err != nil {
		return nil
	}
	for own := false; len(ids) > 0; ids = ids[1:] {
		if own {
			if st, err := j.Project.Run(j.req.ID, ids[0]).LoadStage(); err == nil && st.DroppedAt == nil {
				return st
			}
		}
		own = own || ids[0] == j.stage.RunID
	}
	return nil
}

// leaveEarlier does for a run that died at its very beginning what a fresh one
// does first: it clears away the workspace that still is the earlier run's.
func (j *job) leaveEarlier(ctx context.Context) {
	last := j.runBefore()
	if last == nil || j.inPlace() {
		return
	} // of two runs in one second both may name one branch; the later makes itself another
	ws, ok, err := j.repo.OpenWorktree(ctx, j.workspacePath())
	if err == nil && ok && ws.Branch() == last.Git.WorkBranch {
		j.leaveBehind(ctx, last)
	}
}

// unblocked is the request as it was before an earlier run stopped and blocked
// it. If the record of that run is lost, it is as it was committed.
func (j *job) unblocked(ctx context.Context, last *runs.Stage, text []byte) []byte {
	if last == nil && j.req.Meta.Status == reqmeta.Blocked {
		if before, ok := j.Project.Committed(ctx, j.req.Path); ok && reqmeta.Parse(j.req.Path, before).Meta.Status == reqmeta.Ready {
			return before
		}
	}
	if last == nil || last.State != runs.NeedsInput && last.State != runs.Failed || j.req.Meta.Status != reqmeta.Blocked {
		return text
	}
	return j.bytesBefore(j.Project.Run(last.RequestID, last.RunID), text)
}

// neverRunning sees to it that what the request file goes back to does not say
// running: a run whose record was lost may have left it like that, and so may a
// commit that was made while one ran.
func (j *job) neverRunning() (err error) {
	if reqmeta.Parse(j.req.Path, j.text).Meta.Status == reqmeta.Running {
		j.text, err = edit.SetValues(j.req.Path, j.text, map[string]string{"status": reqmeta.Ready}, j.Project.Now())
	}
	return err
}

// textBefore is what the request file goes back to. A run that died before it
// could keep that finds it as a fresh one does.
func (j *job) textBefore(ctx context.Context, text []byte) []byte {
	if _, err := j.dir.LoadRequest(); err != nil && len(j.stage.Steps) == 0 {
		return j.unblocked(ctx, j.runBefore(), text)
	}
	return j.bytesBefore(j.dir, text)
}
