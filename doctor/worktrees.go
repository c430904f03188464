package doctor

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"aiflow/gitops"
	"aiflow/internal/fault"
	"aiflow/locks"
	"aiflow/project"
	"aiflow/runs"
)

// worktreeLine is one folder below .aiflow/worktrees.
type worktreeLine struct {
	RequestID string `json:"request_id"`
	Path      string `json:"path"`
	What      string `json:"what"` // in_use, moved, finished, unknown, broken
}

func worktrees(ctx context.Context, x *examiner) []worktreeLine {
	entries, err := os.ReadDir(x.p.Path(x.p.WorktreesDir()))
	if err != nil {
		return nil
	}
	var lines []worktreeLine
	for _, e := range entries {
		rel := x.p.WorktreesDir() + "/" + e.Name()
		lines = append(lines, worktreeLine{e.Name(), rel, judgeWorktree(ctx, x, e.Name(), rel)})
	}
	return lines
}

// judgeWorktree: a worktree is in use as long as its request's latest run can
// go on, or somebody holds the request's lock.
func judgeWorktree(ctx context.Context, x *examiner, id, rel string) string {
	if e, ok, err := x.p.Locks().Look(worker(id)); err == nil && ok && e.Live {
		return "in_use"
	}
	if x.repo.Moved(x.p.Path(rel)) {
		return "moved"
	}
	st, err := runs.Latest(x.p.Dir, x.p.RunsDir(), id)
	if err == nil && st != nil && st.State != runs.Done {
		return "in_use"
	}
	if _, whole, err := x.repo.OpenWorktree(ctx, x.p.Path(rel)); err != nil || !whole {
		return "broken"
	}
	if st == nil {
		return "unknown"
	}
	return "finished"
}

// worker is the lock of who works in such a folder: of a run, or of the landing that
// left its scratch.
func worker(id string) locks.Key {
	place, scratch := strings.CutPrefix(id, project.LandScratch)
	switch {
	case !scratch:
		return locks.Request(id)
	case place == project.RestackLock:
		return locks.Named(place)
	}
	return locks.Named(project.LandLock + "-" + place)
}

func checkWorktrees(ctx context.Context, x *examiner) {
	lines := worktrees(ctx, x)
	kinds := map[string][]string{}
	for _, l := range lines {
		kinds[l.What] = append(kinds[l.What], l.Path)
	}
	seen := Evidence{"worktrees": lines}
	for _, kind := range []string{"moved", "broken", "unknown", "finished"} {
		if names := kinds[kind]; len(names) > 0 {
			if x.Fix && (kind == "unknown" || kind == "finished") { // or it would have gone
				x.warn("worktrees", "changed", seen, "count", len(names), "names", some(names), "path", names[0])
				return
			}
			x.warn("worktrees", kind, seen, "count", len(names), "names", some(names))
			return
		}
	}
	if lost := lostBranches(ctx, x); len(lost) > 0 {
		seen["branches"] = first(lost, maxEvidence)
		x.warn("worktrees", "branches", seen, "count", len(lost), "names", some(lost))
		return
	}
	if command := project.TestRunnerInside(x.p.Dir, x.p.Config); command != "" {
		x.warn("worktrees", "searched", seen, "command", command, "line", project.WorkspacesBeside)
		return
	}
	x.pass("worktrees", "ok", seen, "count", len(lines))
}

// lostBranches are work branches that no run on record made.
func lostBranches(ctx context.Context, x *examiner) []string {
	prefix := "refs/heads/" + strings.TrimSuffix(x.p.Config.Git.WorkBranchPrefix, "/") + "/"
	refs, err := x.p.Git().Refs(ctx, prefix)
	if err != nil || len(refs) == 0 {
		return nil
	}
	known := map[string]bool{}
	for st := range x.p.AllRuns() {
		known[st.Git.WorkBranch] = true
	}
	var lost []string
	for _, ref := range refs {
		if branch := strings.TrimPrefix(ref.Name, "refs/heads/"); !known[branch] {
			lost = append(lost, branch)
		}
	}
	return lost
}

