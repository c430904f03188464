package stage

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"aiflow/gitops"
	"aiflow/internal/fault"
	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/reqmeta/edit"
	"aiflow/runs"
)

// Finish ends a run whose steps are all done. Each part can be done again: a
// run that died between two of them is finished by the next command.
func Finish(ctx context.Context, run *Run) error {
	run.Tell(Event{Kind: Finishing})
	if err := run.Stage.Move(runs.Reporting, run.Project.Now()); err != nil {
		return err
	}
	if err := run.Save(); err != nil {
		return err
	}
	if err := commitRecord(ctx, run); err != nil {
		return err
	}
	if err := publish(ctx, run); err != nil {
		return err
	}
	leaving := InspectWorkspace(ctx, run)
	if err := complete(run); err != nil {
		return err
	}
	return CleanUp(ctx, run, leaving)
}

// CleanUp is what is left to do once the end is recorded. Each part is done
// even if another fails, or a person stops the command.
func CleanUp(ctx context.Context, run *Run, leaving func() (*gitops.Removal, error)) error {
	ctx = context.WithoutCancel(ctx)
	run.recorded = true
	if slices.Contains(run.Stage.Warnings(), runs.NoTestRan) {
		run.Tell(Event{Kind: Warned, What: run.Words.Text("work.no_test_ran", nil)})
	}
	run.At("completed")
	err := run.restore()
	run.At("restored")
	err = errors.Join(err, closeReplaced(run))
	return errors.Join(err, removeRunWorkspace(ctx, run, leaving))
}

// doneText is the request's file on the work branch with the status done; nil
// where the branch has it as done already, or does not have it, and where the
// change would be in the way of whoever merges. Such a request becomes done
// when the merge is seen.
func doneText(ctx context.Context, run *Run) ([]byte, error) {
	path := run.Request.Path
	head, err := run.Workspace.Head(ctx)
	if err != nil {
		return nil, err
	}
	stored, ok, err := run.Repo.ReadFile(ctx, head, path)
	if err != nil || !ok {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(run.Workspace.Dir(), filepath.FromSlash(path)))
	if errors.Is(err, fs.ErrNotExist) || err == nil && run.Request.Parse(data).Meta.Status == reqmeta.Done {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if clear, err := mergesWell(ctx, run, head, stored); err != nil || !clear {
		return nil, err
	}
	return edit.SetValues(run.Request, data, map[string]string{"status": reqmeta.Done}, run.Project.Now())
}

// mergesWell reports whether git will merge a change of the request's status.
// It refuses a merge into a checkout in which the file has changes that nobody
// committed, and two changes of one line (a `blocked` that slipped into a
// commit) are a conflict. stored is the file at head, the tip of the work branch.
func mergesWell(ctx context.Context, run *Run, head string, stored []byte) (bool, error) {
	if same, err := run.Repo.Stores(ctx, head, run.Request.Path, run.Text); err != nil || !same {
		return false, err
	}
	if text, err := os.ReadFile(run.Project.Path(run.Request.Path)); err == nil { // a person may have written into it since
		if run.Request.Parse(text).Meta.Status == reqmeta.Running {
			text, err = edit.GiveBack(run.Request, text, run.Text, "status", "updated_at")
		}
		if err == nil && !bytes.Equal(text, run.Text) {
			if same, err := run.Repo.Stores(ctx, "HEAD", run.Request.Path, text); err != nil || !same {
				return false, err
			}
		}
	}
	at, ok, err := run.Repo.BranchTip(ctx, run.Stage.Git.BaseBranch)
	if err != nil || !ok {
		at = "HEAD"
	}
	now, there, err := run.Repo.ReadFile(ctx, at, run.Request.Path)
	switch {
	case err != nil:
		return false, err
	case !there:
		return at == "HEAD", nil // taken away on the base; HEAD may be anywhere
	case bytes.Equal(now, stored):
		return true, nil
	}
	done, err := edit.SetValues(run.Request, stored, map[string]string{"status": reqmeta.Done}, run.Project.Now())
	if err != nil {
		return false, nil // stored as something else than text
	}
	return run.Repo.MergeClean(ctx, stored, now, done)
}

// complete records the end.
func complete(run *Run) error {
	now := run.Project.Now()
	if err := run.Dir.RemoveErrors(); err != nil {
		return err
	}
	if err := run.Stage.Complete(now); err != nil {
		return err
	}
	noteOldSteps(run)
	run.Stage.Agent = nil
	run.Stage.LeaveLocks()
	if err := run.saveReport(); err != nil {
		return err
	}
	return run.Save()
}

// noteOldSteps tells that the steps of the request were changed while the run was at
// work: what it did is what they said before.
func noteOldSteps(run *Run) {
	data, err := os.ReadFile(run.Project.Path(run.Request.Path))
	if err != nil || run.Stage.HasEvent(runs.EventOldSteps) {
		return
	}
	if r := run.Request.Parse(data); r.Valid() && project.OldSteps(run.Stage, run.Plan, r) {
		TellOldSteps(run, "")
	}
}

// TellOldSteps says that the request has other steps than the run, now, in its history
// and in its report.
func TellOldSteps(run *Run, stepID string) {
	run.Stage.AddEvent(run.Project.Now(), runs.EventOldSteps, stepID, fault.ReplanRequired)
	run.Tell(Event{Kind: Warned, StepID: stepID, What: run.Words.Text("report.summary.old_steps", fault.Facts{"fresh": runs.Fresh(run.Stage)})})
}

// removeRunWorkspace removes the workspace. What is in it and in no commit is kept.
func removeRunWorkspace(ctx context.Context, run *Run, leaving func() (*gitops.Removal, error)) error {
	defer run.At("tidied")
	defer run.DropTemporary()
	if run.InPlace() {
		return LeaveBranch(ctx, run)
	}
	l, err := leaving()
	if err != nil {
		return err
	}
	if len(l.Changed) > 0 {
		return keepLeftovers(ctx, run)
	}
	return l.RemoveWorktree(ctx, keep(run))
}

// keepLeftovers removes a workspace in which tests left something after the
// last commit. It is kept as an attempt.
func keepLeftovers(ctx context.Context, run *Run) error {
	ws, ok, err := run.Repo.OpenWorktree(ctx, run.WorkspacePath())
	if err != nil || !ok {
		return err
	}
	run.Workspace = ws
	if err := KeepAttempt(ctx, run, &run.Stage.Steps[len(run.Stage.Steps)-1]); err != nil {
		return err
	}
	if err := run.Save(); err != nil {
		return err
	}
	return RemoveWorkspace(ctx, run)
}
