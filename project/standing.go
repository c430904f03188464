package project

import (
	"cmp"
	"context"
	"errors"
	"io/fs"

	"aiflow/locks"
	"aiflow/reqmeta"
	"aiflow/runs"
)

// Standing is what records of runs do not say themselves: whether somebody
// works for them, whether their branch is there, whether it was merged.
type Standing struct {
	Unsure error // why git could not say what has been merged

	working  map[locks.Key]string // run ids of the live locks of requests
	branches map[string]bool
	landed   Landed          // in what is checked out, and in the bases of the runs
	within   map[string]bool // branches whose tip is in such a history
	here     map[string]bool // runs that are in what is checked out
	told     map[string]bool // finished runs whose request says done

	p *Project
}

// Standing looks at the locks once and at git once or twice, for all of these
// runs together. It changes nothing.
func (p *Project) Standing(ctx context.Context, stages []*runs.Stage) (*Standing, error) {
	s := &Standing{p: p, working: map[locks.Key]string{}}
	err := s.readLocks(p)
	if err != nil {
		return nil, err
	}
	var waiting []*runs.Stage
	for _, st := range stages {
		if st.Unmerged() {
			waiting = append(waiting, st)
		}
	}
	s.branches = workBranches(ctx, p)
	if len(waiting) == 0 {
		return s, nil
	}
	if p.Root.Git {
		s.readHistories(ctx, p, waiting)
	}
	s.told, err = saidDone(p, waiting)
	return s, err
}

// readHistories looks for finished runs in what is checked out, in the base of
// each, and where it was landed.
func (s *Standing) readHistories(ctx context.Context, p *Project, waiting []*runs.Stage) {
	tips := map[string][]*runs.Stage{}
	here := checkedOut(ctx, p)
	if onOwnBranch(ctx, p) {
		tips["HEAD"] = waiting
	}
	for _, st := range waiting {
		bases := []string{st.Git.BaseBranch}
		if l := st.Landed; l != nil && l.Into != st.Git.BaseBranch {
			bases = append(bases, l.Into)
		}
		for _, base := range bases {
			if base != here {
				tips["refs/heads/"+base] = append(tips["refs/heads/"+base], st)
			}
		}
	}
	s.landed, s.within, s.here = Landed{}, map[string]bool{}, map[string]bool{}
	for tip, about := range tips {
		landed, err := p.Landed(ctx, tip, oldestBase(about))
		s.Unsure = cmp.Or(s.Unsure, err)
		within := refs(ctx, p, "--merged="+tip)
		for _, st := range about {
			if landed.Whole(st) {
				s.landed[st.RunID] = landed[st.RunID]
			}
			if within[st.Git.WorkBranch] {
				s.within[st.Git.WorkBranch] = true
			}
			if tip == "HEAD" && (landed.Whole(st) || within[st.Git.WorkBranch]) {
				s.here[st.RunID] = true
			}
		}
	}
}

// saidDone tells which finished runs their requests call done.
func saidDone(p *Project, waiting []*runs.Stage) (map[string]bool, error) {
	folder, err := p.Requests()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	told := map[string]bool{}
	for _, st := range waiting {
		r, err := folder.Get(st.RequestID)
		if err == nil && r.ID == st.RequestID && r.Meta.Status == reqmeta.Done {
			told[madeDone(p, r)] = true
		}
	}
	return told, nil
}

// madeDone is the run that made a request done: the newest finished one that
// began before it was.
func madeDone(p *Project, r *reqmeta.Request) string {
	ids, _ := runs.ListRuns(p.Dir, p.RunsDir(), r.ID)
	for _, id := range ids {
		dir := p.Run(r.ID, id)
		if st, err := dir.LoadStage(); err != nil || st.State != runs.Done {
			continue
		}
		before, err := dir.LoadRequest()
		if err != nil || reqmeta.Parse(r.Path, before).Meta.Status != reqmeta.Done {
			return id
		}
	}
	return ""
}

func (s *Standing) readLocks(p *Project) error {
	if !anyLock(p) {
		return nil
	}
	m, err := p.Locks()
	if err != nil {
		return err
	}
	entries, err := m.List()
	for _, e := range entries {
		if key, ok := locks.KeyOf(e.Path); ok && e.Live {
			s.working[key] = e.RunID
		}
	}
	return err
}

// Working: somebody holds the lock of the run's request, for it or for what is
// still being made.
func (s *Standing) Working(st *runs.Stage) bool {
	_, held := s.working[locks.Request(st.RequestID)]
	return held
}

// Interrupted: the run has not ended, and nobody works for it.
func (s *Standing) Interrupted(st *runs.Stage) bool {
	if st.State.Ended() || st.DroppedAt != nil {
		return false
	}
	runID, held := s.working[locks.Request(st.RequestID)]
	return !held || runID != "" && runID != st.RunID
}

// BranchExists: the run's branch is there, or git cannot say.
func (s *Standing) BranchExists(st *runs.Stage) bool {
	return st.Git.WorkBranch != "" && (s.branches[st.Git.WorkBranch] || s.branches[anyBranch])
}

// Merged: all of a finished run is in the checked out branch, in its base or where
// it was landed, or was once, or its request says that it is done.
func (s *Standing) Merged(st *runs.Stage) bool {
	return st.State == runs.Done && (s.seen(st) || s.told[st.RunID])
}

// MergedHere: all of a finished run is in the checked out branch, or was once, or its
// request says that it is done. Only then does nothing depend on its record: one that
// is merely in another branch would be done once more without it.
func (s *Standing) MergedHere(st *runs.Stage) bool {
	return st.State == runs.Done && (st.HasEvent(runs.EventMerged) || s.here[st.RunID] || s.told[st.RunID])
}

// seen: the history shows that all of a run was merged.
func (s *Standing) seen(st *runs.Stage) bool {
	return st.HasEvent(runs.EventMerged) || s.landed.Whole(st) || s.within[st.Git.WorkBranch]
}

// OnlySaid: a finished run counts as merged for no other reason than that its
// request says done.
func (s *Standing) OnlySaid(st *runs.Stage) bool {
	return s.told[st.RunID] && !s.seen(st)
}

// Summary is a record's outline with how it stands.
func (s *Standing) Summary(st *runs.Stage) runs.Summary {
	r := st.Summary()
	r.Interrupted, r.Merged, r.BranchExists = s.Interrupted(st), s.Merged(st), s.BranchExists(st)
	if s.AwaitsMerge(st) {
		stale := s.StaleOn(st)
		r.Stale, r.Restacks = stale.On, stale.Again
	}
	return r
}

// StaleOn is what became of that on which a run stands.
func (s *Standing) StaleOn(st *runs.Stage) Stale {
	return s.p.StaleOn(st, func(branch string) bool { return s.branches[branch] || s.branches[anyBranch] })
}

// AwaitsMerge: a finished run whose branch is there, and whose work is not in
// the checked out one.
func (s *Standing) AwaitsMerge(st *runs.Stage) bool {
	return st.State == runs.Done && !s.Merged(st) && s.BranchExists(st)
}
