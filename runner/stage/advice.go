package stage

import (
	"context"
	"slices"

	"aiflow/gitops"
	"aiflow/internal/fault"
	"aiflow/project"
	"aiflow/runs"
)

// adviceNow is that of an Adviser for the run, as it stands when it stops.
func adviceNow(ctx context.Context, run *Run) []fault.Advice {
	now := runs.Now{Retries: run.Project.Config.Limits.MaxStepRetries, Branch: run.Stage.Git.WorkBranch != "", Found: run.Found(ctx, run.Stage)}
	FillIn(&now, run.Survey, run.Stage, run.Plan)
	return runs.Advise(run.Stage, run.Plan, now)
}

// FillIn adds what the request, its place and the router say by now.
func FillIn(now *runs.Now, s *project.Survey, st *runs.Stage, plan *runs.Plan) {
	req := s.Folder.Unique(st.RequestID)
	if req == nil {
		now.Gone = true
		return
	}
	now.OldSteps = project.OldSteps(st, plan, req)
	if o := s.Obstacle(req); o != nil && o.Err.Code != fault.ReplanRequired {
		now.LacksAnew = o.Err.Code
	}
	if f := s.Lacks(req, st, plan); f != nil {
		now.Lacks = f.Code
	}
}

// Found looks at what somebody left in the workspace of a run that stopped, and
// leaves it as it is. What cannot be looked at is as the run left it.
func (s *Setup) Found(ctx context.Context, st *runs.Stage) (f runs.Found) {
	step := st.Current()
	if step == nil || !st.State.Ended() || st.Git.Workspace == "" || st.Git.Workspace == "." {
		return f
	}
	repo, err := s.OpenRepo(ctx)
	if err != nil || repo.Moved(s.Project.Path(st.Git.Workspace)) {
		return f
	}
	ws, ok, err := repo.OpenWorktree(ctx, s.Project.Path(st.Git.Workspace))
	if err != nil || !ok {
		return f
	}
	if names, err := ws.Unmerged(ctx); err == nil && len(names) > 0 {
		return runs.Found{Conflicts: true}
	}
	f.Commits = ForeignTip(ctx, repo, ws, st) != ""
	same, err := ws.Holds(ctx, step.AttemptTree)
	f.Files = err == nil && !same
	return f
}

// ForeignTip is the commit that the workspace stands at where none since the
// run's last is the run's; "" is none.
func ForeignTip(ctx context.Context, repo *gitops.Repo, ws *gitops.Workspace, st *runs.Stage) string {
	tip, err := ws.Head(ctx)
	if err != nil || tip == st.Tip() {
		return ""
	}
	commits, err := repo.Commits(ctx, st.Tip(), tip)
	if err != nil || slices.ContainsFunc(commits, func(c gitops.Commit) bool { return MadeBy(st, c) }) { // made but not recorded
		return ""
	}
	return tip
}

// MadeBy reports whether a commit is of the run.
func MadeBy(st *runs.Stage, c gitops.Commit) bool {
	return Trailer(c, project.RunTrailer) == st.RunID
}

// Trailer is what the first trailer of that name says; "" where there is none.
func Trailer(c gitops.Commit, name string) string {
	for _, said := range c.Trailers[name] {
		return said
	}
	return ""
}
