package runner

import (
	"context"
	"os"
	"strings"
	"time"

	"aiflow/gitops"
	"aiflow/internal/fault"
	"aiflow/locks"
	"aiflow/project"
	"aiflow/runs"
)

// CleanOptions say which runs may go.
type CleanOptions struct {
	Merged    bool          // finished runs whose work is merged, or whose branch is gone
	OlderThan time.Duration // runs that ended longer ago and can no longer go on
	DryRun    bool
}

// CleanedItem is one run that was removed or kept.
type CleanedItem struct {
	RequestID string `json:"request_id"`
	RunID     string `json:"run_id"`
	Branch    string `json:"branch,omitempty"` // removed with it
	Did       string `json:"did"`              // "removed", "would_remove", "failed"
	Why       string `json:"why,omitempty"`
}

// Clean removes the records, branches, kept attempts and worktrees of runs
// that are over. A branch that is not merged stays, and so does a run that can
// still go on.
func (r *Runner) Clean(ctx context.Context, o CleanOptions) ([]CleanedItem, error) {
	s, err := r.survey(ctx)
	if err != nil {
		return nil, err
	}
	repo, err := r.openRepo(ctx)
	if err != nil {
		return nil, err
	}
	ids, err := runs.ListRequestsWithRuns(r.Project.Dir, r.Project.RunsDir())
	if err != nil {
		return nil, err
	}
	c := &cleaner{r: r, repo: repo, s: s, o: o}
	items := []CleanedItem{}
	for _, id := range sortedKeys(ids) {
		items = append(items, c.request(ctx, id)...)
	}
	return items, nil
}

type cleaner struct {
	r    *Runner
	repo *gitops.Repo
	s    *project.Survey
	o    CleanOptions
}

// request cleans one request under its lock; one that runs now is left alone.
func (c *cleaner) request(ctx context.Context, id string) []CleanedItem {
	ids, err := runs.ListRuns(c.r.Project.Dir, c.r.Project.RunsDir(), id)
	if err != nil || len(ids) == 0 {
		return nil
	}
	if !c.o.DryRun {
		m, err := c.r.Project.Locks()
		if err != nil {
			return nil
		}
		lease, err := m.AcquireRequest(ctx, id, locks.Ask{})
		if err != nil {
			return nil
		}
		defer release(lease)
	}
	var items []CleanedItem
	for i, runID := range ids {
		if it, ok := c.run(ctx, id, runID, i == 0); ok {
			items = append(items, it)
		}
	}
	return items
}

func (c *cleaner) run(ctx context.Context, id, runID string, newest bool) (CleanedItem, bool) {
	dir := c.r.Project.Run(id, runID)
	st, err := dir.LoadStage()
	if err != nil {
		return CleanedItem{}, false
	}
	tip, exists, err := c.repo.BranchTip(ctx, st.Git.WorkBranch)
	if err != nil {
		return CleanedItem{}, false
	}
	safe := !exists || tip == st.Git.BaseCommit || c.merged(ctx, st, tip)
	if !safe || !c.due(st, newest, exists) {
		return CleanedItem{}, false
	}
	it := CleanedItem{RequestID: id, RunID: runID, Did: "would_remove"}
	if exists {
		it.Branch = st.Git.WorkBranch
	}
	if c.o.DryRun {
		return it, true
	}
	it.Did = "removed"
	if err := c.remove(ctx, st, dir, tip, exists, newest); err != nil {
		it.Did, it.Why = "failed", err.Error()
	}
	return it, true
}

// merged reports whether everything of the branch is in HEAD's history, as it
// is or squashed.
func (c *cleaner) merged(ctx context.Context, st *runs.Stage, tip string) bool {
	if n := len(st.Git.Commits); n > 0 && st.Git.Commits[n-1].Hash == tip {
		if st.HasEvent(runs.EventMerged) || c.r.Project.Landed(ctx, st.Git.BaseCommit).Whole(st) {
			return true
		}
	}
	in, err := c.repo.IsAncestor(ctx, tip, "HEAD")
	return err == nil && in
}

// due reports whether the run is over and asked for.
func (c *cleaner) due(st *runs.Stage, newest, branch bool) bool {
	canGoOn := newest && st.State != runs.Done
	if canGoOn {
		return false
	}
	if c.o.Merged && st.State == runs.Done {
		return true
	}
	ended := st.UpdatedAt
	if st.EndedAt != nil {
		ended = *st.EndedAt
	}
	return c.o.OlderThan > 0 && c.r.Project.Now().Sub(ended) > c.o.OlderThan
}

func (c *cleaner) remove(ctx context.Context, st *runs.Stage, dir *runs.Dir, tip string, branch, newest bool) error {
	if newest {
		if ws, ok, err := c.repo.OpenWorktree(ctx, c.r.Project.Path(st.Git.Workspace)); err == nil && ok && ws.Branch() == st.Git.WorkBranch {
			if err := c.repo.RemoveWorktree(ctx, ws.Path(), false); err != nil {
				return err
			}
		}
	}
	if branch {
		if err := c.repo.DeleteBranch(ctx, st.Git.WorkBranch, tip); err != nil {
			return err
		}
	}
	if err := c.dropAttempts(ctx, st.RunID); err != nil {
		return err
	}
	if err := os.RemoveAll(dir.Path); err != nil {
		return fault.Wrap(err, fault.PathNotWritable, "path", dir.Rel)
	}
	return nil
}

func (c *cleaner) dropAttempts(ctx context.Context, runID string) error {
	g := c.r.Project.Git()
	refs, err := g.Ask(ctx, "for-each-ref", "--format=delete %(refname)", "refs/aiflow/attempts/"+runID)
	if err != nil || len(strings.TrimSpace(string(refs))) == 0 {
		return err
	}
	_, err = g.DoInput(ctx, refs, "update-ref", "--stdin")
	return err
}
