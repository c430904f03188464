package project

import (
	"context"

	"aiflow/reqmeta"
	"aiflow/runs"
)

// relink completes the links of open requests' latest runs that were killed
// right after their first record; with the second one the link is there.
func (s *Survey) relink(ctx context.Context, tried []*reqmeta.Request) {
	for _, r := range tried {
		if r.SaysOver() {
			continue
		}
		if st := s.Latest(r.ID); st != nil && st.Replaces != "" && st.Seq == 1 && s.locked(r.ID) == nil {
			_, _ = s.p.Relink(ctx, st) // links are for people who look: what cannot be written now is written later
		}
	}
}

// Relink writes into the run that st takes the place of by whom it is replaced,
// where a crash came between the two records, and reports whether it had to.
func (p *Project) Relink(ctx context.Context, st *runs.Stage) (bool, error) {
	dir := p.Run(st.RequestID, st.Replaces)
	if unlinked(dir, st) == nil {
		return false, nil
	}
	lease, err := lock(ctx, p, st.RequestID, st.RunID)
	if err != nil {
		return false, err
	}
	defer lease.Release()
	old := unlinked(dir, st) // it may have been written since it was looked at
	if old == nil {
		return false, nil
	}
	old.ReplacedBy = st.RunID
	if err := dir.SaveStage(old); err != nil {
		return false, err
	}
	if st.Seq == 1 && noteRecovered(st, lease, p.Now()) {
		err = p.Run(st.RequestID, st.RunID).SaveStage(st)
	}
	return true, err
}

// unlinked is the record that st takes the place of, if it does not say so.
func unlinked(dir *runs.Dir, st *runs.Stage) *runs.Stage {
	if old, err := dir.LoadStage(); err == nil && old.ReplacedBy == "" && old.State != runs.Done && old.RunID != st.RunID {
		return old
	}
	return nil
}
