package runner

import (
	"cmp"
	"context"

	"aiflow/gitops"
	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/locks"
	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/reqmeta/choose"
	"aiflow/runner/stage"
	"aiflow/runs"
)

// openInBackground opens the repository and finds out who commits. Neither depends on
// the requests, which are read meanwhile.
func (r *Runner) openInBackground(ctx context.Context) func() (*gitops.Repo, error) {
	return stage.Background(func() (*gitops.Repo, error) {
		repo, err := r.OpenRepo(ctx)
		if err == nil {
			_, _, err = repo.Identity(ctx)
		}
		if err == nil {
			err = checkWritable(r)
		}
		return repo, err
	})
}

// checkWritable refuses a repository in which no commit can be made, before anything is.
func checkWritable(r *Runner) error {
	if path := gitops.Unwritable(r.Project.CommonDir()); path != "" {
		return fault.NotWritable(nil, path)
	}
	return nil
}

// Run runs what o asks for. Its error is a refusal: nothing was started. A run
// that was started and did not end well is an Outcome with Err.
func (r *Runner) Run(ctx context.Context, o Options) (Outcome, error) {
	run := r.runNext
	if o.RequestID != "" {
		run = r.runNamed
	}
	out, err := run(ctx, o)
	return out, r.Advised(ctx, err)
}

// runNamed runs one request that a person asked for: only its lock, its form
// and its dependencies can refuse. While the files that it may change are taken it
// tries again, for as long as it may wait.
func (r *Runner) runNamed(ctx context.Context, o Options) (Outcome, error) {
	for until := r.Project.Now().Add(max(o.Wait, o.TouchWait)); ; {
		out, err := tryNamed(ctx, r, o)
		if !fault.Has(err, fault.TouchesTaken) || !r.Project.Now().Before(until) {
			return out, err
		}
		if err := proc.Sleep(ctx, touchesPoll); err != nil {
			return Outcome{}, err
		}
	}
}

func tryNamed(ctx context.Context, r *Runner, o Options) (Outcome, error) {
	repo := r.openInBackground(ctx)
	before, err := r.survey(ctx, o)
	if err != nil {
		return Outcome{}, err
	}
	req, err := before.Folder.Get(o.RequestID)
	if err != nil {
		return Outcome{}, err
	}
	if why, ok := choose.JudgeNamed(before.Folder, before.Facts, req.ID); !ok && !reqmeta.CheckID(req.ID) {
		return Outcome{}, why.Fault(r.Words.Text) // no lock can have that name
	}
	lease, err := r.lockRequest(ctx, req.ID, o)
	if err != nil {
		return Outcome{}, err
	}
	defer lease.Release()
	survey, err := r.afterLock(ctx, o)
	if err != nil {
		return Outcome{}, err
	}
	if why, ok := choose.JudgeNamed(survey.Folder, survey.Facts, req.ID); !ok {
		return Outcome{}, why.Fault(r.Words.Text)
	}
	at, slot := lease.Context(), o.Slot
	if slot == nil {
		if slot, err = r.Project.TakeSlot(at, o.Wait); err != nil {
			return Outcome{}, err
		}
		defer slot.Release()
		at = slot.Context()
	}
	if err := checkTouches(r.Project, survey.Folder, req); err != nil {
		return Outcome{}, err
	}
	r.warnAgain(ctx, survey, req)
	return r.start(at, o, claimed{id: req.ID, survey: survey, lease: lease, slot: slot, repo: repo})
}

// afterLock looks anew at what may have changed until the lock was there. What
// was half done has been put right a moment ago, unless the lock was waited for.
func (r *Runner) afterLock(ctx context.Context, o Options) (*project.Survey, error) {
	if o.Wait > 0 {
		return r.survey(ctx, o)
	}
	s, err := r.Project.Look(ctx)
	if err != nil {
		return nil, err
	}
	return s, setChoice(ctx, s, o)
}

// setChoice tells a survey what was asked for that decides what may run.
func setChoice(ctx context.Context, s *project.Survey, o Options) error {
	s.Fresh = o.Fresh
	s.Stacks(o.Stack || s.Facts.Stack != nil)
	return s.StartFrom(ctx, o.Base)
}

// warnAgain tells a person who names a request that is finished already.
func (r *Runner) warnAgain(ctx context.Context, s *project.Survey, req *reqmeta.Request) {
	last := s.Latest(req.ID)
	switch {
	case last != nil && !last.State.Ended():
	case last != nil && last.State == runs.Done && r.awaitsMerge(ctx, last):
		r.Warn("work.again_unmerged", last, fault.Facts{"branch": last.Git.WorkBranch, "run_id": last.RunID})
	case req.Meta.Status == reqmeta.Done:
		r.Warn("work.again_done", last, fault.Facts{"id": req.ID})
	}
}

func (r *Runner) awaitsMerge(ctx context.Context, last *runs.Stage) bool {
	of, err := r.Project.Standing(ctx, []*runs.Stage{last})
	return err == nil && of.BranchExists(last) && !of.Merged(last)
}

