package runner

import (
	"context"
	"fmt"
	"strings"

	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/runs"
)

// sendBack lets the implementer mend what a test or the review found, as often
// as limits.max_autofix_cycles says for one execution of a step. false: cause
// stops the run.
func (j *job) sendBack(ctx context.Context, i int, cause error) (bool, error) {
	if !j.mayMend(i, cause) {
		return false, nil
	}
	s := &j.stage.Steps[i]
	failure := j.failure(s, cause)
	if err := j.keepAttempt(ctx, s); err != nil {
		return false, err
	}
	j.mended++
	j.stage.Counters.AutofixCycles++
	e := j.stage.AddEvent(j.Project.Now(), runs.EventRetry, s.StepID, fault.CodeOf(cause))
	e.Detail = map[string]string{"autofix": fmt.Sprint(j.mended)}
	if j.stage.State != runs.Implementing {
		if err := j.stage.Move(runs.Implementing, j.Project.Now()); err != nil {
			return false, err
		}
	}
	if err := j.save(); err != nil {
		return false, err
	}
	j.tell(Event{Kind: SentBack, Step: i + 1, StepID: s.StepID, What: j.inWords(cause)})
	return true, j.callImplementer(ctx, i, failure)
}

func (j *job) mayMend(i int, cause error) bool {
	code := fault.CodeOf(cause)
	return (code == fault.UnitTestFailed || code == fault.QARejected) &&
		j.mended < j.Project.Config.Limits.MaxAutofixCycles &&
		j.plan.Steps[i].Run == "" && j.plays(config.RoleImplementer)
}

// failure tells the implementer what is wrong.
func (j *job) failure(s *runs.Step, cause error) string {
	f, _ := fault.As(cause)
	if f.Code == fault.QARejected {
		return issuesText(s.QA)
	}
	text := string(f.Code)
	if c := f.Facts["command"]; c != "" {
		text += ": " + c + " (exit " + f.Facts["exit_status"] + ")"
	}
	return text + "\n\n" + j.endOf(f.Facts["path"])
}

func issuesText(q *runs.QA) string {
	list := []string{q.Summary, ""}
	for _, issue := range q.Issues {
		list = append(list, strings.TrimSpace("- "+issueText(issue)))
	}
	return strings.Join(list, "\n")
}

func issueText(issue runs.Issue) string {
	place := issue.File
	if place != "" && issue.Line > 0 {
		place = fmt.Sprintf("%s:%d", place, issue.Line)
	}
	return "[" + issue.Severity + "] " + place + " " + issue.Description
}
