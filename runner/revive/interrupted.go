package revive

import (
	"context"

	"aiflow/gitops"
	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/locks"
	"aiflow/project"
	"aiflow/runner/stage"
	"aiflow/runs"
)

// ResumeInterrupted goes on with a run whose runner is gone, from its last
// record, with nothing lost and nothing done twice.
func ResumeInterrupted(ctx context.Context, run *stage.Run, last *runs.Stage) (stage.Outcome, error) {
	if err := load(ctx, run, last); err != nil {
		return stage.Outcome{}, err
	}
	at, err := runs.Resume(run.Stage, run.Plan, runs.Ask{Mode: runs.ModeResume}, run.Project.Config.Limits.MaxStepRetries)
	if err != nil {
		return stage.Outcome{}, err
	}
	if err := project.SamePlan(run.Stage, run.Plan, at, run.Request); err != nil {
		return stage.Outcome{}, err
	}
	run.Tell(stage.Event{Kind: stage.Found, StepID: last.CurrentStepID, What: string(last.State)})
	noteOwnLocks(run)
	run.Stage.CountProcess(run.Lease.Record().BootID)
	if err := run.Save(); err != nil {
		return stage.Outcome{}, err
	}
	return stage.Drive(ctx, run, func(ctx context.Context, run *stage.Run) error {
		if err := reopenRun(ctx, run); err != nil {
			return err
		}
		if err := stage.MarkRunning(run); err != nil {
			return err
		}
		if n := run.Stage.Deaths; n >= runs.MaxDeaths {
			return fault.New(fault.RunnerDied, "count", n, "id", run.Stage.CurrentStepID)
		}
		if at, err = runs.Resume(run.Stage, run.Plan, runs.Ask{Mode: runs.ModeResume}, run.Project.Config.Limits.MaxStepRetries); err != nil {
			return err
		}
		return continueAt(ctx, run, at, true)
	})
}

// load loads the record of a run.
func load(ctx context.Context, run *stage.Run, last *runs.Stage) error {
	text, err := run.RequestText()
	if err != nil {
		return err
	}
	run.Stage = last
	run.Repo = run.Repo.Marked(run.Mark())
	run.Dir = run.Project.Run(run.Request.ID, last.RunID)
	if _, err := run.Dir.LoadRequest(); err != nil && len(last.Steps) == 0 { // it died before it could keep that
		run.Text = Unblocked(ctx, run, previousRun(run), text)
	} else {
		run.Text = restoredText(run, run.Dir, text)
	}
	run.ReadFindings(run.Dir)
	if len(last.Steps) > 0 {
		run.Plan, err = run.Dir.LoadPlan()
	}
	if project.PlanLost(err) {
		run.Plan, err = nil, nil // whether the run can do without is runs.Resume's to say
	}
	if err == nil {
		_, err = run.Router()
	}
	return err
}

// noteOwnLocks names the run in our locks and the locks in the run.
func noteOwnLocks(run *stage.Run) {
	stage.NoteLocks(run)
	for _, l := range []*locks.Lease{run.Lease, run.Slot, run.Queue} {
		if l != nil {
			_ = l.SetRun(run.Stage.RunID) // a lost lock shows at the next save
		}
	}
}

// reopenRun makes sure that nobody else works for this run any more, opens its
// workspace, and takes over what was committed but not recorded.
func reopenRun(ctx context.Context, run *stage.Run) error {
	if err := commitsThere(ctx, run); err != nil {
		return err
	}
	endStrays(run)
	if is := project.StaleNow(ctx, run.Project, run.Stage); is.On != "" {
		run.Warn("work.stale_below", run.Stage, fault.Facts{"on": is.On, "run_id": run.Stage.RunID})
	}
	run.Repo.ClearBranchLock(run.Stage.Git.WorkBranch)
	run.Stage.AddEvent(run.Project.Now(), runs.EventResumed, run.Stage.CurrentStepID, "")
	if len(run.Stage.Steps) == 0 {
		clearPreviousWorkspace(ctx, run)
		return nil // begin opens the workspace
	}
	if err := reopenWorkspace(ctx, run); err != nil {
		return err
	}
	run.At("reopened")
	if i := run.Stage.Index(run.Stage.BackTo); i >= 0 {
		return returnToStep(ctx, run, i) // the runner died on its way
	}
	if err := adoptCommits(ctx, run); err != nil {
		return err
	}
	if step := run.Stage.Current(); step != nil && !step.Status.Settled() {
		return stage.Uncommit(ctx, run, step)
	}
	return nil
}

// commitsThere refuses a run whose record names a commit that is not there: it was edited
// by hand, or the repository is another one. Only a new run can do without.
func commitsThere(ctx context.Context, run *stage.Run) error {
	st := run.Stage
	var named []string
	if st.Git.BaseCommit != "" {
		named = append(named, st.Git.BaseCommit)
	}
	for _, c := range st.Git.Commits {
		named = append(named, c.Hash)
	}
	if len(named) == 0 {
		return nil
	}
	commit, err := gitops.Lacks(ctx, run.Repo, named)
	if err != nil || commit == "" {
		return err
	}
	return fault.New(fault.ReplanRequired, "request_id", st.RequestID, "run_id", st.RunID, "reason", "commit_lost", "commit", commit, "id", st.CurrentStepID)
}

// endStrays ends what the dead runner left running. It is looked for even when
// no agent is recorded: the runner may have died before it could write that
// down.
func endStrays(run *stage.Run) {
	agent := run.Stage.Agent
	if agent == nil {
		agent = &runs.Agent{}
	}
	if n := proc.EndStrays(run.Mark(), agent.PID, agent.PIDStart); n > 0 {
		run.Tell(stage.Event{Kind: stage.StraysEnded, Count: n})
	}
	run.Stage.Agent = nil
}

// reopenWorkspace opens the run's worktree, or makes it again from the work branch when
// somebody removed it. What is to be linked may have been added since.
func reopenWorkspace(ctx context.Context, run *stage.Run) error {
	if run.InPlace() {
		return stage.CheckOutInPlace(ctx, run)
	}
	made, err := run.Repo.RestoreBranch(ctx, run.Stage.Git.WorkBranch, run.Stage.Tip())
	if err != nil {
		return err
	}
	ws, ok, err := run.Repo.OpenWorktree(ctx, run.WorkspacePath())
	if err != nil {
		return err
	}
	if !ok {
		stage.TellBranch(run, made, run.Stage.Git.WorkBranch, "")
		if err := stage.CheckOut(ctx, run); err != nil {
			return err
		}
		return stage.LinkPaths(run)
	}
	run.Workspace = ws
	if err := stage.LinkPaths(run); err != nil {
		return err
	}
	if _, err = ws.ClearStaleLocks(); err != nil {
		return err
	}
	if err := ws.MendIndex(ctx); err != nil {
		return err
	}
	if err := stage.BackToBranch(ctx, run, made); err != nil {
		return err
	}
	return stage.LinkPaths(run)
}
