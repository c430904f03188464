package stage

import (
	"context"
	"slices"

	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/runs"
)

// Steps does what is left of the plan, from the recorded step on.
func Steps(ctx context.Context, run *Run) error {
	for i := run.Stage.CurrentStepIndex; i < len(run.Stage.Steps); i++ {
		if run.Stage.Steps[i].Status.Settled() {
			continue
		}
		if most := run.Project.Config.Limits.MaxStepsPerRun; most > 0 && run.stepsDone >= most {
			return fault.New(fault.StepLimitReached, "allowed", most)
		}
		if err := beginStep(run, i); err != nil {
			return err
		}
		if err := implement(ctx, run, i); err != nil {
			return err
		}
		run.Stage.Steps[i].Implemented = true
		if err := JudgeStep(ctx, run, i); err != nil {
			return err
		}
	}
	return Finish(ctx, run)
}

func beginStep(run *Run, i int) error {
	now := run.Project.Now()
	if run.Stage.State != runs.Implementing {
		if err := run.Stage.Move(runs.Implementing, now); err != nil {
			return err
		}
	}
	s, err := run.Stage.Begin(now, run.Stage.Steps[i].StepID)
	if err != nil {
		return err
	}
	run.autofixes = 0
	run.Tell(Event{Kind: StepBegun, Step: i + 1, StepID: s.StepID, Title: s.Title})
	return run.Save()
}

// JudgeStep takes what a step left in the workspace through the limits, the
// tests and the review into a commit. What the implementer can mend goes back
// to it first.
func JudgeStep(ctx context.Context, run *Run, i int) error {
	for {
		cause := judge(ctx, run, i)
		if cause == nil {
			return commitStep(ctx, run, i)
		}
		again, err := autofix(ctx, run, i, cause)
		if err != nil {
			return err
		}
		if !again {
			return cause
		}
	}
}

func judge(ctx context.Context, run *Run, i int) error {
	changes, err := run.Workspace.Judged(ctx, len(testsOf(run, i)) > 0 || run.hasRole(config.RoleQA))
	if err != nil {
		return err
	}
	run.changed = changes.Files
	if err := checkLimits(run, i, changes); err != nil {
		return err
	}
	if err := test(ctx, run, i, changes); err != nil {
		return err
	}
	if err := checkE2ERun(run, i); err != nil {
		return err
	}
	return review(ctx, run, i, changes)
}

func appendOnce(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
