package project

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiflow/reqmeta"
	"aiflow/runs"
)

// Reconcile makes done what has been merged since somebody last looked, and
// nothing else: what git's hooks ask for. The survey is nil where nothing was
// merged, which is found out without a look at the requests.
func (p *Project) Reconcile(ctx context.Context) (*Survey, error) {
	if _, err := RecordLost(ctx, p); err != nil {
		return nil, err
	}
	waiting, err := waiting(p)
	if err != nil || len(waiting) == 0 || !p.Root.Git || !onOwnBranch(ctx, p) {
		return nil, err
	}
	there, landed, err := landedIn(ctx, p, "HEAD", waiting)
	if err != nil {
		return nil, err
	}
	waiting = slices.DeleteFunc(waiting, func(st *runs.Stage) bool { return !there[st.RunID] })
	if len(waiting) == 0 {
		return nil, nil
	}
	s, err := p.Look(ctx)
	if err != nil {
		return nil, err
	}
	for _, st := range waiting {
		s.recordLanded(ctx, st, landed)
	}
	return s, nil
}

// recordLanded makes a merged run's request done. One that is done already (the
// merge itself brought that) is only noted with the run.
func (s *Survey) recordLanded(ctx context.Context, st *runs.Stage, landed Landed) {
	r, err := s.Folder.Get(st.RequestID)
	switch {
	case err != nil || !r.Valid() || r.ID != st.RequestID:
	case r.SaysOver():
		if s.recordMerge(ctx, st) == nil && r.Meta.Status == reqmeta.Done {
			s.Notes = append(s.Notes, Note{Kind: NoteLanded, RequestID: r.ID, RunID: st.RunID, Status: reqmeta.Done, Written: true})
		}
	case s.awaitsMerge(r):
		s.markDone(ctx, r, st, landed)
	}
}

// waiting are the latest runs that are done and not known as merged. Most
// records are told apart by their bytes alone.
func waiting(p *Project) ([]*runs.Stage, error) {
	ids, err := runs.ListRequestsWithRuns(p.Dir, p.RunsDir())
	if err != nil {
		return nil, err
	}
	var found []*runs.Stage
	for id := range ids {
		if !mayBeUnmerged(p, id) {
			continue
		}
		st, err := runs.Latest(p.Dir, p.RunsDir(), id)
		if err == nil && st != nil && st.Unmerged() {
			found = append(found, st)
		}
	}
	slices.SortFunc(found, func(a, b *runs.Stage) int { return strings.Compare(a.RequestID, b.RequestID) })
	return found, nil
}

// mayBeUnmerged looks at the bytes of the newest record; when in doubt it says yes.
func mayBeUnmerged(p *Project, id string) bool {
	list, err := runs.ListRuns(p.Dir, p.RunsDir(), id)
	if err != nil || len(list) == 0 {
		return err != nil
	}
	data, err := os.ReadFile(filepath.Join(p.Run(id, list[0]).Path, "stage.json"))
	if err != nil {
		return true
	}
	return bytes.Contains(data, []byte(`"`+string(runs.Done)+`"`)) && !bytes.Contains(data, []byte(`"`+runs.EventMerged+`"`))
}

// awaitsMerge: the request's latest run is done and not known as merged.
func (s *Survey) awaitsMerge(r *reqmeta.Request) bool {
	switch r.Meta.Status {
	case reqmeta.Running, reqmeta.Done, reqmeta.Archived:
		return false
	}
	st := s.Latest(r.ID)
	return st != nil && st.Unmerged()
}

// onOwnBranch reports whether a branch of the user's own is checked out. On a
// work branch, and on no branch at all (somebody looks at old or foreign
// commits, or git is in the middle of something), a run's commits in HEAD are
// no merge.
func onOwnBranch(ctx context.Context, p *Project) bool {
	branch := checkedOut(ctx, p)
	return branch != "" && !strings.HasPrefix(branch, p.Config.Git.WorkBranchPrefix)
}
