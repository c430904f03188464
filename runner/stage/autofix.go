package stage

import (
	"context"
	"fmt"

	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/runs"
)

// autofix lets the implementer mend what a test or the review found, as often
// as limits.max_autofix_cycles says for one execution of a step. false: cause
// stops the run.
func autofix(ctx context.Context, run *Run, i int, cause error) (bool, error) {
	code := fault.CodeOf(cause)
	if code != fault.UnitTestFailed && code != fault.QARejected || run.autofixes >= run.Project.Config.Limits.MaxAutofixCycles ||
		run.Plan.Steps[i].Run != "" || !run.hasRole(config.RoleImplementer) {
		return false, nil
	}
	s := &run.Stage.Steps[i]
	failure := failure(run, s, cause)
	if err := KeepAttempt(ctx, run, s); err != nil {
		return false, err
	}
	run.autofixes++
	run.Stage.Counters.AutofixCycles++
	e := run.Stage.AddEvent(run.Project.Now(), runs.EventRetry, s.StepID, code)
	e.Detail = map[string]string{"autofix": fmt.Sprint(run.autofixes)}
	if run.Stage.State != runs.Implementing {
		if err := run.Stage.Move(runs.Implementing, run.Project.Now()); err != nil {
			return false, err
		}
	}
	if err := run.Save(); err != nil {
		return false, err
	}
	run.Tell(Event{Kind: SentBack, Step: i + 1, StepID: s.StepID, What: run.InWords(cause)})
	return true, callImplementer(ctx, run, i, failure)
}

// failure tells the implementer what is wrong.
func failure(run *Run, s *runs.Step, cause error) string {
	f, _ := fault.As(cause)
	if f.Code == fault.QARejected {
		return issuesText(s.QA)
	}
	text := string(f.Code)
	if c := f.Facts["command"]; c != "" {
		text += ": " + c + " (exit " + f.Facts["exit_status"] + ")"
	}
	return text + "\n\n" + endOf(run, f.Facts["path"])
}
