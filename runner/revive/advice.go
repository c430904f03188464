package revive

import (
	"context"
	"sync"

	"aiflow/internal/fault"
	"aiflow/project"
	"aiflow/runner/stage"
	"aiflow/runs"
)

// Adviser tells what can be done about runs at one moment. What all of them
// depend on is looked at once.
type Adviser struct {
	s      *stage.Setup
	of     *project.Standing
	survey func() *project.Survey
	doctor func() fault.Code
}

// Adviser looks at the project when it is first asked, and changes nothing.
func NewAdviser(ctx context.Context, setup *stage.Setup, of *project.Standing) *Adviser {
	return &Adviser{
		s: setup, of: of,
		survey: sync.OnceValue(func() *project.Survey {
			s, err := setup.Project.Look(ctx)
			if err != nil {
				return nil
			}
			return s
		}),
		doctor: sync.OnceValue(func() fault.Code {
			if setup.Doctor == nil {
				return ""
			}
			return fault.CodeOf(setup.Doctor(ctx))
		}),
	}
}

// Advice is what can be done now about a run.
func (a *Adviser) Advice(ctx context.Context, st *runs.Stage) []fault.Advice {
	return a.from(ctx, st, "")
}

// from is Advice for a person who wants to go on with an earlier step.
func (a *Adviser) from(ctx context.Context, st *runs.Stage, step string) []fault.Advice {
	p := a.s.Project
	now := runs.Now{Step: step, Retries: p.Config.Limits.MaxStepRetries, Live: a.of.Working(st), Branch: a.of.BranchExists(st)}
	if ids, err := runs.ListRuns(p.Dir, p.RunsDir(), st.RequestID); err == nil && len(ids) > 0 && ids[0] > st.RunID && st.State != runs.Done {
		now.Newest = ids[0]
	}
	if a.of.AwaitsMerge(st) {
		now.Merge = project.MergeCommand(ctx, p, st.Git.WorkBranch)
		stale := a.of.StaleOn(st)
		now.Stale, now.Restacks = stale.On != "", stale.On != "" && stale.Again
		if failed := a.of.LandFailed(st); failed != nil {
			now.Fails = failed.Into
		}
	}
	if st.RestackStopped() && !now.Branch {
		now.Restore = project.RestoreBranch(st)
	}
	if now.Live || now.Newest != "" || st.ReplacedBy != "" || st.State == runs.Done {
		return runs.Advise(st, nil, now)
	}
	plan, _ := p.Run(st.RequestID, st.RunID).LoadPlan() // none is what a run has that stopped before it planned
	if s := a.survey(); s != nil {
		stage.FillIn(&now, s, st, plan)
	}
	now.Found, now.Doctor = a.s.Found(ctx, st), a.doctor()
	return runs.Advise(st, plan, now)
}

// Advice is the advice for the run that facts name; nil where they name none that
// is on record.
func Advice(ctx context.Context, s *stage.Setup, facts fault.Facts) []fault.Advice {
	if facts["run_id"] == "" {
		return nil
	}
	ctx = context.WithoutCancel(ctx) // a person who ends a command is told, too
	id, err := runs.FindRun(s.Project.Dir, s.Project.RunsDir(), facts["run_id"])
	if err != nil {
		return nil
	}
	st, err := s.Project.Run(id, facts["run_id"]).LoadStage()
	if err != nil {
		return nil
	}
	of, err := s.Project.Standing(ctx, []*runs.Stage{st})
	if err != nil {
		return nil
	}
	return NewAdviser(ctx, s, of).from(ctx, st, facts["target_step_id"])
}

// Advised adds to an error what can be done about the run that it names.
func Advised(ctx context.Context, s *stage.Setup, err error) error {
	f, ok := fault.As(err)
	if !ok {
		return err
	}
	if list := Advice(ctx, s, f.Facts); list != nil {
		return &fault.Advised{Err: err, Advice: list}
	}
	return err
}
