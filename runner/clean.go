package runner

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aiflow/gitops"
	"aiflow/internal/fault"
	"aiflow/internal/gitcmd"
	"aiflow/locks"
	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/runner/stage"
	"aiflow/runs"
)

// CleanOptions say which runs may go.
type CleanOptions struct {
	Merged    bool          // runs whose work is merged or whose branch is gone, and stopped ones whose request is gone
	OlderThan time.Duration // runs that ended longer ago and can no longer go on
	Orphans   bool          // what was kept of workspaces whose run is not on record
	DryRun    bool
}

// CleanedItem is one run that was removed or kept, or one kept workspace of a run
// that is not on record.
type CleanedItem struct {
	RequestID string `json:"request_id"`
	RunID     string `json:"run_id,omitempty"`
	Ref       string `json:"ref,omitempty"`    // of the kept workspace
	Branch    string `json:"branch,omitempty"` // removed with it
	Commit    string `json:"commit,omitempty"` // where that branch was
	Stays     string `json:"stays,omitempty"`  // the branch, which is not merged
	// IgnoredFiles and IgnoredBytes are what git ignored in its workspace, which
	// went with it.
	IgnoredFiles int    `json:"ignored_files,omitempty"`
	IgnoredBytes int64  `json:"ignored_bytes,omitempty"`
	Did          string `json:"did"`               // "removed", "would_remove", "kept", "failed"
	HeldBy       string `json:"held_by,omitempty"` // of "kept": the earlier run, which is not merged
	Why          string `json:"why,omitempty"`
	Err          error  `json:"-"` // of "failed"
}

// Clean removes the records, branches, kept attempts and worktrees of runs
// that are over, and of stopped ones that a person dropped by removing the
// branch or the request or by a word; a run that was replaced goes with the one that took its
// place. A branch that is not merged stays, and so does a run that can still go
// on.
func (r *Runner) Clean(ctx context.Context, o CleanOptions) ([]CleanedItem, error) {
	s, err := r.survey(ctx, Options{})
	if err != nil {
		return nil, err
	}
	c, err := newCleaner(ctx, r, s)
	if err != nil {
		return nil, err
	}
	c.o = o
	items := []CleanedItem{}
	if o.Merged || o.OlderThan != 0 {
		for _, id := range sortedKeys(c.ids) {
			items = append(items, c.request(ctx, id)...)
		}
	}
	if o.Orphans {
		return c.orphans(ctx, items)
	}
	return items, nil
}

// orphans drops what was kept of workspaces whose run is not on record.
func (c *cleaner) orphans(ctx context.Context, items []CleanedItem) ([]CleanedItem, error) {
	g := c.r.Project.Git()
	refs, err := refsBelow(ctx, g, stage.Orphans)
	if err != nil {
		return nil, err
	}
	for _, ref := range refs {
		it := CleanedItem{RequestID: path.Base(path.Dir(ref.Name)), Ref: ref.Name, Commit: ref.Commit, Did: "would_remove"}
		if !c.o.DryRun {
			it.Did = "removed"
			if _, err := g.Do(ctx, "update-ref", "-d", ref.Name, ref.Commit); err != nil {
				it = c.failed(it, err)
			}
		}
		items = append(items, it)
	}
	return items, nil
}

// refsBelow are the refs in a folder of names.
func refsBelow(ctx context.Context, g gitcmd.Git, folder string) ([]gitcmd.Ref, error) {
	refs, err := g.Refs(ctx, folder)
	if err != nil {
		return nil, gitFailed(err, folder)
	}
	return refs, nil
}

func gitFailed(err error, name string) error {
	return fault.Wrap(err, fault.GitCommandFailed, "name", name)
}

type cleaner struct {
	r        *Runner
	repo     *gitops.Repo
	s        *project.Survey
	o        CleanOptions
	ids      map[string]bool // requests with runs
	known    []*runs.Stage   // every run of theirs that can be read
	standing *project.Standing
}

func newCleaner(ctx context.Context, r *Runner, s *project.Survey) (*cleaner, error) {
	repo, err := r.OpenRepo(ctx)
	if err != nil {
		return nil, err
	}
	c := &cleaner{r: r, repo: repo, s: s}
	if c.ids, err = runs.ListRequestsWithRuns(r.Project.Dir, r.Project.RunsDir()); err != nil {
		return nil, err
	}
	c.known = slices.Collect(r.Project.AllRuns())
	c.standing, err = r.Project.Standing(ctx, c.known)
	return c, err
}

