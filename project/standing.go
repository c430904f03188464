package project

import (
	"context"

	"aiflow/locks"
	"aiflow/runs"
)

// Standing is what records of runs do not say themselves: whether somebody
// works for them, whether their branch is there, whether it was merged.
type Standing struct {
	working  map[locks.Key]string // run ids of the live locks of requests
	branches map[string]bool
	landed   Landed
}

// Standing looks at the locks once and at git once or twice, for all of these
// runs together. It changes nothing.
func (p *Project) Standing(ctx context.Context, stages []*runs.Stage) (*Standing, error) {
	s := &Standing{working: map[locks.Key]string{}}
	if err := s.readLocks(p); err != nil {
		return nil, err
	}
	var waiting []*runs.Stage
	for _, st := range stages {
		if st.State != runs.Done || st.HasEvent(runs.EventMerged) {
			continue
		}
		waiting = append(waiting, st)
	}
	s.branches = p.workBranches(ctx)
	if len(waiting) > 0 && p.Root.Git && p.onOwnBranch(ctx) {
		s.landed = p.Landed(ctx, oldestBase(waiting))
	}
	return s, nil
}

func (s *Standing) readLocks(p *Project) error {
	if !isDir(p.path(p.Config.Paths.LocksDir)) {
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

// Interrupted: the run has not ended, and nobody works for it.
func (s *Standing) Interrupted(st *runs.Stage) bool {
	if st.State.Ended() {
		return false
	}
	runID, held := s.working[locks.Request(st.RequestID)]
	return !held || runID != "" && runID != st.RunID
}

// BranchExists: the run's branch is there, or git cannot say.
func (s *Standing) BranchExists(st *runs.Stage) bool {
	return st.Git.WorkBranch != "" && (s.branches[st.Git.WorkBranch] || s.branches[anyBranch])
}

// Merged: all of a finished run is in the checked out branch, or was once.
func (s *Standing) Merged(st *runs.Stage) bool {
	return st.State == runs.Done && (st.HasEvent(runs.EventMerged) || s.landed.Whole(st))
}
