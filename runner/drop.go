package runner

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/reqmeta"
	"aiflow/reqmeta/edit"
	"aiflow/runs"
)

// Dropped is what Drop did.
type Dropped struct {
	OK        bool     `json:"ok"`
	RequestID string   `json:"request_id"`
	RunID     string   `json:"run_id"`
	Branch    string   `json:"branch"`           // that is gone
	Commit    string   `json:"commit,omitempty"` // where it was, "" when it was gone before
	Kept      []string `json:"kept"`             // refs that hold what the run made
	Back      string   `json:"back,omitempty"`   // the command that brings the branch back
	Status    string   `json:"status"`           // of the request now; "" when it has no file
}

// Drop takes away what a person does not want of a run: its workspace and its
// branch, whose content is kept under the run's attempts. The record stays, and
// the request is what it was before. Each part can be done again after a crash.
// Faults: RUN_IN_PROGRESS while somebody works for it; NOTHING_TO_DO for one that
// was dropped, merged or replaced.
func (r *Runner) Drop(ctx context.Context, requestID, runID string) (Dropped, error) {
	s, err := r.survey(ctx, Options{})
	if err != nil {
		return Dropped{}, err
	}
	lease, err := r.lockRequest(ctx, requestID, Options{})
	if err != nil {
		return Dropped{}, err
	}
	defer release(lease)
	st, err := r.Project.Run(requestID, runID).LoadStage()
	if err != nil {
		return Dropped{}, err
	}
	newest, err := r.droppable(ctx, st)
	if err != nil {
		return Dropped{}, err
	}
	repo, err := r.openRepo(ctx)
	if err != nil {
		return Dropped{}, err
	}
	req := s.Folder.Unique(requestID)
	if req == nil {
		req = &reqmeta.Request{ID: requestID, Path: st.Artifacts.RequestPath}
	}
	j := (&job{Runner: r, repo: repo, survey: s, req: req, lease: lease}).of(st)
	out := Dropped{OK: true, RequestID: requestID, RunID: runID, Branch: st.Git.WorkBranch}
	if newest {
		if err := j.giveBack(ctx); err != nil {
			return Dropped{}, err
		}
		if err := j.leaveDropped(ctx); err != nil {
			return Dropped{}, err
		}
	}
	if err := j.dropBranch(ctx, &out); err != nil {
		return Dropped{}, err
	}
	if err := j.closeDropped(); err != nil {
		return Dropped{}, err
	}
	if text, err := os.ReadFile(r.Project.Path(req.Path)); err == nil {
		out.Status = reqmeta.Parse(req.Path, text).Meta.Status
	}
	out.Kept, err = j.keptRefs(ctx)
	return out, err
}

// droppable refuses a run of which nothing is left to drop, and tells whether it
// is the one that the workspace and the request's status are of.
func (r *Runner) droppable(ctx context.Context, st *runs.Stage) (newest bool, err error) {
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
	case of.Merged(st):
		reason = "merged"
	default:
		return last != nil && last.RunID == st.RunID, nil
	}
	return false, fault.New(fault.NothingToDo, "request_id", st.RequestID, "run_id", about, "reason", reason)
}

// giveBack gives the request the status from before the run. What a person wrote
// there since stays.
func (j *job) giveBack(ctx context.Context) error {
	text, err := os.ReadFile(j.Project.Path(j.req.Path))
	if errors.Is(err, fs.ErrNotExist) || j.req.Path == "" {
		return nil
	}
	if err != nil {
		return fault.Wrap(err, fault.PathNotWritable, "path", j.req.Path)
	}
	j.req.Meta = reqmeta.Parse(j.req.Path, text).Meta
	j.text = j.unblocked(ctx, j.stage, text)
	if _, err := j.dir.LoadRequest(); err != nil && j.req.Meta.Status == reqmeta.Blocked {
		j.text, err = edit.SetValues(j.req.Path, text, map[string]string{"status": reqmeta.Ready}, j.Project.Now())
		if err != nil {
			return err
		}
	}
	if err := j.neverRunning(); err != nil || bytes.Equal(j.text, text) {
		return err
	}
	if err := j.held(); err != nil {
		return err
	}
	p := j.Project
	return edit.Replace(p.Env.Disk, p.Dir, j.req.Path, j.text, p.Suffix())
}

// leaveDropped removes the workspace, after what git does not hold was kept.
func (j *job) leaveDropped(ctx context.Context) error {
	if j.stage.Git.Workspace != "." {
		ws, ok, err := j.repo.OpenWorktree(ctx, j.workspacePath())
		if err != nil || !ok || ws.Branch() != j.stage.Git.WorkBranch {
			return err // nothing of the run is there
		}
		return j.giveUp(ctx, ws)
	}
	ws, err := j.repo.InPlace(ctx)
	if err != nil || ws.Branch() != j.stage.Git.WorkBranch {
		return err
	}
	ws.LeaveOut(j.Project.RequestsDir(), j.Project.RunsDir())
	j.ws = ws
	if err := j.keepAttempt(ctx, j.stepAt()); err != nil {
		return err
	}
	if err := j.save(); err != nil {
		return err
	}
	if err := ws.TakeBack(ctx, "HEAD"); err != nil {
		return err
	}
	return j.leaveBranch(ctx)
}

// dropBranch keeps the branch's tip with the run's attempts, where a commit is on
// it, and deletes the branch if it still is there.
func (j *job) dropBranch(ctx context.Context, out *Dropped) error {
	tip, ok, err := j.repo.BranchTip(ctx, out.Branch)
	if err != nil || !ok {
		return err
	}
	out.Commit = tip
	if tip != j.stage.Git.BaseCommit {
		ref := attemptsOf(j.stage.RunID) + "/branch"
		if err := j.repo.KeepTip(ctx, ref, tip); err != nil {
			return err
		}
		out.Back = "git branch " + proc.Word(out.Branch) + " " + ref
	}
	j.at("branch_kept")
	if err := j.held(); err != nil {
		return err
	}
	return j.repo.DeleteBranch(ctx, out.Branch, tip)
}

// closeDropped records that the run was dropped, last of all: until then it is
// dropped again from the beginning.
func (j *job) closeDropped() error {
	now := j.Project.Now()
	if !j.stage.State.Ended() {
		if err := j.stage.Move(runs.NeedsInput, now); err != nil {
			return err
		}
	}
	j.stage.AddEvent(now, runs.EventDropped, "", "")
	j.stage.DroppedAt, j.stage.Agent = &now, nil
	j.stage.LeaveLocks()
	j.dropTemporary()
	if err := j.save(); err != nil {
		return err
	}
	return j.reworded(runs.Advise(j.stage, nil, runs.Now{}))
}

// keptRefs are the refs under which the run's work is kept.
func (j *job) keptRefs(ctx context.Context) ([]string, error) {
	out, err := j.Project.Git().Ask(ctx, "for-each-ref", "--format=%(refname)", attemptsOf(j.stage.RunID))
	if err != nil {
		return nil, fault.Wrap(err, fault.GitCommandFailed, "name", attemptsOf(j.stage.RunID))
	}
	return append([]string{}, strings.Fields(string(out))...), nil
}
