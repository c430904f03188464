package runner

import (
	"context"
	"strings"

	"aiflow/gitops"
	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/runs"
)

// mendsThere refuses to begin anew while the workspace of the stopped run holds
// what a person changed since: either that goes on, or it is kept aside with
// --fresh.
func (j *job) mendsThere(ctx context.Context, last *runs.Stage) error {
	if j.inPlace() || !last.State.Ended() || last.State == runs.Done {
		return nil
	}
	ws, ok, err := j.repo.OpenWorktree(ctx, j.workspacePathOf(last))
	if err != nil || !ok || ws.Branch() != last.Git.WorkBranch {
		return nil // nothing of that run is there
	}
	if err := j.refuseUnmerged(ctx, ws, last); err != nil {
		return err
	}
	fresh := []any{"fresh", "aiflow run " + j.req.ID + " --fresh"}
	if tip := foreignTip(ctx, j.repo, ws, last); tip != "" {
		return j.changedThere(last, append(fresh, "commit", tip[:min(10, len(tip))])...)
	}
	changes, err := ws.Changes(ctx)
	if err != nil || changes.Empty() {
		return nil // a workspace that cannot be read is reported when it is cleared
	}
	if step := last.Current(); step != nil && step.AttemptTree == changes.Tree {
		return nil
	}
	return j.changedThere(last, append(fresh, "count", len(changes.Files))...)
}

// changedThere is the refusal to touch what a person left in the workspace of a
// run that stopped.
func (j *job) changedThere(last *runs.Stage, what ...any) error {
	return fault.New(fault.WorktreeDirty, append([]any{
		"path", last.Git.Workspace, "request_id", j.req.ID, "run_id", last.RunID, "workspace", proc.Word(j.workspacePathOf(last)),
	}, what...)...)
}

// refuseUnmerged refuses conflicts that nobody has resolved: staging them would
// call them resolved, and they would be committed with their marks.
func (j *job) refuseUnmerged(ctx context.Context, ws *gitops.Workspace, last *runs.Stage) error {
	names, err := ws.Unmerged(ctx)
	if err != nil || len(names) == 0 {
		return nil // what cannot be asked is reported when it is needed
	}
	return j.changedThere(last, "count", len(names), "unmerged", strings.Join(names, ", "))
}

// tellMends says how to bring back what a person changed in a workspace that a
// new run takes over.
func (j *job) tellMends(last *runs.Stage, stepID string, before int) {
	if n := j.Project.Run(last.RequestID, last.RunID).NextAttempt(stepID); n > before {
		j.warn("work.mends_kept", last, fault.Facts{"command": "git -C " + proc.Word(j.workspacePath()) + " cherry-pick -n -X theirs " + attemptRef(last.RunID, stepID, n-1)})
	}
}
