package revive

import (
	"context"
	"strings"

	"aiflow/gitops"
	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/internal/term"
	"aiflow/runner/stage"
	"aiflow/runs"
)

// RefuseChanged refuses to begin anew while the workspace of the stopped run holds
// what a person changed since: either that goes on, or it is kept aside with
// --fresh.
func RefuseChanged(ctx context.Context, run *stage.Run, last *runs.Stage) error {
	if run.InPlace() || !last.State.Ended() || last.State == runs.Done {
		return nil
	}
	ws, ok, err := run.Repo.OpenWorktree(ctx, run.WorkspaceOf(last))
	if err != nil || !ok || ws.Branch() != last.Git.WorkBranch {
		return nil // nothing of that run is there
	}
	if err := refuseUnmerged(ctx, run, ws, last); err != nil {
		return err
	}
	fresh := []any{"fresh", runs.Fresh(last)}
	if tip := stage.ForeignTip(ctx, run.Repo, ws, last); tip != "" {
		return workspaceChanged(run, last, append(fresh, "commit", term.ShortHash(tip))...)
	}
	changes, err := ws.Changes(ctx)
	if err != nil || changes.Empty() {
		return nil // a workspace that cannot be read is reported when it is cleared
	}
	if step := last.Current(); step != nil && step.AttemptTree == changes.Tree {
		return nil
	}
	return workspaceChanged(run, last, append(fresh, "count", len(changes.Files))...)
}

// refuseUndecided refuses, before anything is touched, what a person has to decide
// about in the workspace: conflicts that were left open, and commits where the
// point does not take what was changed. What is put aside may have both.
func refuseUndecided(ctx context.Context, run *stage.Run, last *runs.Stage, at runs.Point) error {
	if !last.State.Ended() || at.Changed == runs.ChangedDiscard {
		return nil
	}
	ws, ok := leftWorkspace(ctx, run, last)
	if !ok {
		return nil // it is made again
	}
	if err := refuseUnmerged(ctx, run, ws, last); err != nil {
		return err
	}
	if len(last.Steps) == 0 || at.Takes(runs.Found{Commits: true}) {
		return nil
	}
	if tip := stage.ForeignTip(ctx, run.Repo, ws, last); tip != "" { // resuming takes it off the branch
		return workspaceChanged(run, last, "commit", term.ShortHash(tip))
	}
	return nil
}

func leftWorkspace(ctx context.Context, run *stage.Run, last *runs.Stage) (ws *gitops.Workspace, ok bool) {
	var err error
	if run.InPlace() {
		ws, err = run.Repo.InPlace(ctx)
		return ws, err == nil
	}
	ws, ok, err = run.Repo.OpenWorktree(ctx, run.WorkspaceOf(last))
	return ws, ok && err == nil
}

// pointForWorkspace looks at what is in the workspace. Clean is what equals its
// HEAD or the kept attempt, unless somebody committed it; anything else is a
// person's, and is refused, taken or kept aside as the point says.
func pointForWorkspace(ctx context.Context, run *stage.Run, at runs.Point, committed bool) (runs.Point, error) {
	if run.Workspace == nil || at.State != runs.Implementing || len(run.Stage.Steps) == 0 {
		return at, nil
	}
	changes, err := run.Workspace.Changes(ctx)
	if err != nil {
		return at, err
	}
	step := &run.Stage.Steps[at.Index]
	if at.Back && run.Stage.Current() != nil {
		step = run.Stage.Current()
	}
	if changes.Empty() || changes.Tree == step.AttemptTree && !committed {
		return at, nil
	}
	at, ok := pointForChanges(at, run.Stage.State.Ended())
	if !ok {
		return at, workspaceChanged(run, run.Stage, "count", len(changes.Files))
	}
	return at, nil
}

// refuseUnmerged refuses conflicts that nobody has resolved: staging them would
// call them resolved, and they would be committed with their marks.
func refuseUnmerged(ctx context.Context, run *stage.Run, ws *gitops.Workspace, last *runs.Stage) error {
	names, err := ws.Unmerged(ctx)
	if err != nil || len(names) == 0 {
		return nil // what cannot be asked is reported when it is needed
	}
	return workspaceChanged(run, last, "count", len(names), "unmerged", strings.Join(names, ", "))
}

// workspaceChanged is the refusal to touch what a person left in the workspace of a
// run that stopped.
func workspaceChanged(run *stage.Run, last *runs.Stage, what ...any) error {
	return fault.New(fault.WorktreeDirty, append([]any{
		"path", last.Git.Workspace, "request_id", run.Request.ID, "run_id", last.RunID, "workspace", proc.Word(run.WorkspaceOf(last)),
	}, what...)...)
}
