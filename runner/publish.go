package runner

import (
	"context"

	"aiflow/runs"
)

// publish pushes the work branch where the configuration says so, and finds
// out where the comparison can be looked at. Both can be done again.
func (j *job) publish(ctx context.Context) error {
	if err := j.push(ctx); err != nil {
		return err
	}
	g, cfg := j.stage.Git, j.Project.Config.Git
	url, err := j.repo.CompareURL(ctx, g.BaseBranch, g.WorkBranch, cfg.CompareURLTemplate)
	a := &j.stage.Artifacts
	a.CompareURL, a.CompareProblem = nil, ""
	if err != nil {
		a.CompareProblem = j.inWords(err) // no URL is no failure
		return nil
	}
	a.CompareURL = &url
	return nil
}

func (j *job) push(ctx context.Context) error {
	if !j.Project.Config.Git.AutoPush || j.stage.HasEvent(runs.EventPushed) {
		return nil
	}
	if err := j.save(); err != nil {
		return err
	}
	if err := j.repo.Push(ctx, j.stage.Git.WorkBranch, j.Project.Config.Git.RunHooks); err != nil {
		return err
	}
	j.stage.AddEvent(j.Project.Now(), runs.EventPushed, "", "")
	return j.save()
}
