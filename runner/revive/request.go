package revive

import (
	"context"

	"aiflow/reqmeta"
	"aiflow/reqmeta/edit"
	"aiflow/runner/stage"
	"aiflow/runs"
)

// previousRun is the run of this request before this one, nil when there is none
// that can be read.
func previousRun(run *stage.Run) *runs.Stage {
	own := false
	for st := range run.Project.RunsOf(run.Request.ID) {
		if own && st.DroppedAt == nil {
			return st
		}
		own = own || st.RunID == run.Stage.RunID
	}
	return nil
}

// Unblocked is the request as it was before an earlier run stopped and blocked
// it. If the record of that run is lost, it is as it was committed.
func Unblocked(ctx context.Context, run *stage.Run, last *runs.Stage, text []byte) []byte {
	if last == nil && run.Request.Meta.Status == reqmeta.Blocked {
		if before, ok := run.Project.Committed(ctx, run.Request.Path); ok && run.Request.Parse(before).Meta.Status == reqmeta.Ready {
			return before
		}
	}
	if last == nil || last.State != runs.NeedsInput && last.State != runs.Failed || run.Request.Meta.Status != reqmeta.Blocked {
		return text
	}
	return restoredText(run, run.Project.Run(last.RequestID, last.RunID), text)
}

// restoredText is what the request file goes back to when the run is over: as
// it stands now, but with the status and date from before the run began, which
// the run alone changed.
func restoredText(run *stage.Run, dir *runs.Dir, now []byte) []byte {
	before, err := dir.LoadRequest()
	if err != nil {
		return now
	}
	back, err := edit.GiveBack(run.Request, now, before, "status", "updated_at")
	if err != nil {
		return now
	}
	return back
}
