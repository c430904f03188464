package main

import (
	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/internal/term"
	"aiflow/project"
	"aiflow/runner"
)

func printDryRun(s *cli.Shell, p *project.Project, in runner.Intent) error {
	if in.Selection != nil {
		return reportNothing(s, in.Selection)
	}
	s.Printf("%s\n", s.Text("work.dry_run", "id", in.RequestID, "title", term.Escape(in.Title)))
	if in.Resumes != "" {
		s.Printf("%s\n", s.Text("work.dry_resumes", "run_id", in.Resumes))
	}
	s.Printf("%s\n", s.Text("work.dry_base", "branch", in.BaseBranch, "commit", short(in.BaseCommit)))
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
