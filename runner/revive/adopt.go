package revive

import (
	"context"

	"aiflow/gitops"
	"aiflow/project"
	"aiflow/runner/stage"
	"aiflow/runs"
)

// adoptCommits records commits of this run that its runner made but did not live to
// record.
func adoptCommits(ctx context.Context, run *stage.Run) error {
	tip, err := run.Workspace.Head(ctx)
	if err != nil {
		return err
	}
	known := run.Stage.Tip()
	if tip == known {
		return nil
	}
	commits, err := run.Repo.Commits(ctx, known, tip)
	if err != nil {
		return err
	}
	for _, c := range commits {
		if err := adoptCommit(run, c); err != nil {
			return err
		}
	}
	return run.Save()
}

func adoptCommit(run *stage.Run, c gitops.Commit) error {
	if !stage.MadeBy(run.Stage, c) {
		return nil
	}
	now := run.Project.Now()
	id := stage.Trailer(c, project.StepTrailer)
	if stage.Trailer(c, project.ResultTrailer) != "" {
		id = runs.RecordStep
	} else if err := adoptStep(run, id); err != nil {
		return err
	}
	if !run.Stage.HasCommit(id) {
		run.Stage.Git.Commits = append(run.Stage.Git.Commits, runs.Commit{StepID: id, Hash: c.Hash, Subject: c.Subject})
		run.Stage.AddEvent(now, runs.EventRecordCommitted, id, "")
		run.Tell(stage.Event{Kind: stage.StepAdopted, StepID: id, What: c.Hash})
	}
	return nil
}

func adoptStep(run *stage.Run, id string) error {
	step := run.Stage.Step(id)
	if step == nil || step.Status.Settled() {
		return nil
	}
	now := run.Project.Now()
	if _, err := run.Stage.Continue(now, id); err != nil {
		return err
	}
	return run.Stage.Finish(now, "")
}