func (r *Runner) lockRequest(ctx context.Context, id string, o Options) (*locks.Lease, error) {
	return r.Project.Locks().Acquire(ctx, locks.Request(id), locks.Ask{Wait: o.Wait, TakeOverdue: o.TakeOverdue})
}

func (r *Runner) survey(ctx context.Context, o Options) (*project.Survey, error) {
	s, err := r.Project.Survey(ctx)
	if err != nil {
		return nil, err
	}
	if err := setChoice(ctx, s, o); err != nil {
		return nil, err
	}
	for _, n := range s.Notes {
		r.Tell(stage.Event{Kind: stage.Repaired, RequestID: n.RequestID, RunID: n.RunID, Note: n})
	}
	if s.Unsure != nil {
		r.Warn("next.unsure", nil, fault.Facts{"cause": r.InWords(s.Unsure)})
	}
	return s, nil
}

// runNext holds the queue lock, chooses, and runs the choice.
func (r *Runner) runNext(ctx context.Context, o Options) (Outcome, error) {
	queue, err := r.LockQueue(ctx, o)
	if err != nil {
		return Outcome{}, err
	}
	defer queue.Release()
	if o.Slot, err = r.Project.TakeSlot(queue.Context(), o.Wait); err != nil {
		return Outcome{}, err
	}
	defer o.Slot.Release()
	r.cleanUpFinished(o.Slot.Context())
	return r.Next(o.Slot.Context(), o, queue)
}

// LockQueue takes the lock that a session of runs holds.
func (r *Runner) LockQueue(ctx context.Context, o Options) (*locks.Lease, error) {
	if err := r.Project.HasRequests(); err != nil {
		return nil, err
	}
	return r.Project.Locks().Acquire(ctx, locks.Queue(), locks.Ask{Wait: o.Wait, TakeOverdue: o.TakeOverdue})
}

// Next chooses and runs the next request under a queue lock and a slot that the
// caller holds.
func (r *Runner) Next(ctx context.Context, o Options, queue *locks.Lease) (Outcome, error) {
	c, out, err := r.pick(ctx, o, queue)
	if err != nil || c == nil {
		return out, err
	}
	defer c.lease.Release()
	out, err = r.start(c.lease.Context(), o, *c)
	out.RequestID = c.id
	return out, err
}

// pick chooses the next request and takes its lock; nil where none can begin, and the
// outcome says why. A choice is not a claim: once its lock is taken it is judged again,
// and when it is no longer runnable the next one is chosen.
func (r *Runner) pick(ctx context.Context, o Options, queue *locks.Lease) (*claimed, Outcome, error) {
	survey, err := r.survey(ctx, o)
	if err != nil {
		return nil, Outcome{}, err
	}
	result := survey.Select()
	held := r.providerWaits(o, survey)
	var soonest *stage.ProviderWait
	var taken error
	for _, choice := range result.Runnable {
		if o.Skip[choice.RequestID] {
			continue
		}
		if w := held(choice.Request); w != nil {
			if o.Lost == nil {
				return nil, Outcome{}, w.Refusal(r.Project, choice.RequestID)
			}
			if soonest == nil || w.Until.Before(*soonest.Until) {
				soonest = w
			}
			continue
		}
		if o.mustWait != nil && o.mustWait(choice.Request, survey.Latest(choice.RequestID)) {
			continue
		}
		if err := checkTouches(r.Project, survey.Folder, choice.Request); err != nil {
			taken = cmp.Or(taken, err)
			continue
		}
		c, err := r.claim(ctx, o, choice)
		if err != nil {
			return nil, Outcome{}, err
		}
		if c != nil {
			c.queue, c.slot = queue, o.Slot
			return c, Outcome{}, nil
		}
		r.Tell(stage.Event{Kind: stage.Skipped, RequestID: choice.RequestID, Title: choice.Title})
	}
	if o.Lost != nil { // a session does what else there is, and waits
		return nil, Outcome{Selection: &result, Waits: soonest, taken: taken}, nil
	}
	return nil, Outcome{Selection: &result, Waits: soonest}, taken
}

// claim takes the lock of a choice; nil where it may run no longer.
func (r *Runner) claim(ctx context.Context, o Options, choice choose.Choice) (*claimed, error) {
	repo := r.openInBackground(ctx)
	lease, err := r.lockRequest(ctx, choice.RequestID, Options{TakeOverdue: o.TakeOverdue})
	if fault.Has(err, fault.RunInProgress) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	survey, err := r.afterLock(ctx, o)
	if err == nil {
		if _, ok := choose.Judge(survey.Folder, survey.Facts, choice.RequestID); ok && checkTouches(r.Project, survey.Folder, choice.Request) == nil {
			return &claimed{id: choice.RequestID, survey: survey, lease: lease, repo: repo}, nil
		}
	}
	_ = lease.Release()
	return nil, err
}
