package stage

import (
	"context"
	"os"
	"strings"
)

// CheckOutInPlace takes the user's own checkout as the workspace (D40): it must
// be clean, and its branch is switched. The request's own file must not be in
// git's way, so it goes back for that moment.
func CheckOutInPlace(ctx context.Context, run *Run) error {
	ws, err := run.Repo.InPlace(ctx)
	if err != nil {
		return err
	}
	ws.LeaveOut(run.Project.RequestsDir(), run.Project.RunsDir())
	if ws.Branch() == run.Stage.Git.WorkBranch {
		run.Workspace = ws
		return nil
	}
	if err := refuseDirty(ctx, run, lookForDirty(ctx, run)); err != nil {
		return err
	}
	if err := run.restore(); err != nil {
		return err
	}
	run.Stage.Git.ReturnTo = ws.Branch() // where the user was, but never a work branch
	if ws.Branch() == "" || strings.HasPrefix(ws.Branch(), run.Project.Config.Git.WorkBranchPrefix) {
		run.Stage.Git.ReturnTo = run.Stage.Git.BaseBranch // maybe a commit
	}
	if err := run.Save(); err != nil {
		return err
	}
	if err := ws.Switch(ctx, run.Stage.Git.WorkBranch); err != nil {
		return err
	}
	run.Workspace = ws
	text, err := os.ReadFile(run.Project.Path(run.Request.Path))
	if err != nil {
		return nil // the work branch does not have the file; it may have another version of it
	}
	run.Text = text
	return MarkRunning(run)
}

// LeaveBranch puts the checkout back to where the user was. Everything of the
// run is committed.
func LeaveBranch(ctx context.Context, run *Run) error {
	to := run.Stage.Git.ReturnTo
	if _, ok, err := run.Repo.BranchTip(ctx, to); err != nil || !ok && to != run.Stage.Git.BaseCommit || to == "" {
		return err
	}
	ws, err := run.Repo.InPlace(ctx)
	if err != nil || ws.Branch() != run.Stage.Git.WorkBranch {
		return err // the user is elsewhere already
	}
	return ws.Switch(ctx, to)
}
