package runner

import (
	"context"

	"aiflow/gitops"
	"aiflow/internal/fault"
	"aiflow/runs"
)

// held says whether the run may still write: its lock and its guard. It is
// asked directly before each write that others see and before each command.
func (j *job) held() error {
	if err := j.lease.Check(); err != nil || j.Guard == nil {
		return err
	}
	return j.Guard()
}

// leaving says whether the run may still record that it stops here and put the
// request back. A guard that says INTERRUPTED ends the run and allows that.
func (j *job) leaving() error {
	err := j.held()
	if fault.Has(err, fault.Interrupted) {
		return nil
	}
	return err
}

// save writes stage.json under a lease that is still ours.
func (j *job) save() error {
	if err := j.held(); err != nil {
		return err
	}
	return j.dir.SaveStage(j.stage)
}

// saveReport writes report.md as the run stands.
func (j *job) saveReport() error {
	if err := j.held(); err != nil {
		return err
	}
	return j.renderReport()
}

func (j *job) saveErrors(e *runs.Errors) error {
	if err := j.held(); err != nil {
		return err
	}
	return j.dir.SaveErrors(e)
}

// restore gives the request file back what the run changed in it.
func (j *job) restore() error {
	if err := j.held(); err != nil {
		return err
	}
	return j.unlessGone(j.Project.RestoreRequest(j.req, j.stage))
}

// unlessGone tells, instead of failing, that the request's file is no longer in
// the checkout: a run has no part in which branch a person looks at.
func (j *job) unlessGone(err error) error {
	if fault.Has(err, fault.RequestNotFound) {
		j.warn("work.request_gone", j.stage, fault.Facts{"path": j.req.Path})
		return nil
	}
	return err
}

func (j *job) createBranch(ctx context.Context) error {
	if err := j.held(); err != nil {
		return err
	}
	return j.repo.CreateBranch(ctx, j.stage.Git.WorkBranch, j.stage.Git.BaseCommit)
}

// commit commits what the workspace holds.
func (j *job) commit(ctx context.Context, msg gitops.CommitMessage) (gitops.Commit, error) {
	if err := j.held(); err != nil {
		return gitops.Commit{}, err
	}
	made, err := j.ws.Commit(ctx, msg, j.commitOptions())
	return made, j.onBase(err)
}

// onBase is WORK_BRANCH_REQUIRED for a step that went over to the base branch,
// where a checkout is worked in.
func (j *job) onBase(err error) error {
	f, ok := fault.As(err)
	if !ok || f.Facts["reason"] != "branch_switched" || f.Facts["name"] != j.stage.Git.BaseBranch || !j.Project.Config.Git.EnforceWorkBranch {
		return err
	}
	return fault.Wrap(err, fault.WorkBranchRequired, "branch", f.Facts["name"], "work_branch", f.Facts["branch"])
}

// removeWorkspace takes the worktree away. What is in no commit is kept.
func (j *job) removeWorkspace(ctx context.Context) error {
	if err := j.held(); err != nil {
		return err
	}
	return j.repo.RemoveWorktree(ctx, j.workspacePath(), j.keep())
}
