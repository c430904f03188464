package runner

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiflow/gitops"
	"aiflow/internal/fault"
	"aiflow/project"
	"aiflow/reqmeta"
	"aiflow/reqmeta/edit"
	"aiflow/runs"
)

// finish ends a run whose steps are all done. Each part can be done again: a
// run that died between two of them is finished by the next command.
func (j *job) finish(ctx context.Context) error {
	j.tell(Event{Kind: Finishing})
	if err := j.stage.Move(runs.Reporting, j.Project.Now()); err != nil {
		return err
	}
	if err := j.save(); err != nil {
		return err
	}
	if err := j.commitRecord(ctx); err != nil {
		return err
	}
	if err := j.publish(ctx); err != nil {
		return err
	}
	leaving := j.leaveAhead(ctx)
	if err := j.complete(); err != nil {
		return err
	}
	return j.putAway(ctx, leaving)
}

// putAway is what is left to do once the end is recorded. Each part is done
// even if another fails.
func (j *job) putAway(ctx context.Context, leaving func() (*gitops.Leaving, error)) error {
	j.recorded = true
	if slices.Contains(j.stage.Warnings(), runs.NoTestRan) {
		j.tell(Event{Kind: Warned, What: j.Words.Text("work.no_test_ran", nil)})
	}
	j.at("completed")
	err := j.restore()
	j.at("restored")
	err = errors.Join(err, j.closeReplaced())
	return errors.Join(err, j.tidy(ctx, leaving))
}

// commitRecord is the run's last commit: it sets `status: done` on the work
// branch, so that merging the branch is what makes the request done. It is
// recorded with what comes next, the push or the end; a run that dies before
// that finds the commit on its branch.
func (j *job) commitRecord(ctx context.Context) error {
	if j.stage.HasCommit(runs.RecordStep) {
		return nil
	}
	msg := gitops.CommitMessage{
		Subject: j.subject(runs.RecordStep, "done"),
		Trailers: [][2]string{
			{project.RequestTrailer, j.req.ID}, {project.RunTrailer, j.stage.RunID}, {project.ResultTrailer, string(runs.Done)},
		},
	}
	j.at("before_record_commit")
	made, err := j.commitStatus(ctx, msg)
	if err != nil {
		return err
	}
	j.at("record_committed")
	j.stage.Git.Commits = append(j.stage.Git.Commits, runs.Commit{StepID: runs.RecordStep, Hash: made.Hash, Subject: made.Subject})
	j.stage.AddEvent(j.Project.Now(), runs.EventRecordCommitted, "", "")
	return nil
}

// commitStatus commits the request's own file as done.
func (j *job) commitStatus(ctx context.Context, msg gitops.CommitMessage) (gitops.Commit, error) {
	done, err := j.doneText(ctx)
	if err != nil {
		return gitops.Commit{}, err
	}
	if done == nil {
		return j.commit(ctx, msg)
	}
	if err := j.held(); err != nil {
		return gitops.Commit{}, err
	}
	return j.ws.CommitFile(ctx, j.req.Path, done, msg, j.commitOptions())
}

// doneText is the request's file on the work branch with the status done; nil
// where the branch has it as done already, or does not have it, and where the
// change would be in the way of whoever merges. Such a request becomes done
// when the merge is seen.
func (j *job) doneText(ctx context.Context) ([]byte, error) {
	path := j.req.Path
	head, err := j.ws.Head(ctx)
	if err != nil {
		return nil, err
	}
	stored, ok, err := j.repo.ReadFile(ctx, head, path)
	if err != nil || !ok {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(j.ws.Dir(), filepath.FromSlash(path)))
	if errors.Is(err, fs.ErrNotExist) || err == nil && reqmeta.Parse(path, data).Meta.Status == reqmeta.Done {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if clear, err := j.mergesWell(ctx, head, stored); err != nil || !clear {
		return nil, err
	}
	return edit.SetValues(path, data, map[string]string{"status": reqmeta.Done}, j.Project.Now())
}

// mergesWell reports whether git will merge a change of the request's status.
// It refuses a merge into a checkout in which the file has changes that nobody
// committed, and two changes of one line (a `blocked` that slipped into a
// commit) are a conflict. stored is the file at head, the tip of the work branch.
func (j *job) mergesWell(ctx context.Context, head string, stored []byte) (bool, error) {
	if same, err := j.repo.Stores(ctx, head, j.req.Path, j.text); err != nil || !same {
		return false, err
	}
	at, ok, err := j.repo.BranchTip(ctx, j.stage.Git.BaseBranch)
	if err != nil || !ok {
		at = "HEAD"
	}
	now, there, err := j.repo.ReadFile(ctx, at, j.req.Path)
	switch {
	case err != nil:
		return false, err
	case !there:
		return at == "HEAD", nil // taken away on the base; HEAD may be anywhere
	case bytes.Equal(now, stored):
		return true, nil
	}
	done, err := edit.SetValues(j.req.Path, stored, map[string]string{"status": reqmeta.Done}, j.Project.Now())
	if err != nil {
		return false, nil // stored as something else than text
	}
	return j.repo.MergeClean(ctx, stored, now, done)
}

// complete records the end.
func (j *job) complete() error {
	now := j.Project.Now()
	if err := j.held(); err != nil {
		return err
	}
	if err := j.dir.RemoveErrors(); err != nil {
		return fault.Wrap(err, fault.StageWriteFailed, "path", j.dir.Rel)
	}
	if err := j.stage.Complete(now); err != nil {
		return err
	}
	j.stage.Agent = nil
	j.stage.LeaveLocks()
	if err := j.saveReport(); err != nil {
		return err
	}
	return j.save()
}

// tidy removes the workspace. What is in it and in no commit is kept.
func (j *job) tidy(ctx context.Context, leaving func() (*gitops.Leaving, error)) error {
	if err := j.held(); err != nil {
		return err
	}
	defer j.at("tidied")
	defer j.dropTemporary()
	if j.inPlace() {
		return j.leaveBranch(ctx)
	}
	l, err := leaving()
	if err != nil {
		return err
	}
	if len(l.Changed) > 0 {
		return j.tidyLeftovers(ctx)
	}
	return l.RemoveWorktree(ctx, j.keep())
}

// tidyLeftovers removes a workspace in which tests left something after the
// last commit. It is kept as an attempt.
func (j *job) tidyLeftovers(ctx context.Context) error {
	ws, ok, err := j.repo.OpenWorktree(ctx, j.workspacePath())
	if err != nil || !ok {
		return err
	}
	j.ws = ws
	if err := j.keepAttempt(ctx, &j.stage.Steps[len(j.stage.Steps)-1]); err != nil {
		return err
	}
	if err := j.save(); err != nil {
		return err
	}
	return j.removeWorkspace(ctx)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
