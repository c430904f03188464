package runner

import (
	"context"
	"strings"

	"aiflow/gitops"
	"aiflow/internal/config"
	"aiflow/internal/contract"
	"aiflow/internal/fault"
	"aiflow/runs"
)

// review asks the qa role about a step whose tests pass. What it finds goes
// into the report; what must be mended is QA_REJECTED.
func (j *job) review(ctx context.Context, i int, tested gitops.ChangeSet) error {
	if !j.plays(config.RoleQA) {
		return nil
	}
	s := &j.stage.Steps[i]
	var a contract.Answer
	err := j.ask(ctx, question{
		role: config.RoleQA, step: s, plan: &j.plan.Steps[i],
		accept: func(ctx context.Context, r reply) error {
			if err := j.takeAway(ctx, config.RoleQA, s, tested.Tree); err != nil {
				return err
			}
			var err error
			a, err = j.read(r)
			return err
		},
	})
	if err != nil {
		return err
	}
	s.QA = opinion(a)
	if err := j.save(); err != nil {
		return err
	}
	if s.QA.Status == runs.TestFail {
		return fault.New(fault.QARejected, "value", shortLine(a.Summary), "issues", issuesLine(s.QA.Issues), "name", config.RoleQA)
	}
	return nil
}

// shownIssues is how many of them an error tells; the report has them all.
const shownIssues = 3

// issuesLine tells the first issues in one line.
func issuesLine(issues []runs.Issue) string {
	var list []string
	for _, issue := range issues {
		if len(list) == shownIssues {
			list = append(list, "…")
			break
		}
		list = append(list, shortLine(issueText(issue)))
	}
	return strings.Join(list, "; ")
}

func opinion(a contract.Answer) *runs.QA {
	q := &runs.QA{Status: runs.TestPass, Summary: oneLine(a.Summary), Issues: []runs.Issue{}}
	if a.SendsBack() {
		q.Status = runs.TestFail
	}
	for _, issue := range a.Issues {
		q.Issues = append(q.Issues, runs.Issue(issue))
	}
	for _, t := range a.Tests {
		q.Tests = append(q.Tests, strings.TrimSpace(t.Type+" "+t.Description))
	}
	return q
}

// takeAway keeps and undoes what a role changed that should only read.
func (j *job) takeAway(ctx context.Context, role string, s *runs.Step, tree string) error {
	if err := j.rejoin(ctx, s); err != nil {
		return err
	}
	now, err := j.ws.Changes(ctx)
	if err != nil || now.Tree == tree {
		return err
	}
	if err := j.keepAttempt(ctx, &runs.Step{StepID: role, Title: s.Title}); err != nil {
		return err
	}
	j.tell(Event{Kind: Warned, StepID: s.StepID, What: j.Words.Text("work.note_only_reads", fault.Facts{"name": role})})
	if err := j.held(); err != nil {
		return err
	}
	if err := j.ws.TakeBack(ctx, tree); err != nil {
		return err
	}
	_, err = j.ws.Changes(ctx)
	return err
}
