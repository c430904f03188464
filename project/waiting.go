package project

import (
	"context"

	"aiflow/reqmeta"
	"aiflow/reqmeta/choose"
	"aiflow/runs"
)

// Waiting is what waits for a person, whichever session or command left it.
type Waiting struct {
	Merge  []runs.Summary     // finished, and not in the checked out branch
	Resume []runs.Summary     // stopped
	Gone   []runs.Summary     // finished and not merged; the request's file was moved or deleted
	Broken []*reqmeta.Request // cannot be used as they are written
	Kept   []choose.Exclusion // kept from being run until somebody mends something
	Unsure error              // why git could not say what has been merged

	Standing *Standing // of all of these runs
}

// Waiting finds it among these runs, which are all that are recorded, newest
// first: of each request the newest counts. stack: runs start on top of others.
func (p *Project) Waiting(ctx context.Context, all []*runs.Stage, stack bool) (Waiting, error) {
	w := Waiting{Merge: []runs.Summary{}, Resume: []runs.Summary{}, Gone: []runs.Summary{}}
	s, err := p.Look(ctx)
	if err != nil {
		return w, err
	}
	status := map[string]string{}
	for _, r := range s.Folder.Requests {
		status[r.ID] = r.Meta.Status
		if !r.Valid() {
			w.Broken = append(w.Broken, r)
		}
	}
	if stack {
		s.Stacks(true)
	}
	w.Kept = s.KeptBack()
	if w.Standing, err = standing(ctx, p, all, s.Branches()); err != nil {
		return w, err
	}
	w.Unsure = w.Standing.Unsure
	seen := map[string]bool{}
	for _, st := range all {
		if st.DroppedAt != nil {
			continue
		}
		switch gone := s.Folder.Index(st.RequestID) < 0; {
		case seen[st.RequestID]:
		case !gone:
			w.add(st, status[st.RequestID])
		case w.Standing.AwaitsMerge(st):
			w.Gone = append(w.Gone, w.Standing.Summary(st))
		}
		seen[st.RequestID] = true
	}
	return w, nil
}

// add judges the newest run of a request; one that somebody made a draft again is not
// to be gone on with.
func (w *Waiting) add(st *runs.Stage, status string) {
	switch {
	case status == "" || status == reqmeta.Archived:
	case w.Standing.AwaitsMerge(st):
		w.Merge = append(w.Merge, w.Standing.Summary(st))
	case status == reqmeta.Done, status == reqmeta.Draft, st.ReplacedBy != "":
	case st.State == runs.NeedsInput || st.State == runs.Failed:
		w.Resume = append(w.Resume, w.Standing.Summary(st))
	}
}

// KeptBack are the ready requests that something keeps from being run, and those that a
// run left blocked whose record is lost.
func (s *Survey) KeptBack() []choose.Exclusion {
	var kept []choose.Exclusion
	begun := newest(s.branches, s.p.Config.Git.WorkBranchPrefix)
	for _, e := range s.Select().Excluded {
		if e.NeedsMending() || e.Kind == "not_ready_blocked" && begun[e.RequestID] != "" && s.Latest(e.RequestID) == nil {
			kept = append(kept, e)
		}
	}
	return kept
}
