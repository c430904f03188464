package stage

import (
	"context"

	"aiflow/runs"
)

// publish pushes the work branch where the configuration says so, and finds
// out where the comparison can be looked at. Both can be done again.
func publish(ctx context.Context, run *Run) error {
	if run.Project.Config.Git.AutoPush && !run.Stage.HasEvent(runs.EventPushed) {
		if err := run.Save(); err != nil {
			return err
		}
		if err := run.Repo.Push(ctx, run.Stage.Git.WorkBranch, run.Project.Config.Git.RunHooks); err != nil {
			return err
		}
		run.Stage.AddEvent(run.Project.Now(), runs.EventPushed, "", "")
		if err := run.Save(); err != nil {
			return err
		}
	}
	g, cfg := run.Stage.Git, run.Project.Config.Git
	url, err := run.Repo.CompareURL(ctx, g.Compared(), g.WorkBranch, cfg.CompareURLTemplate)
	a := &run.Stage.Artifacts
	a.CompareURL, a.CompareProblem = nil, ""
	if err != nil {
		a.CompareProblem = run.InWords(err) // no URL is no failure
		return nil
	}
	a.CompareURL = &url
	return nil
}
