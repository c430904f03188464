package project

import (
	"bytes"
	"context"
	"strings"

	"aiflow/reqmeta"
	"aiflow/runs"
)

// Reconcile makes done what has been merged since somebody last looked, and
// nothing else: what git's hooks ask for. The survey is nil where nothing was
// waiting for a merge; a project without runs costs one look into a folder.
func (p *Project) Reconcile(ctx context.Context) (*Survey, error) {
	if ids, err := runs.ListRequestsWithRuns(p.Dir, p.RunsDir()); err != nil || len(ids) == 0 {
		return nil, err
	}
	s, err := p.Look(ctx)
	if err != nil {
		return nil, err
	}
	finished := s.finished()
	if len(finished) == 0 {
		return nil, nil
	}
	s.reconcile(ctx, finished)
	return s, nil
}

// finished are the requests whose latest run is done and not known as merged.
func (s *Survey) finished() []*reqmeta.Request {
	var found []*reqmeta.Request
	for _, r := range s.Folder.Requests {
		if s.withRuns[r.ID] && r.Valid() && s.awaitsMerge(r) {
			found = append(found, r)
		}
	}
	return found
}

func (s *Survey) awaitsMerge(r *reqmeta.Request) bool {
	switch r.Meta.Status {
	case reqmeta.Running, reqmeta.Done, reqmeta.Archived:
		return false
	}
	st := s.Latest(r.ID)
	return st != nil && st.State == runs.Done && !st.HasEvent(runs.EventMerged)
}

// onOwnBranch reports whether a branch of the user's own is checked out. On a
// work branch, and on no branch at all (somebody looks at old or foreign
// commits, or git is in the middle of something), a run's commits in HEAD are
// no merge.
func (p *Project) onOwnBranch(ctx context.Context) bool {
	out, err := p.Git().Ask(ctx, "symbolic-ref", "-q", "HEAD")
	branch, ok := strings.CutPrefix(string(bytes.TrimSpace(out)), "refs/heads/")
	return err == nil && ok && !strings.HasPrefix(branch, p.Config.Git.WorkBranchPrefix)
}
