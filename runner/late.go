package runner

import (
	"context"
	"os"

	"aiflow/internal/fault"
	"aiflow/project"
	"aiflow/runs"
)

// finishLate does what is left to do for a run that was done but whose runner
// died before it had put everything away; false when there is no such run.
// Such a run is not run again: its branch is there.
func (j *job) finishLate(ctx context.Context, last *runs.Stage) (Outcome, bool) {
	if last.State != runs.Done || !j.diedFinishing(ctx, last) {
		return Outcome{}, false
	}
	if err := j.take(ctx, last); err != nil {
		return Outcome{}, false
	}
	j.tell(Event{Kind: Found, What: string(last.State)})
	j.noteOwnLocks()
	out, err := j.drive(ctx, func(ctx context.Context) error {
		j.stage.AddEvent(j.Project.Now(), runs.EventResumed, "", fault.Interrupted)
		if err := j.save(); err != nil {
			return err
		}
		return j.putAway(ctx, j.leaveAhead(ctx))
	})
	return out, err == nil
}

// finishLeft puts away what runs left behind that were done when their runner
// died: nothing would choose their requests again. It never stops a session.
func (r *Runner) finishLeft(ctx context.Context) {
	left := r.leftBehind()
	if len(left) == 0 {
		return
	}
	s, err := r.survey(ctx, Options{})
	if err != nil {
		return
	}
	for _, id := range left {
		if st := s.Latest(id); st != nil && st.State == runs.Done {
			r.finishOne(ctx, s, id)
		}
	}
}

// leftBehind are the requests that have a workspace or the lock of a dead
// runner.
func (r *Runner) leftBehind() []string {
	found := map[string]bool{}
	entries, _ := os.ReadDir(r.Project.Path(r.Project.WorktreesDir()))
	for _, e := range entries {
		found[e.Name()] = true
	}
	if m, err := r.Project.Locks(); err == nil {
		list, _ := m.List()
		for _, e := range list {
			if !e.Live && e.RequestID != "" {
				found[e.RequestID] = true
			}
		}
	}
	return sortedKeys(found)
}

func (r *Runner) finishOne(ctx context.Context, s *project.Survey, id string) {
	req, err := s.Folder.Get(id)
	if err != nil {
		return
	}
	lease, err := r.lockRequest(ctx, id, Options{})
	if err != nil {
		return
	}
	defer release(lease)
	repo, err := r.openRepo(ctx)
	last, lerr := r.newest(id, "")
	if err != nil || lerr != nil {
		return
	}
	j := &job{Runner: r, repo: repo, req: req, lease: lease}
	j.finishLate(lease.Context(), last)
}

// diedFinishing: the lock that we took over was of this very run, or its
// workspace is still there.
func (j *job) diedFinishing(ctx context.Context, last *runs.Stage) bool {
	if old, ok := j.lease.Recovered(); ok && old.RunID == last.RunID {
		return true
	}
	if j.inPlace() {
		return false
	}
	ws, ok, err := j.repo.OpenWorktree(ctx, j.workspacePathOf(last))
	return err == nil && ok && ws.Branch() == last.Git.WorkBranch
}

func (j *job) workspacePathOf(st *runs.Stage) string { return j.Project.Path(j.Project.Workspace(st)) }
