package revive

import (
	"context"

	"aiflow/runner/stage"
	"aiflow/runs"
)

// continueAt continues at a point. interrupted says that nobody touched the
// workspace on purpose since the runner died.
func continueAt(ctx context.Context, run *stage.Run, at runs.Point, interrupted bool) error {
	does := continuationAt(at, run.Stage.State.Ended(), interrupted, run.InPlace())
	if does.recordsFirst {
		if does.setsAside {
			run.Stage.BackTo = at.StepID
		}
		if run.Stage.State.Ended() {
			if err := run.Stage.Move(runs.Implementing, run.Project.Now()); err != nil {
				return err
			}
		}
		if err := run.Save(); err != nil {
			return err
		}
	}
	if does.setsAside {
		if err := returnToStep(ctx, run, at.Index); err != nil {
			return err
		}
	}
	if does.putsBack {
		if err := stage.PutBack(ctx, run, at.Index); err != nil {
			return err
		}
	}
	switch does.next {
	case begins:
		return stage.Begin(ctx, run)
	case finishes:
		return stage.Finish(ctx, run)
	case tests:
		return continueAtTests(ctx, run, at, interrupted)
	}
	return stage.Steps(ctx, run)
}

// returnToStep sets aside what the run committed from a step on, under a name that is
// told, and returns to where that step began. Who finds the record of a runner
// that died meanwhile does the rest of it.
func returnToStep(ctx context.Context, run *stage.Run, i int) error {
	if c := run.Stage.Current(); c != nil && !c.Status.Settled() {
		if err := stage.KeepAttempt(ctx, run, c); err != nil {
			return err
		}
	}
	if err := stage.ClearWorkspace(ctx, run); err != nil {
		return err
	}
	if run.Stage.Steps[i].Status.Settled() {
		if err := setStepsAside(ctx, run, i); err != nil {
			return err
		}
	}
	run.At("set_aside")
	if err := run.Workspace.SoftReset(ctx, run.Stage.Tip()); err != nil {
		return err
	}
	changes, err := run.Workspace.Changes(ctx)
	if err != nil {
		return err
	}
	run.Stage.Steps[i].AttemptTree, run.Stage.BackTo = changes.Tree, ""
	return run.Save()
}

// setStepsAside keeps the commits of step i and later ones, and takes them out of the
// record.
func setStepsAside(ctx context.Context, run *stage.Run, i int) error {
	step, tip := run.Stage.Steps[i], run.Stage.Tip()
	start := run.Stage.GoBack(run.Project.Now(), i)
	n := run.Dir.NextAttempt(step.StepID)
	ref := stage.AttemptRef(run.Stage.RunID, step.StepID, n)
	patch, err := run.Repo.Patch(ctx, start, tip)
	if err != nil {
		return err
	}
	if _, err := run.SavePatch(step.StepID, n, patch); err != nil {
		return err
	}
	if err := run.Repo.KeepCommit(ctx, ref, tip); err != nil {
		return err
	}
	run.Stage.NoteLeft(runs.Left{Kind: runs.LeftSetAside, Kept: ref})
	run.Tell(stage.Event{Kind: stage.SetAside, StepID: step.StepID, What: ref})
	return run.Save()
}

// continueAtTests judges what is in the workspace. After a crash that must be what
// the step's command left; a test that died half way may have changed it.
func continueAtTests(ctx context.Context, run *stage.Run, at runs.Point, interrupted bool) error {
	step := &run.Stage.Steps[at.Index]
	if interrupted {
		changes, err := run.Workspace.Changes(ctx)
		if err != nil {
			return err
		}
		if changes.Tree != step.Tree {
			if err := stage.PutBack(ctx, run, at.Index); err != nil {
				return err
			}
			return stage.Steps(ctx, run)
		}
	}
	now := run.Project.Now()
	if run.Stage.State.Ended() {
		if err := run.Stage.Move(runs.Implementing, now); err != nil {
			return err
		}
	}
	if _, err := run.Stage.Continue(now, step.StepID); err != nil {
		return err
	}
	if !interrupted {
		if err := noteTaken(ctx, run, step); err != nil {
			return err
		}
	}
	if err := stage.JudgeStep(ctx, run, at.Index); err != nil {
		return err
	}
	return stage.Steps(ctx, run)
}

// noteTaken tells what a person changed since the step stopped, which counts as its
// work, and of a step whose command never ended well.
func noteTaken(ctx context.Context, run *stage.Run, s *runs.Step) error {
	changes, err := run.Workspace.Changes(ctx)
	if err != nil {
		return err
	}
	var names []string
	switch {
	case changes.Tree == s.AttemptTree || changes.Empty():
	case s.AttemptTree == "":
		for _, f := range changes.Files {
			names = append(names, f.Path)
		}
	default:
		if names, err = run.Repo.Between(ctx, s.AttemptTree, changes.Tree); err != nil {
			return err
		}
	}
	if len(names) > 0 {
		run.NoteText(s, run.Words.Text("work.note_taken_files", stage.Named("names", names)))
	}
	if !s.Implemented {
		run.Note(s, "work.note_taken")
	}
	return nil
}
