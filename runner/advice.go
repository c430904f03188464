package runner

import (
	"context"
	"sync"

	"aiflow/gitops"
	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/project"
	"aiflow/runs"
)

// Adviser tells what can be done about runs at one moment. What all of them
// depend on is looked at once.
type Adviser struct {
	r      *Runner
	of     *project.Standing
	survey func() *project.Survey
	doctor func() fault.Code
}

// Adviser looks at the project when it is first asked, and changes nothing.
func (r *Runner) Adviser(ctx context.Context, of *project.Standing) *Adviser {
	return &Adviser{
		r: r, of: of,
		survey: sync.OnceValue(func() *project.Survey {
			s, err := r.Project.Look(ctx)
			if err != nil {
				return nil
			}
			return s
		}),
		doctor: sync.OnceValue(func() fault.Code {
			if r.Doctor == nil {
				return ""
			}
			return fault.CodeOf(r.Doctor(ctx))
		}),
	}
}

// Advice is what can be done now about a run.
func (a *Adviser) Advice(ctx context.Context, st *runs.Stage) []fault.Advice {
	return a.from(ctx, st, "")
}

// from is Advice for a person who wants to go on with an earlier step.
func (a *Adviser) from(ctx context.Context, st *runs.Stage, step string) []fault.Advice {
	p := a.r.Project
	now := runs.Now{Step: step, Bounds: p.ResumeBounds(), Live: a.of.Working(st), Branch: a.of.BranchExists(st)}
	if ids, err := runs.ListRuns(p.Dir, p.RunsDir(), st.RequestID); err == nil && len(ids) > 0 && ids[0] > st.RunID && st.State != runs.Done {
		now.Newest = ids[0]
	}
	if a.of.AwaitsMerge(st) {
		now.Merge = "git merge " + proc.Word(st.Git.WorkBranch)
	}
	if now.Live || now.Newest != "" || st.ReplacedBy != "" || st.State == runs.Done {
		return runs.Advise(st, nil, now)
	}
	plan, _ := p.Run(st.RequestID, st.RunID).LoadPlan() // none is what a run has that stopped before it planned
	if s := a.survey(); s != nil {
		fillIn(&now, s, st, plan)
	}
	now.Found, now.Doctor = a.r.found(ctx, st), a.doctor()
	return runs.Advise(st, plan, now)
}

// about is the advice for the run that facts name; nil where they name none that
// is on record.
func (r *Runner) about(ctx context.Context, facts fault.Facts) []fault.Advice {
	if facts["run_id"] == "" {
		return nil
	}
	ctx = context.WithoutCancel(ctx) // a person who ends a command is told, too
	id, err := runs.FindRun(r.Project.Dir, r.Project.RunsDir(), facts["run_id"])
	if err != nil {
		return nil
	}
	st, err := r.Project.Run(id, facts["run_id"]).LoadStage()
	if err != nil {
		return nil
	}
	of, err := r.Project.Standing(ctx, []*runs.Stage{st})
	if err != nil {
		return nil
	}
	return r.Adviser(ctx, of).from(ctx, st, facts["target_step_id"])
}

// Advised adds to an error what can be done about the run that it names.
func (r *Runner) Advised(ctx context.Context, err error) error {
	f, ok := fault.As(err)
	if !ok {
		return err
	}
	if list := r.about(ctx, f.Facts); list != nil {
		return &fault.Advised{Err: err, Advice: list}
	}
	return err
}

// advice is that of an Adviser for the run in hand, as it stands when it stops.
func (j *job) advice(ctx context.Context) []fault.Advice {
	now := runs.Now{Bounds: j.Project.ResumeBounds(), Branch: j.stage.Git.WorkBranch != "", Found: j.found(ctx, j.stage)}
	fillIn(&now, j.survey, j.stage, j.plan)
	return runs.Advise(j.stage, j.plan, now)
}

// fillIn adds what the request, its place and the router say by now.
func fillIn(now *runs.Now, s *project.Survey, st *runs.Stage, plan *runs.Plan) {
	req := s.Folder.Unique(st.RequestID)
	if req == nil {
		now.Gone = true
		return
	}
	at := runs.Point{State: runs.Implementing}
	now.OldSteps = project.SamePlan(st, plan, at, req) != nil
	if o := s.Obstacle(req); o != nil && o.Err.Code != fault.ReplanRequired {
		now.LacksAnew = o.Err.Code
	}
	if f := s.Lacks(req, st, plan); f != nil {
		now.Lacks = f.Code
	}
}

// found looks at what somebody left in the workspace of a run that stopped, and
// leaves it as it is. What cannot be looked at is as the run left it.
func (r *Runner) found(ctx context.Context, st *runs.Stage) (f runs.Found) {
	step := st.Current()
	if step == nil || !st.State.Ended() || st.Git.Workspace == "" || st.Git.Workspace == "." {
		return f
	}
	repo, err := r.openRepo(ctx)
	if err != nil || repo.Moved(r.Project.Path(st.Git.Workspace)) {
		return f
	}
	ws, ok, err := repo.OpenWorktree(ctx, r.Project.Path(st.Git.Workspace))
	if err != nil || !ok || ws.Branch() != st.Git.WorkBranch {
		return f
	}
	return foundIn(ctx, repo, ws, st)
}

// foundIn is found where the workspace is open.
func foundIn(ctx context.Context, repo *gitops.Repo, ws *gitops.Workspace, st *runs.Stage) (f runs.Found) {
	if names, err := ws.Unmerged(ctx); err == nil && len(names) > 0 {
		return runs.Found{Conflicts: true}
	}
	f.Commits = foreignTip(ctx, repo, ws, st) != ""
	if step := st.Current(); step != nil {
		same, err := ws.Holds(ctx, step.AttemptTree)
		f.Files = err == nil && !same
	}
	return f
}
