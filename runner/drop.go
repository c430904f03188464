package runner

import (
	"context"
	"os"

	"aiflow/gitops"
	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/locks"
	"aiflow/reqmeta"
	"aiflow/reqmeta/edit"
	"aiflow/reqmeta/folder"
	"aiflow/runner/revive"
	"aiflow/runner/stage"
	"aiflow/runs"
)

// DropResult is what Drop did.
type DropResult struct {
	OK        bool     `json:"ok"`
	RequestID string   `json:"request_id"`
	RunID     string   `json:"run_id"`
	Branch    string   `json:"branch"`           // that is gone
	Commit    string   `json:"commit,omitempty"` // where it was, "" when it was gone before
	Kept      []string `json:"kept"`             // refs that hold what the run made
	Discarded []string `json:"discarded"`        // commits that no ref of ours holds any more; git keeps them for a while
	Back      string   `json:"back,omitempty"`   // the command that brings the branch back
	Status    string   `json:"status"`           // of the request now; "" when it has no file
}

// Drop takes away what a person does not want of a run: its workspace and its
// branch, whose content is kept under the run's attempts. The record stays, and
// the request is what it was before; with discard what is kept goes too, also of a
// run that was dropped before. Each part can be done again after a crash.
// Faults: RUN_IN_PROGRESS while somebody works for it; NOTHING_TO_DO for one that
// was dropped, merged or replaced.
func (r *Runner) Drop(ctx context.Context, requestID, runID string, discard bool) (DropResult, error) {
	s, err := r.survey(ctx, Options{})
	if err != nil {
		return DropResult{}, err
	}
	lease, err := r.lockRequest(ctx, requestID, Options{})
	if err != nil {
		return DropResult{}, err
	}
	defer lease.Release()
	st, err := r.Project.Run(requestID, runID).LoadStage()
	if err != nil {
		return DropResult{}, err
	}
	again := discard && st.DroppedAt != nil
	newest := false
	if !again {
		if newest, err = r.checkDroppable(ctx, st); err != nil {
			return DropResult{}, err
		}
	}
	repo, err := r.OpenRepo(ctx)
	if err != nil {
		return DropResult{}, err
	}
	run := recordedRun(r, s.Folder, repo, lease, st)
	out := DropResult{OK: true, RequestID: requestID, RunID: runID, Branch: st.Git.WorkBranch}
	ws, own, _ := repo.OpenWorktree(ctx, run.WorkspaceOf(st))
	own = own && ws.Branch() == out.Branch
	if at := repo.CheckedOut(ctx, out.Branch); !again && !own && at != "" && st.Git.Workspace != "." {
		return DropResult{}, nothingToDo("checked_out", append(gitops.Unfinished(at), "request_id", requestID, "run_id", runID, "branch", out.Branch, "path", at)...)
	}
	if newest {
		if err := restoreStatus(ctx, run); err != nil {
			return DropResult{}, err
		}
		if err := removeDroppedWorkspace(ctx, run); err != nil {
			return DropResult{}, err
		}
	}
	if !again {
		if err := dropBranch(ctx, run, &out); err != nil {
			return DropResult{}, err
		}
		if err := recordDrop(run); err != nil {
			return DropResult{}, err
		}
	}
	out.Discarded = []string{}
	if discard {
		if out.Discarded, err = dropAttempts(ctx, r.Project.Git(), runID); err != nil {
			return DropResult{}, err
		}
		out.Back = ""
	}
	if text, err := os.ReadFile(r.Project.Path(run.Request.Path)); err == nil {
		out.Status = run.Request.Parse(text).Meta.Status
	}
	out.Kept = []string{} // what the run made is kept here
	refs, err := refsBelow(ctx, r.Project.Git(), runs.AttemptsOf(runID))
	for _, ref := range refs {
		out.Kept = append(out.Kept, ref.Name)
	}
	return out, err
}

// recordedRun is a run on record, under the lock of its request, which may have no file.
func recordedRun(r *Runner, f *folder.Folder, repo *gitops.Repo, lease *locks.Lease, st *runs.Stage) *stage.Run {
	req := f.Unique(st.RequestID)
	if req == nil {
		req = &reqmeta.Request{ID: st.RequestID, Path: st.Artifacts.RequestPath, Mapping: r.Project.Mapping()}
	}
	return revive.Other(stage.New(&r.Setup, repo, req, lease), st)
}

