package stage

import (
	"context"
	"fmt"

	"aiflow/internal/config"
	"aiflow/reqmeta"
	"aiflow/runs"
)

// makePlan turns the request into planning.json: its own steps, or one step
// for the implementer (design.md 6.1).
func makePlan(ctx context.Context, run *Run) error {
	now := run.Project.Now()
	if err := run.Stage.Move(runs.Planning, now); err != nil {
		return err
	}
	plan, err := newPlan(ctx, run)
	if err != nil {
		return err
	}
	if err := runs.Err(plan.Check()); err != nil {
		return err
	}
	if err := checkE2EPlan(plan, run.Project.Config); err != nil {
		return err
	}
	now = run.Project.Now()
	if err := run.Dir.SavePlan(plan); err != nil {
		return err
	}
	run.Plan = plan
	run.Stage.SetPlan(plan, now)
	if err := run.Stage.Move(runs.Implementing, now); err != nil {
		return err
	}
	if err := run.Save(); err != nil {
		return err
	}
	return run.saveReport()
}

// newPlan is the planner's where the router names one and the request has no
// steps of its own.
func newPlan(ctx context.Context, run *Run) (*runs.Plan, error) {
	if len(run.Request.Meta.Steps) == 0 && run.hasRole(config.RolePlanner) {
		if err := run.Save(); err != nil {
			return nil, err
		}
		return askPlanner(ctx, run)
	}
	run.Stage.Attempts.Planning++
	return PlanOf(run.Stage, run.Request, run.Text, run.Project.Config), nil
}

// PlanOf is pure: the plan that a request without a planner gets.
func PlanOf(s *runs.Stage, r *reqmeta.Request, text []byte, cfg config.Config) *runs.Plan {
	p := &runs.Plan{
		Version: runs.Version, RequestID: s.RequestID, RunID: s.RunID, CreatedAt: s.StartedAt,
		BaseBranch: s.Git.BaseBranch, WorkBranch: s.Git.WorkBranch, Source: runs.SourceFrontmatter,
		Limits: runs.Limits{
			MaxDiffLines: cfg.Limits.MaxDiffLines, MaxFilesChanged: cfg.Limits.MaxFiles,
			TimeoutSec: cfg.Limits.TimeoutSec, MaxStepsPerRun: cfg.Limits.MaxStepsPerRun,
			MaxAutofixCycles: cfg.Limits.MaxAutofixCycles,
		},
		Context: runs.Context{
			Summary: r.Title(), Constraints: []string{}, AcceptanceCriteria: Criteria(reqmeta.Readable(text)),
			TestInstructions: Instructions(reqmeta.Readable(text)),
		},
		Gates: runs.Gates{
			RequireCleanWorktree: cfg.Git.RequireCleanWorktree, RequireWorkBranch: cfg.Git.EnforceWorkBranch,
			RequireUnitPass: cfg.Tests.Unit.Enabled, ForbidGH: true,
		},
		Outputs: runs.PlanOutputs{PlanningJSON: "planning.json", StageJSON: "stage.json", ReportMD: "report.md"},
	}
	if len(r.Meta.Steps) == 0 {
		p.Source = runs.SourceSingle
	}
	for i, step := range r.Steps() {
		p.Steps = append(p.Steps, planStep(i+1, step, r, cfg))
	}
	p.Gates.RequireE2EForRegressionAC = wantsE2E(p.Context)
	return p
}

func planStep(n int, step reqmeta.Step, r *reqmeta.Request, cfg config.Config) runs.PlanStep {
	id := runs.StepID(n)
	return runs.PlanStep{
		StepID: id, Title: step.Title, Role: config.RoleImplementer, Intent: step.Title, Run: step.Run, Test: step.Test,
		Scope: runs.Scope{
			TargetPaths: []string{}, ForbiddenPaths: cfg.Limits.ForbiddenPaths,
			MaxDiffLines: cfg.Limits.MaxDiffLines, MaxFilesChanged: cfg.Limits.MaxFiles,
		},
		Inputs:          runs.Inputs{RequestPath: r.Path},
		Gates:           runs.StepGates{Unit: cfg.Tests.Unit.Enabled, Static: cfg.Tests.Static.Enabled, E2E: cfg.Tests.E2E.Enabled},
		SuccessCriteria: []string{}, LinksToAC: []string{},
		ExpectedDiff: runs.ExpectedDiff{LinesMax: cfg.Limits.MaxDiffLines, FilesMax: cfg.Limits.MaxFiles, RiskLevel: "low"},
		Outputs:      runs.StepOutputs{PatchPath: "patches/" + id + ".patch", LogPrefix: fmt.Sprintf("logs/step-%d", n)},
	}
}
