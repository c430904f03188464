package revive

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"aiflow/gitops"
	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/runner/stage"
	"aiflow/runs"
)

// Anew begins a new run. last, which may be nil, is not gone on with.
func Anew(ctx context.Context, run *stage.Run, last *runs.Stage) (stage.Outcome, error) {
	text, err := run.RequestText()
	if err != nil {
		return stage.Outcome{}, err
	}
	run.Text = Unblocked(ctx, run, last, text)
	if last != nil && last.State != runs.Done {
		run.Replaces = last
	}
	if err := stage.Create(ctx, run); err != nil {
		return stage.Outcome{}, err
	}
	if last != nil {
		run.ReadFindings(run.Project.Run(last.RequestID, last.RunID))
		clearWorkspace(ctx, run, last)
	}
	return stage.Drive(ctx, run, stage.Begin)
}

// clearWorkspace clears the workspace of an earlier run of the same request that
// is not gone on with. What it holds is kept first. It never stops a new run:
// a workspace that cannot be cleared is reported when it is needed.
func clearWorkspace(ctx context.Context, run *stage.Run, last *runs.Stage) {
	at := run.WorkspaceOf(last) // not where a new one is made, where workspace.root was changed since
	if _, err := os.Lstat(at); err != nil || last.Git.Workspace == "." || run.InPlace() || run.MayWrite() != nil {
		return // a lost lock shows at the next write
	}
	old := Other(run, last)
	ws, ok, err := run.Repo.OpenWorktree(ctx, at)
	if err != nil || !ok {
		return
	}
	step := StepAt(old)
	before := old.Dir.NextAttempt(step.StepID)
	err = GiveUp(ctx, old, ws)
	if n := old.Dir.NextAttempt(step.StepID); n > before && last.State.Ended() { // how to bring back what a person changed
		run.Warn("work.mends_kept", last, fault.Facts{"command": "git -C " + proc.Word(run.WorkspacePath()) + " cherry-pick -n -X theirs " + stage.AttemptRef(last.RunID, step.StepID, n-1)})
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		run.Tell(stage.Event{Kind: stage.Warned, What: run.InWords(err)})
	}
}

// clearPreviousWorkspace does for a run that died at its very beginning what a fresh one
// does first: it clears away the workspace that still is the earlier run's.
func clearPreviousWorkspace(ctx context.Context, run *stage.Run) {
	last := previousRun(run)
	if last == nil || run.InPlace() {
		return
	} // of two runs in one second both may name one branch; the later makes itself another
	ws, ok, err := run.Repo.OpenWorktree(ctx, run.WorkspacePath())
	if err == nil && ok && ws.Branch() == last.Git.WorkBranch {
		clearWorkspace(ctx, run, last)
	}
}

// Other is another run of the request, which is not gone on with.
func Other(run *stage.Run, st *runs.Stage) *stage.Run {
	old := run.Other(st)
	endStrays(old)
	return old
}

// StepAt is the step whose attempt the workspace holds.
func StepAt(run *stage.Run) *runs.Step {
	if step := run.Stage.Current(); step != nil {
		return step
	}
	return &runs.Step{StepID: runs.StepID(1), Title: run.Stage.Title}
}

// GiveUp keeps what the run's worktree holds and removes it.
func GiveUp(ctx context.Context, run *stage.Run, ws *gitops.Workspace) error {
	run.Workspace = ws
	_, _ = ws.ClearStaleLocks()
	_, _ = run.Repo.RestoreBranch(ctx, run.Stage.Git.WorkBranch, run.Stage.Tip())
	_ = ws.MendIndex(ctx)
	if err := stage.KeepAttempt(ctx, run, StepAt(run)); err != nil {
		return err
	}
	if err := run.Save(); err != nil {
		return err
	}
	return stage.RemoveWorkspace(ctx, run)
}
