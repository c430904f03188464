package stage

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"aiflow/internal/config"
	"aiflow/internal/contract"
	"aiflow/reqmeta"
	"aiflow/runner/agent"
	"aiflow/runs"
)

// askPlanner lets the planner role make the plan. What it changed in the
// workspace is taken away again.
func askPlanner(ctx context.Context, run *Run) (*runs.Plan, error) {
	start, err := run.Workspace.Changes(ctx)
	if err != nil {
		return nil, err
	}
	var plan *runs.Plan
	step := runs.Step{StepID: config.RolePlanner, Title: run.Stage.Title}
	err = ask(ctx, run, question{role: config.RolePlanner, accept: func(ctx context.Context, r agent.Reply) error {
		if err := undoChanges(ctx, run, config.RolePlanner, &step, start.Tree); err != nil {
			return err
		}
		a, err := readAnswer(run, r)
		if err != nil {
			return err
		}
		if a.Planning == nil {
			return agent.Located(contract.Lacks(r.Call.Role, "planning"), r)
		}
		plan = planFromAnswer(run, a)
		if err := runs.Err(plan.Check()); err != nil {
			return agent.Located(err, r)
		}
		return nil
	}})
	return plan, err
}

// planFromAnswer makes planning.json (D55) of a planner's answer (D42).
// docs/answers.md has the table.
func planFromAnswer(run *Run, a contract.Answer) *runs.Plan {
	cfg := run.Project.Config
	p := PlanOf(run.Stage, run.Request, run.Text, cfg)
	p.Source, p.Steps = runs.SourcePlanner, nil
	spec := a.Planning.Spec
	if spec.Summary != "" {
		p.Context.Summary = spec.Summary
	}
	if spec.Why != "" {
		p.Context.ProjectFacts = map[string]string{"why": spec.Why}
	}
	p.Context.Constraints = append(p.Context.Constraints, spec.Constraints...)
	p.Context.AcceptanceCriteria = mergeCriteria(p.Context.AcceptanceCriteria, a)
	p.Gates.RequireE2EForRegressionAC = wantsE2E(p.Context)
	p.Assumptions = a.Artifacts.Notes
	for _, r := range a.Risks {
		p.Risks = append(p.Risks, strings.TrimPrefix(r.Priority+": "+r.Description, ": "))
	}
	for i, s := range a.Planning.Steps {
		p.Steps = append(p.Steps, plannedStep(i+1, s, run.Request, cfg))
	}
	return p
}

// mergeCriteria keeps the request's own criteria, in its words; the planner
// adds given, when and then, and criteria of its own behind them.
func mergeCriteria(own []runs.Criterion, a contract.Answer) []runs.Criterion {
	for _, c := range a.Planning.Criteria {
		i := slices.IndexFunc(own, func(o runs.Criterion) bool { return o.ID == c.ID })
		if i < 0 {
			own = append(own, runs.Criterion{ID: c.ID, Given: c.Given, When: c.When, Then: c.Then, Text: c.Text, Type: c.Type})
			continue
		}
		own[i].Given, own[i].When, own[i].Then = c.Given, c.When, c.Then
		if c.Type != "" {
			own[i].Type = c.Type
		}
	}
	return own
}

func plannedStep(n int, s contract.Step, r *reqmeta.Request, cfg config.Config) runs.PlanStep {
	p := planStep(n, reqmeta.Step{Title: s.Title}, r, cfg)
	p.StepID = s.ID
	p.Outputs.PatchPath = "patches/" + s.ID + ".patch"
	p.Outputs.LogPrefix = fmt.Sprintf("logs/step-%d", n)
	if s.Goal != "" {
		p.Intent = s.Goal
	}
	p.Scope.TargetPaths = append(append([]string{}, s.Targets.Paths...), s.Targets.Globs...)
	if lines := s.Constraints.MaxDiffLines; lines > 0 {
		p.Scope.MaxDiffLines, p.ExpectedDiff.LinesMax = lines, lines
	}
	if files := s.Constraints.MaxFiles; files > 0 {
		p.Scope.MaxFilesChanged, p.ExpectedDiff.FilesMax = files, files
	}
	if s.Gates.E2E != nil { // unit and static are not a planner's to leave out
		p.Gates.E2E = *s.Gates.E2E
	}
	p.SuccessCriteria = append(p.SuccessCriteria, s.Done...)
	p.LinksToAC = append(p.LinksToAC, s.LinksTo...)
	p.Fallback = s.Fallback
	return p
}