// checkDroppable refuses a run of which nothing is left to drop, and tells whether it
// is the one that the workspace and the request's status are of.
func (r *Runner) checkDroppable(ctx context.Context, st *runs.Stage) (newest bool, err error) {
	of, err := r.Project.Standing(ctx, []*runs.Stage{st})
	if err != nil {
		return false, err
	}
	last, err := runs.Latest(r.Project.Dir, r.Project.RunsDir(), st.RequestID)
	reason, about := "", st.RunID
	switch {
	case err != nil:
		return false, err
	case st.DroppedAt != nil:
		reason = "dropped"
	case st.ReplacedBy != "":
		reason, about = "replaced", st.ReplacedBy
	case of.MergedHere(st):
		reason = "merged"
	case st.Landed != nil && of.Merged(st):
		return false, nothingToDo("landed", "request_id", st.RequestID, "run_id", st.RunID, "into", st.Landed.Into, "fresh", runs.Fresh(st))
	default:
		return last != nil && last.RunID == st.RunID, nil
	}
	return false, nothingToDo(reason, "request_id", st.RequestID, "run_id", about)
}

// restoreStatus gives the request the status from before the run. What a person wrote
// there since stays.
func restoreStatus(ctx context.Context, run *stage.Run) error {
	if run.Request.Path == "" {
		return nil
	}
	p := run.Project
	_, err := edit.Replace(p.Env.Disk, p.Dir, run.Request.Path, func(text []byte) ([]byte, error) {
		run.Request.Meta = run.Request.Parse(text).Meta
		run.Text = revive.Unblocked(ctx, run, run.Stage, text)
		if _, err := run.Dir.LoadRequest(); err != nil && run.Request.Meta.Status == reqmeta.Blocked {
			run.Text, err = edit.SetValues(run.Request, text, map[string]string{"status": reqmeta.Ready}, p.Now())
			if err != nil {
				return nil, err
			}
		}
		err := stage.NeverRunning(run)
		return run.Text, err
	}, p.Suffix())
	if fault.Has(err, fault.RequestNotFound) {
		return nil
	}
	return err
}

// removeDroppedWorkspace removes the workspace, after what git does not hold was kept.
func removeDroppedWorkspace(ctx context.Context, run *stage.Run) error {
	if run.Stage.Git.Workspace != "." {
		ws, ok, err := run.Repo.OpenWorktree(ctx, run.WorkspacePath())
		if err != nil || !ok || ws.Branch() != run.Stage.Git.WorkBranch {
			return err // nothing of the run is there
		}
		return revive.GiveUp(ctx, run, ws)
	}
	ws, err := run.Repo.InPlace(ctx)
	if err != nil || ws.Branch() != run.Stage.Git.WorkBranch {
		return err
	}
	ws.LeaveOut(run.Project.RequestsDir(), run.Project.RunsDir())
	run.Workspace = ws
	if err := stage.KeepAttempt(ctx, run, revive.StepAt(run)); err != nil {
		return err
	}
	if err := run.Save(); err != nil {
		return err
	}
	if err := ws.TakeBack(ctx, "HEAD"); err != nil {
		return err
	}
	return stage.LeaveBranch(ctx, run)
}

// dropBranch keeps the branch's tip with the run's attempts, where a commit is on
// it, and deletes the branch if it still is there.
func dropBranch(ctx context.Context, run *stage.Run, out *DropResult) error {
	tip, ok, err := run.Repo.BranchTip(ctx, out.Branch)
	if err != nil || !ok {
		return err
	}
	out.Commit = tip
	if tip != run.Stage.Git.BaseCommit {
		ref := runs.AttemptsOf(run.Stage.RunID) + "/branch"
		if err := run.Repo.KeepCommit(ctx, ref, tip); err != nil {
			return err
		}
		out.Back = "git branch " + proc.Word(out.Branch) + " " + ref
	}
	run.At("branch_kept")
	return run.Repo.DeleteBranch(ctx, out.Branch, tip)
}

// recordDrop records that the run was dropped, last of all: until then it is
// dropped again from the beginning.
func recordDrop(run *stage.Run) error {
	now := run.Project.Now()
	if !run.Stage.State.Ended() {
		if err := run.Stage.Move(runs.NeedsInput, now); err != nil {
			return err
		}
	}
	run.Stage.AddEvent(now, runs.EventDropped, "", "")
	run.Stage.DroppedAt, run.Stage.Agent = &now, nil
	run.Stage.LeaveLocks()
	run.DropTemporary()
	if err := run.Save(); err != nil {
		return err
	}
	return stage.Reworded(run, runs.Advise(run.Stage, nil, runs.Now{}))
}
