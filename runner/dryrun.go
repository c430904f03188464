package runner

import (
	"context"
	"os"

	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/reqmeta/choose"
	"aiflow/runs"
)

// Intent is what a run would do.
type Intent struct {
	OK         bool            `json:"ok"`
	DryRun     bool            `json:"dry_run"`
	RequestID  string          `json:"request_id"`
	Title      string          `json:"title"`
	Resumes    string          `json:"resumes,omitempty"` // the interrupted run that would go on
	BaseBranch string          `json:"base_branch"`
	BaseCommit string          `json:"base_commit"`
	WorkBranch string          `json:"work_branch"`
	Workspace  string          `json:"workspace"`
	Steps      []runs.PlanStep `json:"steps"`
	Planner    string          `json:"planner,omitempty"`   // provider that would make the steps
	Selection  *choose.Result  `json:"selection,omitempty"` // when nothing is runnable: why
}

// DryRun says what Run would do with the same options. It writes nothing.
func (r *Runner) DryRun(ctx context.Context, o Options) (Intent, error) {
	s, err := r.look(ctx, o)
	if err != nil {
		return Intent{}, err
	}
	req, sel, err := r.wouldRun(s, o)
	if err != nil || req == nil {
		return Intent{OK: err == nil, DryRun: true, Selection: sel}, err
	}
	repo, err := r.openRepo(ctx)
	if err != nil {
		return Intent{}, err
	}
	j := &job{Runner: r, opts: o, repo: repo, survey: s, req: req}
	return j.intent(ctx, s.Latest(req.ID))
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

func (j *job) intent(ctx context.Context, last *runs.Stage) (Intent, error) {
	in := Intent{OK: true, DryRun: true, RequestID: j.req.ID, Title: j.req.Title()}
	if last != nil && !last.State.Ended() && !j.opts.Fresh {
		in.Resumes = last.RunID
		in.BaseBranch, in.BaseCommit, in.WorkBranch = last.Git.BaseBranch, last.Git.BaseCommit, last.Git.WorkBranch
	} else {
		var err error
		if in.BaseBranch, in.BaseCommit, err = j.repo.ResolveBase(ctx, j.survey.BaseOf(j.req)); err != nil {
			return Intent{}, err
		}
		in.WorkBranch = j.branchName(j.Project.Now().UTC())
	}
	in.Workspace = j.workspaceOf(j.req.ID)
	text, err := os.ReadFile(j.Project.Path(j.req.Path))
	if err != nil {
		return Intent{}, fault.Wrap(err, fault.RequestNotFound, "id", j.req.ID, "path", j.req.Path)
	}
	stage := runs.NewStage(j.req.ID, in.Resumes, in.Title, j.Project.Now())
	cast, err := j.routes()
	if err != nil {
		return Intent{}, err
	}
	if calls := cast.Calls(config.RolePlanner); len(calls) > 0 && len(j.req.Meta.Steps) == 0 {
		in.Planner, in.Steps = calls[0].Provider, []runs.PlanStep{}
		return in, nil
	}
	in.Steps = planOf(stage, j.req, text, j.Project.Config).Steps
	return in, nil
}