// request cleans one request under its lock; one that runs now is left alone.
func (c *cleaner) request(ctx context.Context, id string) []CleanedItem {
	ids, err := runs.ListRuns(c.r.Project.Dir, c.r.Project.RunsDir(), id)
	if err != nil || len(ids) == 0 {
		return nil
	}
	if !c.o.DryRun {
		lease, err := c.r.Project.Locks().Acquire(ctx, locks.Request(id), locks.Ask{})
		if fault.Has(err, fault.RunInProgress) {
			return nil
		}
		if err != nil {
			return []CleanedItem{c.failed(CleanedItem{RequestID: id, RunID: ids[0]}, err)}
		}
		defer lease.Release()
	}
	var items []CleanedItem
	stay := map[string]bool{} // runs that are not removed
	for i, runID := range ids {
		it, ok := c.run(ctx, id, ids[i:], i == 0, stay)
		if ok {
			items = append(items, it)
		}
		stay[runID] = !ok || it.Did == "failed" || it.Did == "kept"
	}
	return items
}

// run cleans one run. One that was replaced goes with the run that took its
// place, whatever is on its branch, unless somebody added to that. One that is merged
// stays while an earlier one waits: that would count for what the request says.
func (c *cleaner) run(ctx context.Context, id string, ids []string, newest bool, stay map[string]bool) (CleanedItem, bool) {
	runID := ids[0]
	dir := c.r.Project.Run(id, runID)
	st, err := dir.LoadStage()
	if err != nil {
		return CleanedItem{}, false
	}
	tip, exists, err := c.repo.BranchTip(ctx, st.Git.WorkBranch)
	if err != nil {
		return CleanedItem{}, false
	}
	exists = exists && st.DroppedAt == nil // one of that name is a later run's, or was brought back
	replaced := st.ReplacedBy != "" && !stay[st.ReplacedBy]
	safe := !exists || tip == st.Git.BaseCommit || replaced && tip == st.Tip() || !replaced && c.merged(ctx, st, tip)
	gone := c.requestGone(ctx, st) && (safe || st.State != runs.Done) // status tells how to land or drop what is finished
	if !safe && !gone && !replaced && !c.standing.MergedByStatusOnly(st) || !replaced && !c.due(st, newest, exists, gone) {
		return CleanedItem{}, false
	}
	if !gone && st.State == runs.Done && !replaced {
		for _, earlier := range ids[1:] {
			waits, err := c.r.Project.Run(id, earlier).LoadStage()
			if err == nil && waits.DroppedAt == nil && waits.ReplacedBy == "" && c.standing.AwaitsMerge(waits) {
				return CleanedItem{RequestID: id, RunID: runID, Did: "kept", HeldBy: earlier}, true
			}
		}
	}
	it := CleanedItem{RequestID: id, RunID: runID, Did: "would_remove"}
	switch {
	case exists && safe:
		it.Branch, it.Commit = st.Git.WorkBranch, tip
	case exists:
		it.Stays = st.Git.WorkBranch
	}
	if why := c.onlyKept(ctx, st, dir, it.Branch); why != "" {
		it.Branch, it.Commit, it.Did, it.Why = "", "", "failed", why
		return it, true
	}
	if c.o.DryRun {
		return it, true
	}
	it.Did = "removed"
	if err := c.remove(ctx, st, dir, &it, newest); err != nil {
		it = c.failed(it, err)
	}
	return it, true
}

// failed is what could not be removed, and why.
func (c *cleaner) failed(it CleanedItem, err error) CleanedItem {
	it.Did, it.Why, it.Err = "failed", c.r.InWords(err), err
	return it
}

// onlyKept is why a record has to stay: it holds the only copy of a commit of another
// repository that a branch names which stays. "" is no reason.
func (c *cleaner) onlyKept(ctx context.Context, st *runs.Stage, dir *runs.Dir, branch string) string {
	only, err := c.repo.OnlyKept(ctx, filepath.Join(dir.Path, runs.KeptDir), st.Git.BaseCommit, branch)
	switch {
	case err != nil:
		return c.r.InWords(err)
	case len(only) > 0:
		return c.r.Words.Text("git.only_kept", fault.Facts{"path": dir.RelPath(runs.KeptDir) + "/" + only[0]})
	}
	return ""
}

