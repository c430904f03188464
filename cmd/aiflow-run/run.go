package main

import (
	"context"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/cmd/internal/work"
	"aiflow/internal/term"
	"aiflow/project"
	"aiflow/runner"
)

// run does one run: of the request with this id, or of the next one.
func run(s *cli.Shell, o runner.Options, dryRun bool) error {
	p, err := app.Open(s, nil)
	if err != nil {
		return err
	}
	if dryRun {
		plan, err := work.Runner(s, p).DryRun(context.Background(), o)
		switch {
		case err != nil:
			return err
		case s.JSON:
			return s.PrintJSON(plan)
		}
		return printDryRun(s, p, plan)
	}
	ctx, hurry := s.Patience()
	show := newShow(s, p)
	out, err := newRunner(s, p, show, hurry).Run(ctx, o)
	show.end()
	if err != nil {
		return err
	}
	return report(s, p, out)
}

func newRunner(s *cli.Shell, p *project.Project, show *show, hurry <-chan struct{}) *runner.Runner {
	r := work.Runner(s, p)
	r.Hurry, r.Observe, r.Point = hurry, show.event, app.Point(p)
	return r
}

func printDryRun(s *cli.Shell, p *project.Project, in runner.Intent) error {
	if in.Selection != nil {
		return reportNothing(s, in.Selection)
	}
	s.Printf("%s\n", s.Text("work.dry_run", "id", in.RequestID, "title", term.Escape(in.Title)))
	if in.Resumes != "" {
		s.Printf("%s\n", s.Text("work.dry_resumes", "run_id", in.Resumes))
	}
	s.Printf("%s\n", s.Text("work.dry_base", "branch", in.BaseBranch, "commit", term.ShortHash(in.BaseCommit)))
	for _, on := range in.StackedOn {
		s.Printf("%s\n", s.Text("work.dry_stacked", "id", on.RequestID, "branch", on.Branch))
	}
	s.Printf("%s\n", s.Text("work.dry_branch", "branch", in.WorkBranch))
	s.Printf("%s\n", s.Text("work.dry_workspace", "path", app.Here(s, p, in.Workspace)))
	if in.Planner != "" {
		s.Printf("%s\n", s.Text("work.dry_planner", "name", term.Escape(in.Planner)))
	}
	for _, step := range in.Steps {
		s.Printf("%s\n", s.Text("work.dry_step", "step_id", step.StepID, "title", term.Escape(step.Title)))
		if step.Run != "" {
			s.Printf("%s\n", s.Text("work.dry_run_command", "command", term.Escape(step.Run)))
		}
		if step.Test != "" {
			s.Printf("%s\n", s.Text("work.dry_test_command", "command", term.Escape(step.Test)))
		}
	}
	return nil
}
