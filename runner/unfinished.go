package runner

import (
	"context"
	"os"

	"aiflow/project"
	"aiflow/runner/revive"
	"aiflow/runner/stage"
	"aiflow/runs"
)

// cleanUpFinished puts away what runs left behind that were done when their runner
// died: nothing would choose their requests again. It never stops a session.
func (r *Runner) cleanUpFinished(ctx context.Context) {
	left := leftoverRequests(r.Project)
	if len(left) == 0 {
		return
	}
	s, err := r.survey(ctx, Options{})
	if err != nil {
		return
	}
	for _, id := range left {
		if st := s.Latest(id); st != nil && st.State == runs.Done {
			r.cleanUpRequest(ctx, s, id)
		}
	}
}

// leftoverRequests are the requests that have a workspace or the lock of a dead
// runner.
func leftoverRequests(p *project.Project) []string {
	found := map[string]bool{}
	entries, _ := os.ReadDir(p.Path(p.WorktreesDir()))
	for _, e := range entries {
		found[e.Name()] = true
	}
	list, _ := p.Locks().List()
	for _, e := range list {
		if !e.Live && e.RequestID != "" {
			found[e.RequestID] = true
		}
	}
	return sortedKeys(found)
}

func (r *Runner) cleanUpRequest(ctx context.Context, s *project.Survey, id string) {
	req, err := s.Folder.Get(id)
	if err != nil {
		return
	}
	lease, err := r.lockRequest(ctx, id, Options{})
	if err != nil {
		return
	}
	defer lease.Release()
	repo, err := r.OpenRepo(ctx)
	last, lerr := r.newest(id, "")
	if err != nil || lerr != nil {
		return
	}
	run := stage.New(&r.Setup, repo, req, lease)
	revive.CleanUp(lease.Context(), run, last)
}
