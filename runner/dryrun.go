package runner

import (
	"context"

	"aiflow/internal/config"
	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/reqmeta/choose"
	"aiflow/runner/stage"
	"aiflow/runs"
)

// Intent is what a run would do.
type Intent struct {
	OK         bool             `json:"ok"`
	DryRun     bool             `json:"dry_run"`
	RequestID  string           `json:"request_id"`
	Title      string           `json:"title"`
	Resumes    string           `json:"resumes,omitempty"` // the interrupted run that would go on
	BaseBranch string           `json:"base_branch"`
	BaseCommit string           `json:"base_commit"`
	StackedOn  []runs.StackedOn `json:"stacked_on,omitempty"` // not merged: it would start on top of these
	WorkBranch string           `json:"work_branch"`
	Workspace  string           `json:"workspace"`
	Steps      []runs.PlanStep  `json:"steps"`
	Planner    string           `json:"planner,omitempty"`   // provider that would make the steps
	Selection  *choose.Result   `json:"selection,omitempty"` // when nothing is runnable: why
}

// DryRun says what Run would do with the same options. It writes nothing.
func (r *Runner) DryRun(ctx context.Context, o Options) (Intent, error) {
	s, err := r.Project.Look(ctx)
	if err != nil {
		return Intent{}, err
	}
	if err := setChoice(ctx, s, o); err != nil {
		return Intent{}, err
	}
	req, sel, err := r.wouldRun(s, o)
	if err != nil || req == nil {
		return Intent{OK: err == nil, DryRun: true, Selection: sel}, err
	}
	repo, err := r.OpenRepo(ctx)
	if err != nil {
		return Intent{}, err
	}
	run := stage.New(&r.Setup, repo, req, nil)
	run.Survey = s
	last := s.Latest(req.ID)
	if o.Fresh {
		last = nil
	}
	return intent(ctx, run, last)
}

func (r *Runner) wouldRun(s *project.Survey, o Options) (*reqmeta.Request, *choose.Result, error) {
	if o.RequestID == "" {
		result := s.Select()
		if result.Next == nil {
			return nil, &result, nil
		}
		return result.Next.Request, nil, nil
	}
	req, err := s.Folder.Get(o.RequestID)
	if err != nil {
		return nil, nil, err
	}
	if why, ok := choose.JudgeNamed(s.Folder, s.Facts, req.ID); !ok {
		return nil, nil, why.Fault(r.Words.Text)
	}
	return req, nil, nil
}

func intent(ctx context.Context, run *stage.Run, last *runs.Stage) (Intent, error) {
	in := Intent{OK: true, DryRun: true, RequestID: run.Request.ID, Title: run.Request.Title()}
	if last != nil && !last.State.Ended() {
		in.Resumes = last.RunID
		in.BaseBranch, in.BaseCommit, in.WorkBranch = last.Git.BaseBranch, last.Git.BaseCommit, last.Git.WorkBranch
	} else {
		var err error
		if in.BaseBranch, in.BaseCommit, err = run.Repo.ResolveBase(ctx, run.Survey.BaseOf(run.Request)); err != nil {
			return Intent{}, err
		}
		in.StackedOn = run.Survey.StackOf(ctx, run.Request)
		in.WorkBranch = stage.BranchName(run, run.Project.Now().UTC())
	}
	in.Workspace = stage.NewWorkspace(run, run.Request.ID)
	text, err := run.RequestText()
	if err != nil {
		return Intent{}, err
	}
	st := runs.NewStage(run.Request.ID, in.Resumes, in.Title, run.Project.Now())
	cast, err := run.Router()
	if err != nil {
		return Intent{}, err
	}
	if calls := cast.Calls(config.RolePlanner); len(calls) > 0 && len(run.Request.Meta.Steps) == 0 {
		in.Planner, in.Steps = calls[0].Provider, []runs.PlanStep{}
		return in, nil
	}
	in.Steps = stage.PlanOf(st, run.Request, text, run.Project.Config).Steps
	return in, nil
}
