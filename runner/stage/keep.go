package stage

import (
	"context"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"aiflow/gitops"
	"aiflow/internal/proc"
	"aiflow/runner/agent"
	"aiflow/runs"
)

// KeepAttempt saves what a failed or dead attempt left in the workspace as a
// patch and as a commit of its own, out of the way of every branch.
func KeepAttempt(ctx context.Context, run *Run, step *runs.Step) error {
	if run.Workspace == nil {
		return nil
	}
	changes, err := run.Workspace.Changes(ctx)
	run.left = changes.Files
	if err != nil || changes.Empty() || changes.Tree == step.AttemptTree {
		return err
	}
	n := run.Dir.NextAttempt(step.StepID)
	patch, err := run.Workspace.Patch(ctx)
	if err != nil {
		return err
	}
	if _, err := run.SavePatch(step.StepID, n, patch); err != nil {
		return err
	}
	ref := AttemptRef(run.Stage.RunID, step.StepID, n)
	message := stepMessage(run, step)
	message.Subject = "aiflow(" + run.Request.ID + "): attempt " + strconv.Itoa(n) + " of " + agent.OneLine(step.Title) + " [" + step.StepID + "]"
	if _, err := run.Workspace.KeepAttempt(ctx, ref, message); err != nil {
		return err
	}
	step.AttemptTree = changes.Tree
	run.Tell(Event{Kind: AttemptKept, StepID: step.StepID, What: ref, Count: n})
	return nil
}

// AttemptRef is the ref under which an attempt of a step is kept.
func AttemptRef(runID, stepID string, n int) string {
	return runs.AttemptsOf(runID) + "/" + stepID + "/" + strconv.Itoa(n)
}

// Orphans is where the content of workspaces is kept whose run is not on record.
const Orphans = "refs/aiflow/attempts/orphan"

// PutBack keeps what the workspace holds as an attempt and returns it to the
// step's start.
func PutBack(ctx context.Context, run *Run, i int) error {
	if err := KeepAttempt(ctx, run, &run.Stage.Steps[i]); err != nil {
		return err
	}
	if err := run.Save(); err != nil {
		return err
	}
	run.At("before_put_back")
	if err := ClearWorkspace(ctx, run); err != nil {
		return err
	}
	run.At("put_back")
	if step := run.Stage.Steps[i].StepID; run.InPlace() && len(run.left) > 0 {
		tellTakenBack(run, AttemptRef(run.Stage.RunID, step, run.Dir.NextAttempt(step)-1))
	}
	return nil
}

// tellTakenBack names what left the user's checkout: after a crash nobody can tell
// what the step wrote from what the user did since. What was deleted is back already.
func tellTakenBack(run *Run, ref string) {
	var names, words []string
	for _, f := range run.left {
		names = append(names, f.Path)
		if f.Status != gitops.Deleted {
			words = append(words, proc.Word(f.Path))
		}
	}
	facts := Named("path", names)
	if len(words) > 0 {
		facts["command"] = "git restore --source=" + ref + " -- " + strings.Join(words, " ")
	}
	run.Tell(Event{Kind: Warned, Count: len(names), What: run.Words.Text("work.note_taken_back", facts)})
}

// ClearWorkspace returns the workspace to the step's start. In the user's checkout only the work itself is taken back.
func ClearWorkspace(ctx context.Context, run *Run) error {
	if run.InPlace() {
		return run.Workspace.TakeBack(ctx, "HEAD")
	}
	return run.Workspace.ResetTo(ctx, "HEAD", keep(run))
}

// maxGone is how many ignored paths that went are recorded one by one.
const maxGone = 20

// keep says what becomes of what is in the workspace and in no commit, when the
// workspace goes or is put back: it is kept with the run, and named.
func keep(run *Run) gitops.Keep {
	m := gitops.CommitMessage{
		Subject:  "aiflow(" + run.Stage.RequestID + "): what was left in the workspace",
		Trailers: run.trailers(),
	}
	return gitops.Keep{
		Ref: runs.AttemptsOf(run.Stage.RunID) + "/left", Message: m,
		Dir: filepath.Join(run.Dir.Path, runs.KeptDir), Ignored: run.Project.Config.Workspace.KeepIgnored(), Made: run.Stage.Git.Made,
		Before: func(k gitops.Kept) error { return noteKept(run, k, runs.LeftChanges) },
	}
}

// keepOrphan is keep for the workspace of a run that is not on record.
func keepOrphan(run *Run) gitops.Keep {
	k := keep(run)
	k.Ref, k.Made = Orphans+"/"+run.Stage.RequestID, nil
	k.Before = func(k gitops.Kept) error { return noteKept(run, k, runs.LeftOrphan) }
	return k
}

// noteKept records and tells what is kept and what goes, before it goes.
func noteKept(run *Run, k gitops.Kept, changes runs.LeftKind) error {
	var left []runs.Left
	if k.Ref != "" {
		left = append(left, runs.Left{Kind: changes, Kept: k.Ref, Files: len(k.Changed)})
	}
	for _, i := range k.Nested {
		left = append(left, runs.Left{Kind: runs.LeftRepository, Path: i.Path, Kept: run.Dir.RelPath(path.Join(runs.KeptDir, i.Path)), Files: i.Files, Bytes: i.Bytes})
	}
	if all := SummedItems(k.Ignored); all.Files > 0 {
		left = append(left, runs.Left{Kind: runs.LeftIgnored, Kept: run.Dir.RelPath(runs.KeptDir), Files: all.Files, Bytes: all.Bytes})
	}
	gone := k.Gone[:min(len(k.Gone), maxGone)]
	if rest := SummedItems(k.Gone[len(gone):]); rest.Files > 0 {
		gone = append(gone, rest)
	}
	for _, i := range gone {
		left = append(left, runs.Left{Kind: runs.LeftGone, Path: i.Path, Files: i.Files, Bytes: i.Bytes})
	}
	for _, l := range left {
		run.Stage.NoteLeft(l)
		run.Tell(Event{Kind: Noted, What: run.Words.Text(l.Key(), l.Facts())})
	}
	if err := run.Save(); err != nil {
		return err
	}
	return run.saveReport()
}

// SummedItems adds up files and bytes.
func SummedItems(items []gitops.Item) gitops.Item {
	var all gitops.Item
	for _, i := range items {
		all.Files += i.Files
		all.Bytes += i.Bytes
	}
	return all
}

// InspectWorkspace begins to look what is in the workspace that git does not hold.
func InspectWorkspace(ctx context.Context, run *Run) func() (*gitops.Removal, error) {
	if run.InPlace() {
		return func() (*gitops.Removal, error) { return nil, nil }
	}
	repo, path := run.Repo, run.WorkspacePath()
	ctx = context.WithoutCancel(ctx) // see CleanUp
	return Background(func() (*gitops.Removal, error) { return repo.Inspect(ctx, path) })
}

// RemoveWorkspace takes the worktree away. What is in no commit is kept.
func RemoveWorkspace(ctx context.Context, run *Run) error {
	return run.Repo.RemoveWorktree(ctx, run.WorkspacePath(), keep(run))
}