// requestGone reports whether a person removed the request's file, and did not
// merely check out a branch that does not have it.
func (c *cleaner) requestGone(ctx context.Context, st *runs.Stage) bool {
	if slices.ContainsFunc(c.s.Folder.Requests, func(r *reqmeta.Request) bool { return r.ID == st.RequestID || r.Path == st.Artifacts.RequestPath }) {
		return false
	}
	if _, here, err := c.repo.ReadFile(ctx, "HEAD", st.Artifacts.RequestPath); err != nil || here {
		return err == nil
	}
	_, onBase, err := c.repo.ReadFile(ctx, st.Git.BaseBranch, st.Artifacts.RequestPath)
	return err != nil || !onBase
}

// merged reports whether the branch is merged with all that is on it. Of one
// that somebody added to, and of one whose request merely says done, only git
// can say that.
func (c *cleaner) merged(ctx context.Context, st *runs.Stage, tip string) bool {
	n := len(st.Git.Commits)
	whole := n > 0 && st.Git.Commits[n-1].Hash == tip && c.standing.MergedHere(st)
	if whole && !c.standing.MergedByStatusOnly(st) {
		return true
	}
	home := c.standing.MergeTarget()
	if home == "" {
		return false
	}
	in, err := c.repo.IsAncestor(ctx, tip, home)
	if err == nil && !in && whole {
		in, err = c.repo.HasAllOf(ctx, home, tip, c.r.Project.RequestsDir())
	}
	return err == nil && in
}

// due reports whether the run is over and asked for.
func (c *cleaner) due(st *runs.Stage, newest, branch, gone bool) bool {
	dropped := c.dropped(st, branch, gone)
	canGoOn := newest && st.State != runs.Done && !dropped
	if canGoOn {
		return false
	}
	if c.o.Merged && (st.State == runs.Done || dropped) {
		return true
	}
	ended := st.UpdatedAt
	if st.EndedAt != nil {
		ended = *st.EndedAt
	}
	return c.o.OlderThan > 0 && c.r.Project.Now().Sub(ended) > c.o.OlderThan
}

// dropped reports whether a person took away what the run would need: its
// request, or the branch of a run that stopped. An interrupted run makes its
// branch again and goes on.
func (c *cleaner) dropped(st *runs.Stage, branch, gone bool) bool {
	if st.DroppedAt != nil {
		return true
	}
	if !st.State.Ended() {
		return gone && c.standing.Interrupted(st)
	}
	return gone || !branch && fault.Code(st.ReasonCode()) != fault.BranchCreateFailed
}

func (c *cleaner) remove(ctx context.Context, st *runs.Stage, dir *runs.Dir, it *CleanedItem, newest bool) error {
	if newest {
		if err := c.removeWorktree(ctx, st, it); err != nil {
			return err
		}
	}
	if it.Branch != "" {
		if err := c.repo.DeleteBranch(ctx, it.Branch, it.Commit); err != nil {
			return err
		}
	}
	if _, err := dropAttempts(ctx, c.r.Project.Git(), st.RunID); err != nil {
		return err
	}
	if err := os.RemoveAll(dir.Path); err != nil {
		return fault.NotWritable(err, dir.Rel)
	}
	_ = os.Remove(filepath.Dir(dir.Path)) // unless another run of the request is there
	return nil
}

// removeWorktree refuses where a person left something that no attempt holds.
func (c *cleaner) removeWorktree(ctx context.Context, st *runs.Stage, it *CleanedItem) error {
	ws, ok, err := c.repo.OpenWorktree(ctx, c.r.Project.Path(c.r.Project.Workspace(st)))
	if err != nil || !ok || ws.Branch() != st.Git.WorkBranch {
		return nil
	}
	return c.repo.RemoveWorktree(ctx, ws.Path(), gitops.Keep{Ref: runs.AttemptsOf(st.RunID) + "/left", Refuse: true, Before: func(k gitops.Kept) error {
		all := stage.SummedItems(k.Gone)
		it.IgnoredFiles, it.IgnoredBytes = all.Files, all.Bytes
		return nil
	}})
}

// dropAttempts deletes the refs that keep what a run made, and gives the commits.
// What a person lost meanwhile stays.
func dropAttempts(ctx context.Context, g gitcmd.Git, runID string) (commits []string, err error) {
	refs, err := refsBelow(ctx, g, runs.AttemptsOf(runID))
	commits = []string{}
	var gone []byte
	for _, ref := range refs {
		if !strings.HasPrefix(ref.Name, runs.LostBy(runID)+"/") {
			gone, commits = fmt.Appendf(gone, "delete %s %s\n", ref.Name, ref.Commit), append(commits, ref.Commit)
		}
	}
	if err != nil || len(gone) == 0 {
		return commits, err
	}
	_, err = g.DoInput(ctx, gone, "update-ref", "--stdin")
	return commits, err
}

func sortedKeys(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
