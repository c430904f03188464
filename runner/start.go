package runner

import (
	"context"

	"aiflow/gitops"
	"aiflow/locks"
	"aiflow/project"
	"aiflow/runner/revive"
	"aiflow/runner/stage"
)

// claimed is a request whose lock is held and which may run.
type claimed struct {
	id           string
	survey       *project.Survey
	lease, queue *locks.Lease // queue: nil outside of auto-runs
	slot         *locks.Lease
	repo         func() (*gitops.Repo, error)
}

// start runs a claimed request: it goes on with the run that was interrupted,
// or begins a new one. ctx ends when the lease is lost.
func (r *Runner) start(ctx context.Context, o Options, c claimed) (Outcome, error) {
	s := c.survey
	req, err := s.Folder.Get(c.id)
	if err != nil {
		return Outcome{}, err
	}
	_, _ = r.Project.Locks().SweepExpired(ctx) // of holders that are gone
	r.Project.SweepTemps(s.Folder)
	repo, err := c.repo()
	if err != nil {
		return Outcome{}, err
	}
	run := stage.New(&r.Setup, repo, req, c.lease)
	run.Begun, run.Lost, run.SessionBudget = o.Begun, o.Lost, o.budget
	run.Survey, run.Queue, run.Slot = s, c.queue, c.slot
	r.Tell(stage.Event{Kind: stage.Chosen, RequestID: c.id, Title: req.Title()})
	last := s.Latest(c.id)
	if st := project.RunBeforeRename(ctx, s, req); st != nil {
		r.Warn("work.old_name", st, project.RenameFacts(req, st))
	}
	if err := s.Unreadable(c.id); err != nil && !o.Fresh {
		return Outcome{}, err
	}
	if last != nil && !last.State.Ended() && !o.Fresh {
		out, err := revive.ResumeInterrupted(ctx, run, last)
		return Outcome{Outcome: out}, err
	}
	if last != nil && !o.Fresh {
		if out, ok := revive.CleanUp(ctx, run, last); ok {
			return Outcome{Outcome: out}, nil
		}
		if err := revive.RefuseChanged(ctx, run, last); err != nil {
			return Outcome{}, err
		}
	}
	out, err := revive.Anew(ctx, run, last)
	return Outcome{Outcome: out}, err
}