// fixWorktrees repairs those that were moved with the project, and removes those of finished runs in which nothing differs from
// the branch that they have checked out. What is committed stays.
func fixWorktrees(ctx context.Context, x *examiner) {
	if x.repo == nil {
		return
	}
	for _, l := range worktrees(ctx, x) {
		if l.What == "moved" { // it is judged again once it is where git looks for it
			repaired, err := x.repo.RepairWorktree(ctx, x.p.Path(l.Path))
			switch {
			case err != nil:
				x.cannot("worktrees", "moved", err, "path", l.Path)
			case repaired:
				x.did("worktrees", "moved", "path", l.Path)
			}
			l.What = judgeWorktree(ctx, x, l.RequestID, l.Path)
		}
		if l.What == "in_use" {
			continue
		}
		removed, err := removeWorktree(ctx, x, l)
		switch scratch := strings.HasPrefix(l.RequestID, project.LandScratch); {
		case err != nil && scratch:
			x.cannot("worktrees", "scratch", err, "path", l.Path)
		case err != nil:
			x.cannot("worktrees", "worktree", err, "path", l.Path)
		case removed && scratch:
			x.did("worktrees", "scratch", "path", l.Path)
		case removed:
			x.did("worktrees", "worktree", "path", l.Path)
		}
	}
}

func removeWorktree(ctx context.Context, x *examiner, l worktreeLine) (bool, error) {
	lease, err := x.p.Locks().Acquire(ctx, worker(l.RequestID), locks.Ask{})
	if err != nil {
		if fault.Has(err, fault.RunInProgress) || fault.Has(err, fault.LockHeld) {
			return false, nil // a run, or another doctor, was quicker
		}
		return false, err
	}
	defer lease.Release()
	path := x.p.Path(l.Path)
	if strings.HasPrefix(l.RequestID, project.LandScratch) { // the next landing makes all of it again
		err := x.repo.DropScratch(ctx, path)
		return err == nil, err
	}
	switch judgeLocked(ctx, x, l) {
	case "broken":
		return os.Remove(path) == nil, nil // only an empty folder goes
	case "finished":
		ws, ok, err := x.repo.OpenWorktree(ctx, path)
		if err != nil || !ok || ws.Branch() == "" {
			return false, err // its commits may be in no branch
		}
		err = x.repo.RemoveWorktree(ctx, path, keepIgnored(x, l.RequestID))
		if fault.Has(err, fault.WorktreeDirty) {
			return false, nil // somebody's changes: the check names it
		}
		return err == nil, err
	}
	return false, nil
}

// keepIgnored keeps what git ignores with the run, as the run would have done.
// Nothing else is kept, and what cannot be kept makes the worktree stay.
func keepIgnored(x *examiner, id string) gitops.Keep {
	k := gitops.Keep{}
	st, _ := runs.Latest(x.p.Dir, x.p.RunsDir(), id)
	if st != nil {
		k.Dir, k.Ignored = filepath.Join(x.p.Run(id, st.RunID).Path, runs.KeptDir), x.p.Config.Workspace.KeepIgnored()
	}
	k.Before = func(kept gitops.Kept) error {
		if len(kept.Gone) > 0 {
			return notClean(kept.Gone[0].Path)
		}
		left := runs.Left{Kind: runs.LeftIgnored, Kept: x.p.Run(id, st.RunID).RelPath(runs.KeptDir)}
		for _, i := range kept.Ignored {
			left.Files, left.Bytes = left.Files+i.Files, left.Bytes+i.Bytes
		}
		st.NoteLeft(left)
		return x.p.Run(id, st.RunID).SaveStage(st)
	}
	return k
}

// judgeLocked judges again, with the lock in hand.
func judgeLocked(ctx context.Context, x *examiner, l worktreeLine) string {
	if _, err := os.Lstat(x.p.Path(l.Path)); err != nil {
		return ""
	}
	st, err := runs.Latest(x.p.Dir, x.p.RunsDir(), l.RequestID)
	if err != nil || st != nil && st.State != runs.Done {
		return ""
	}
	if _, whole, err := x.repo.OpenWorktree(ctx, filepath.Clean(x.p.Path(l.Path))); err != nil || !whole {
		return "broken"
	}
	return "finished"
}
