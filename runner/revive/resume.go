package revive

import (
	"context"

	"aiflow/internal/fault"
	"aiflow/project"
	"aiflow/runner/stage"
	"aiflow/runs"
)

// Resume goes on with a run that stopped, as ask says. answer is a person's, to what
// a role asked.
func Resume(ctx context.Context, run *stage.Run, last *runs.Stage, ask runs.Ask, answer string) (stage.Outcome, error) {
	if err := load(ctx, run, last); err != nil {
		return stage.Outcome{}, err
	}
	run.Unbounded = ask.Force
	at, err := runs.Resume(run.Stage, run.Plan, ask, run.Project.Config.Limits.MaxStepRetries)
	if err != nil {
		return stage.Outcome{}, err
	}
	if run.Doctor != nil {
		if err := run.Doctor(ctx); err != nil {
			run.NameRun(err)
			return stage.Outcome{}, err
		}
	}
	if f := run.Survey.Lacks(run.Request, run.Stage, run.Plan); f != nil && !at.NewRun {
		run.NameRun(f)
		return stage.Outcome{}, f
	}
	if err := project.SamePlan(run.Stage, run.Plan, at, run.Request); err != nil {
		if !ask.Force {
			return stage.Outcome{}, err
		}
		stage.TellOldSteps(run, at.StepID) // a person insists: it goes on with its old steps, and says so
	}
	if err := recordAnswer(run, answer); err != nil {
		return stage.Outcome{}, err
	}
	run.Tell(stage.Event{Kind: stage.Chosen, Title: run.Request.Title()})
	if at.NewRun {
		return replan(ctx, run, last)
	}
	if err := refuseUndecided(ctx, run, last, at); err != nil {
		return stage.Outcome{}, err
	}
	return continueRun(ctx, run, ask)
}

// recordAnswer writes a person's answer into the report, where roles are told from, with
// the questions that it is to.
func recordAnswer(run *stage.Run, text string) error {
	if text == "" {
		return nil
	}
	report, err := run.Dir.LoadReport()
	if err != nil {
		return err
	}
	if e := run.Stage.Error; e != nil && e.Meta[fault.QuestionsFact] != "" {
		text = e.Meta[fault.QuestionsFact] + "\n" + text
	}
	if err := run.Dir.SaveReport(runs.WithFinding(report, text)); err != nil {
		return err
	}
	run.ReadFindings(run.Dir)
	return nil
}

// replan closes the old run and makes a new one; each names the other. The new
// one starts from the branch of the old one, whatever is checked out now.
func replan(ctx context.Context, run *stage.Run, old *runs.Stage) (stage.Outcome, error) {
	run.Replans, run.Survey.Fresh = true, true
	if old.Git.BaseBranch != old.Git.BaseCommit { // else no branch was checked out
		if err := run.Survey.StartFrom(ctx, old.Git.BaseBranch); err != nil {
			return stage.Outcome{}, err
		}
	}
	if o := run.Survey.Obstacle(run.Request); o != nil {
		return stage.Outcome{}, o.Refusal(run.Request.ID, run.Request.Path)
	}
	return Anew(ctx, run, old)
}

func continueRun(ctx context.Context, run *stage.Run, ask runs.Ask) (stage.Outcome, error) {
	ws, ok := leftWorkspace(ctx, run, run.Stage)
	committed := ok && stage.ForeignTip(ctx, run.Repo, ws, run.Stage) != ""
	if err := reopenRun(ctx, run); err != nil {
		return stage.Outcome{}, err
	}
	at, err := runs.Resume(run.Stage, run.Plan, ask, run.Project.Config.Limits.MaxStepRetries)
	if err != nil {
		return stage.Outcome{}, err
	}
	if at, err = pointForWorkspace(ctx, run, at, committed); err != nil {
		return stage.Outcome{}, err
	}
	noteOwnLocks(run)
	run.Stage.CountProcess(run.Lease.Record().BootID)
	return stage.Drive(ctx, run, func(ctx context.Context, run *stage.Run) error {
		if err := stage.MarkRunning(run); err != nil {
			return err
		}
		return continueAt(ctx, run, at, false)
	})
}
