package stage

import (
	"context"
	"fmt"
	"strings"

	"aiflow/gitops"
	"aiflow/internal/config"
	"aiflow/internal/contract"
	"aiflow/internal/fault"
	"aiflow/runner/agent"
	"aiflow/runs"
)

// review asks the qa role about a step whose tests pass. What it finds goes
// into the report; what must be mended is QA_REJECTED.
func review(ctx context.Context, run *Run, i int, tested gitops.ChangeSet) error {
	if !run.hasRole(config.RoleQA) {
		return nil
	}
	s := &run.Stage.Steps[i]
	var a contract.Answer
	err := ask(ctx, run, question{
		role: config.RoleQA, step: s, plan: &run.Plan.Steps[i],
		accept: func(ctx context.Context, r agent.Reply) error {
			if err := undoChanges(ctx, run, config.RoleQA, s, tested.Tree); err != nil {
				return err
			}
			var err error
			a, err = readAnswer(run, r)
			return err
		},
	})
	if err != nil {
		return err
	}
	s.QA = qaResult(a)
	if err := run.Save(); err != nil {
		return err
	}
	if s.QA.Status == runs.TestFail {
		return fault.New(fault.QARejected, "value", agent.ShortLine(a.Summary), "issues", issuesLine(s.QA.Issues), "name", config.RoleQA)
	}
	return nil
}

// undoChanges keeps and undoes what a role changed that should only read.
func undoChanges(ctx context.Context, run *Run, role string, s *runs.Step, tree string) error {
	if err := Uncommit(ctx, run, s); err != nil {
		return err
	}
	now, err := run.Workspace.Changes(ctx)
	if err != nil || now.Tree == tree {
		return err
	}
	if err := KeepAttempt(ctx, run, &runs.Step{StepID: role, Title: s.Title}); err != nil {
		return err
	}
	run.Tell(Event{Kind: Warned, StepID: s.StepID, What: run.Words.Text("work.note_only_reads", fault.Facts{"name": role})})
	if err := run.Workspace.TakeBack(ctx, tree); err != nil {
		return err
	}
	_, err = run.Workspace.Changes(ctx)
	return err
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
		list = append(list, agent.ShortLine(issueText(issue)))
	}
	return strings.Join(list, "; ")
}

func qaResult(a contract.Answer) *runs.QA {
	q := &runs.QA{Status: runs.TestPass, Summary: agent.OneLine(a.Summary), Issues: []runs.Issue{}}
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
